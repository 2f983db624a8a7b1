/* What a device event of an imported trace stands for in our own vocabulary: see imported_build.h. */
#include "imported_build.h"
#include "timeline/timeline_range.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a type's element, as PyTorch and NCCL call it. */
static uint64_t type_bytes(const char *type)
{
	static const struct {
		const char *word;
		uint64_t bytes;
	} known[] = {{"double", 8}, {"64", 8}, {"long", 8}, {"half", 2}, {"16", 2}, {"short", 2}, {"8", 1},
		{"byte", 1}, {"char", 1}, {"bool", 1}, {"float", 4}, {"32", 4}, {"int", 4}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcasestr(type, known[i].word))
			return known[i].bytes;
	return 0;
}

/* The size that an NCCL call has: of one rank's part for those that gather or scatter. */
static uint64_t collective_bytes(
	const struct imported *imported, const struct imported_collective *collective)
{
	uint64_t bytes = type_bytes(imported->strings.items[collective->type]);
	int64_t in = collective->in_count, out = collective->out_count;
	/* of a send nothing comes out, into a receive nothing goes */
	int64_t count = in <= 0 ? out : out <= 0 ? in : in < out ? in : out;
	uint64_t result;

	if (count <= 0 || __builtin_mul_overflow((uint64_t)count, bytes, &result))
		return 0;
	return result;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = mem_hash(hash, (unsigned char)*text);
	return hash;
}

/* The communicator of a process group, known by its name; 0: of all ranks. Rank and size are settled later.
 */
static uint32_t communicator_of(struct imported_build *build, uint32_t group, int32_t size)
{
	struct timeline *timeline = build->timeline;

	if (!build->communicators[group]) {
		*MEM_PUSH(timeline->communicators, timeline->communicator_count,
			timeline->communicator_room) = (struct timeline_communicator){-1, size > 0 ? size : 0,
			build->imported->workers[build->worker].device,
			hash_text(MEM_HASH_START, build->imported->strings.items[group])};
		build->communicators[group] = (uint32_t)timeline->communicator_count - 1;
	}
	return build->communicators[group];
}

/* Where send and receive say from which rank of the job to which, they belong to a communicator of all ranks:
 * that of their group may number them otherwise. False: they do not, or the job's size is not known. */
static bool describe_peer(struct imported_build *build, const struct imported_collective *collective,
	struct imported_operation *operation)
{
	const struct imported *imported = build->imported;
	const char *function = imported_collective_name(imported->strings.items[operation->call]);
	int32_t peer = strcmp(function, "ncclRecv") == 0 ? collective->from : collective->to;

	if (peer < 0 || imported->world <= 0)
		return false;
	operation->peer = peer;
	operation->communicator = communicator_of(build, build->join->peers, imported->world);
	return true;
}

static void describe_collective(
	struct imported_build *build, uint32_t event, struct imported_operation *operation)
{
	const struct imported *imported = build->imported;
	uint32_t number = imported->events.collective[event];
	const struct imported_collective *collective =
		number == IMPORTED_NONE ? NULL : &imported->collectives[number];

	operation->kind = PM_KIND_COMM;
	operation->call = collective && collective->name ? collective->name
			  : build->join->attribution->collective[event]
				  ? build->join->attribution->collective[event]
				  : imported->events.name[event];
	operation->pairwise = imported_is_pairwise(imported->strings.items[operation->call]);
	if (collective)
		operation->bytes = collective_bytes(imported, collective);
	if (collective && operation->pairwise && describe_peer(build, collective, operation))
		return;
	/* A label is a group's too: each sort of exchange has its own. */
	operation->communicator = communicator_of(build,
		collective ? collective->group
		: imported->events.activity[event] == IMPORTED_LABELLED && !operation->pairwise
			? operation->call
			: 0,
		collective ? collective->size : 0);
}

static enum pm_kind event_kind(const struct imported *imported, uint32_t event, const char *call)
{
	const char *name = imported->strings.items[imported->events.name[event]];

	switch (imported->events.activity[event]) {
	case IMPORTED_COPY:
		return PM_KIND_COPY;
	case IMPORTED_SET:
		return PM_KIND_SET;
	case IMPORTED_LABELLED:
		if (timeline_is_input_name(name))
			return PM_KIND_READ;
		if (imported->events.kind[event] == IMPORTED_MEMORY)
			return strcasestr(name, "memset") ? PM_KIND_SET : PM_KIND_COPY;
		if (imported->events.kind[event] == IMPORTED_OTHER && strcasestr(name, "wait"))
			return PM_KIND_SYNC;
		/* What comes now and then, as the collection of garbage, is no part of an iteration's
		 * structure. */
		return imported->events.kind[event] == IMPORTED_OTHER ? PM_KIND_SEARCH : PM_KIND_LAUNCH;
	default:
		return strstr(call, "Graph") ? PM_KIND_GRAPH : PM_KIND_LAUNCH;
	}
}

static void describe_copy(
	const struct imported *imported, uint32_t event, struct imported_operation *operation)
{
	operation->direction = (uint8_t)imported_direction(imported->strings.items[operation->event]);
	operation->bytes = strtoull(imported->strings.items[imported->events.shape[event]], NULL, 10);
}

struct imported_operation imported_describe(struct imported_build *build, uint32_t event)
{
	const struct imported *imported = build->imported;
	uint32_t call = imported->events.call[event];
	struct imported_operation operation = {.call = call == IMPORTED_NONE ? 0 : imported->calls.name[call],
		.event = imported->events.name[event],
		.direction = PM_DIRECTION_DEFAULT,
		.peer = -1};

	operation.kind = (uint8_t)event_kind(imported, event, imported->strings.items[operation.call]);
	operation.phase = build->join->attribution->phase[event];
	operation.part = build->join->attribution->part[event];
	operation.no_gradients = build->join->attribution->no_gradients[event];
	operation.layer = build->join->attribution->layer[event];
	if (imported->events.activity[event] == IMPORTED_LABELLED)
		operation.call = operation.event;
	if (imported->events.kind[event] == IMPORTED_COMMUNICATION && operation.kind != PM_KIND_READ)
		describe_collective(build, event, &operation);
	else if (operation.kind == PM_KIND_COPY)
		describe_copy(imported, event, &operation);
	return operation;
}
