/* Operations of other profilers' traces: see imported_operation.h. */
#include "imported_operation.h"

#include <stdlib.h>
#include <string.h>

#define BOTH_WAYS "ncclSendRecv" /* no function of NCCL */

/* ---- What names mean ---- */

/*
 * Functions of CUDA, HIP and other vendors' runtimes as profilers name them, by words in their names, the
 * first that is in one: the kind, and the role where the hook's table has no such function.
 */
static const struct word {
	const char *word;
	enum pm_kind kind;
	enum pm_role role;
} call_words[] = {
	{"EventSynchronize", PM_KIND_SYNC, PM_ROLE_WAITS_FOR_EVENT},
	{"DeviceSynchronize", PM_KIND_SYNC, PM_ROLE_WAITS_FOR_DEVICE},
	{"Synchronize", PM_KIND_SYNC, PM_ROLE_WAITS_FOR_STREAM},
	{"EventQuery", PM_KIND_SYNC, PM_ROLE_QUERIES_EVENT},
	{"Query", PM_KIND_SYNC, PM_ROLE_QUERIES_STREAM},
	{"WaitEvent", PM_KIND_EVENT, PM_ROLE_STREAM_WAITS},
	{"EventRecord", PM_KIND_EVENT, PM_ROLE_RECORDS_EVENT},
	{"Event", PM_KIND_EVENT, PM_ROLE_NONE},
	{"Malloc", PM_KIND_ALLOC, PM_ROLE_NONE},
	{"MemAlloc", PM_KIND_ALLOC, PM_ROLE_NONE},
	{"Free", PM_KIND_ALLOC, PM_ROLE_FREES_MEMORY},
	{"HostAlloc", PM_KIND_ALLOC, PM_ROLE_HOST_MEMORY},
	{"HostRegister", PM_KIND_ALLOC, PM_ROLE_HOST_MEMORY},
	{"Stream", PM_KIND_STREAM, PM_ROLE_NONE},
	{"GraphLaunch", PM_KIND_SETUP, PM_ROLE_LAUNCHES_GRAPH},
};

static const struct word *operation_word(const char *name)
{
	for (size_t i = 0; i < sizeof(call_words) / sizeof(*call_words); i++)
		if (strstr(name, call_words[i].word))
			return &call_words[i];
	return NULL;
}

enum pm_kind imported_call_kind(const char *name)
{
	const struct word *word = operation_word(name);

	return word ? word->kind : PM_KIND_SETUP;
}

/* What a function does that is of this kind. */
static struct hook_facts operation_facts(enum pm_kind kind, const char *name)
{
	struct hook_facts facts = hook_facts_of_foreign(name);
	const struct word *word = operation_word(name);

	if (facts.role != PM_ROLE_NONE)
		return facts;
	if (strcmp(name, BOTH_WAYS) == 0)
		facts.role = PM_ROLE_SEND_RECEIVE;
	else if (kind == PM_KIND_COPY && !strstr(name, "Async"))
		facts.role = PM_ROLE_BLOCKS;
	else if (word)
		facts.role = word->role;
	return facts;
}

enum pm_direction imported_direction(const char *name)
{
	static const struct {
		const char *word, *small, *rocm;
		enum pm_direction direction;
	} known[] = {{"HtoH", "h2h", "HostToHost", PM_DIRECTION_H2H},
		{"HtoD", "h2d", "HostToDevice", PM_DIRECTION_H2D},
		{"DtoH", "d2h", "DeviceToHost", PM_DIRECTION_D2H},
		{"DtoD", "d2d", "DeviceToDevice", PM_DIRECTION_D2D}};
	static const struct {
		const char *word;
		enum pm_direction direction;
	} others[] = {{"PtoP", PM_DIRECTION_D2D}, {"AtoD", PM_DIRECTION_D2D}, {"DtoA", PM_DIRECTION_D2D},
		{"HtoA", PM_DIRECTION_H2D}, {"AtoH", PM_DIRECTION_D2H}}; /* A: an array, P: a peer */

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(name, known[i].word) || strcasestr(name, known[i].small) ||
			strcasestr(name, known[i].rocm))
			return known[i].direction;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strstr(name, others[i].word))
			return others[i].direction;
	return PM_DIRECTION_DEFAULT;
}

const char *imported_collective_name(const char *name)
{
	/* Longer words before those in them; what they are called by frameworks, kernels and labels. */
	static const struct {
		const char *word, *function;
	} known[] = {{"reduce_scatter", "ncclReduceScatter"}, {"reduce-scatter", "ncclReduceScatter"},
		{"reducescatter", "ncclReduceScatter"}, {"all_to_all", "ncclAlltoAll"},
		{"all-to-all", "ncclAlltoAll"}, {"alltoall", "ncclAlltoAll"}, {"all2all", "ncclAlltoAll"},
		{"allreduce", "ncclAllReduce"}, {"all_reduce", "ncclAllReduce"},
		{"all-reduce", "ncclAllReduce"}, {"allgather", "ncclAllGather"},
		{"all_gather", "ncclAllGather"}, {"all-gather", "ncclAllGather"},
		{"broadcast", "ncclBroadcast"}, {"sendrecv", BOTH_WAYS}, {"send_recv", BOTH_WAYS},
		{"recv", "ncclRecv"}, {"receive", "ncclRecv"}, {"send", "ncclSend"}, {"reduce", "ncclReduce"},
		{"scatter", "ncclScatter"}, {"gather", "ncclGather"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcasestr(name, known[i].word))
			return known[i].function;
	return name;
}

bool imported_is_pairwise(const char *name)
{
	const char *function = imported_collective_name(name);

	return strcmp(function, "ncclSend") == 0 || strcmp(function, "ncclRecv") == 0;
}

/* ---- Functions ---- */

/* Labels of a kind's values, in the order in which values_of writes them. */
static const struct timeline_label launch_labels[] = {{PM_VALUE_STRING, "func"}};
static const struct timeline_label activity_labels[] = {{PM_VALUE_STRING, "name"}, {PM_VALUE_BYTES, "bytes"}};
static const struct timeline_label copy_labels[] = {
	{PM_VALUE_STRING, "func"}, {PM_VALUE_DIRECTION, "dir"}, {PM_VALUE_BYTES, "bytes"}};
static const struct timeline_label set_labels[] = {{PM_VALUE_STRING, "func"}, {PM_VALUE_BYTES, "bytes"}};
static const struct timeline_label comm_labels[] = {{PM_VALUE_STRING, "func"},
	{PM_VALUE_COMMUNICATOR, "comm"}, {PM_VALUE_BYTES, "bytes"}, {PM_VALUE_INT, "peer"}};

#define LABELS(function, list) \
	((function)->labels = (list), (function)->label_count = sizeof(list) / sizeof(*(list)))

static void set_labels_of(struct timeline_function *function, const struct imported_operation *operation)
{
	if (operation->activity) {
		LABELS(function, activity_labels);
		return;
	}
	switch (operation->kind) {
	case PM_KIND_LAUNCH:
	case PM_KIND_GRAPH:
		LABELS(function, launch_labels);
		break;
	case PM_KIND_COPY:
		LABELS(function, copy_labels);
		break;
	case PM_KIND_SET:
		LABELS(function, set_labels);
		break;
	case PM_KIND_COMM:
		LABELS(function, comm_labels);
		/* With a peer it is known that two meet, although not who the other is. */
		function->label_count -= !operation->pairwise;
		break;
	default:
		break;
	}
}

static const char *function_name(const struct imported *imported, const struct imported_operation *operation)
{
	static const char *const activities[] = {
		[PM_KIND_COPY] = "memcpy", [PM_KIND_SET] = "memset", [PM_KIND_LAUNCH] = "kernel"};

	if (operation->kind == PM_KIND_COMM && !operation->activity)
		return imported_collective_name(imported->strings.items[operation->call]);
	if (!operation->activity && operation->call)
		return imported->strings.items[operation->call];
	return activities[operation->kind == PM_KIND_COPY || operation->kind == PM_KIND_SET ? operation->kind
											    : PM_KIND_LAUNCH];
}

static uint32_t function_of(
	struct imported_dictionary *dictionary, const struct imported_operation *operation)
{
	struct timeline *timeline = dictionary->timeline;
	uint32_t name = operation->activity ? 0 : operation->call;
	struct timeline_function *function;
	const char *text;

	for (size_t i = dictionary->function_count; i-- > 0;)
		if (dictionary->functions[i].name == name &&
			dictionary->functions[i].kind == operation->kind &&
			dictionary->functions[i].activity == operation->activity &&
			dictionary->functions[i].pairwise == operation->pairwise)
			return dictionary->functions[i].number;
	text = function_name(dictionary->imported, operation);
	function = MEM_PUSH(timeline->functions, timeline->function_count, timeline->function_room);
	*function = (struct timeline_function){.library = operation->activity               ? "cupti"
							  : operation->kind == PM_KIND_COMM ? "nccl"
											    : "",
		.name = arena_text(&timeline->arena, text, strlen(text)),
		.kind = operation->kind,
		.facts = operation_facts(operation->kind, text),
		/* an event that is labelled so is no range around calls */
		.is_range = operation->kind == PM_KIND_READ && !operation->event};
	set_labels_of(function, operation);
	MEM_PUSH(dictionary->functions, dictionary->function_count, dictionary->function_room);
	dictionary->functions[dictionary->function_count - 1].name = name;
	dictionary->functions[dictionary->function_count - 1].number = (uint32_t)timeline->function_count - 1;
	dictionary->functions[dictionary->function_count - 1].kind = operation->kind;
	dictionary->functions[dictionary->function_count - 1].activity = operation->activity;
	dictionary->functions[dictionary->function_count - 1].pairwise = operation->pairwise;
	return (uint32_t)timeline->function_count - 1;
}

/* ---- Operations ---- */

uint32_t imported_string(struct imported_dictionary *dictionary, uint32_t string)
{
	struct timeline *timeline = dictionary->timeline;
	const char *text;

	if (string == 0)
		return 0;
	if (!dictionary->strings[string]) {
		text = dictionary->imported->strings.items[string];
		*MEM_PUSH(timeline->strings, timeline->string_count, timeline->string_room) =
			arena_text(&timeline->arena, text, strlen(text));
		dictionary->strings[string] = (uint32_t)timeline->string_count;
	}
	return dictionary->strings[string] - 1;
}

static uint64_t *values_of(struct imported_dictionary *dictionary, const struct imported_operation *operation,
	uint32_t function, uint32_t *count)
{
	const struct timeline_function *of = &dictionary->timeline->functions[function];
	uint64_t *values = arena_alloc(&dictionary->timeline->arena, of->label_count, sizeof(*values));

	*count = of->label_count;
	for (uint32_t i = 0; i < of->label_count; i++)
		switch (of->labels[i].type) {
		case PM_VALUE_STRING:
			values[i] = imported_string(dictionary, operation->event);
			break;
		case PM_VALUE_DIRECTION:
			values[i] = operation->direction;
			break;
		case PM_VALUE_COMMUNICATOR:
			values[i] = operation->communicator;
			break;
		case PM_VALUE_BYTES:
			values[i] = operation->bytes;
			break;
		case PM_VALUE_INT:
			values[i] = (uint64_t)(int64_t)operation->peer;
			break;
		default:
			values[i] = (uint64_t)-1;
		}
	return values;
}

static uint64_t hash_of(const struct imported_operation *operation)
{
	uint64_t hash = mem_hash(MEM_HASH_START, (uint64_t)operation->call << 32 | operation->event);

	hash = mem_hash(hash, (uint64_t)operation->layer << 32 | operation->communicator);
	hash = mem_hash(hash, (uint64_t)operation->kind << 32 | (uint64_t)operation->phase << 24 |
				      (uint64_t)operation->part << 16 | (uint64_t)operation->direction << 8 |
				      (uint64_t)operation->no_gradients << 2 |
				      (uint64_t)operation->pairwise << 1 | operation->activity);
	return mem_hash(mem_hash(hash, operation->bytes), (uint32_t)operation->peer);
}

static bool same(const struct imported_operation *a, const struct imported_operation *b)
{
	return a->call == b->call && a->event == b->event && a->layer == b->layer &&
	       a->communicator == b->communicator && a->kind == b->kind && a->phase == b->phase &&
	       a->part == b->part && a->no_gradients == b->no_gradients && a->direction == b->direction &&
	       a->pairwise == b->pairwise && a->activity == b->activity && a->bytes == b->bytes &&
	       a->peer == b->peer;
}

uint32_t imported_operation(
	struct imported_dictionary *dictionary, const struct imported_operation *operation)
{
	struct timeline *timeline = dictionary->timeline;
	struct timeline_operation *made;
	uint64_t hash = hash_of(operation);
	uint32_t function, i;

	for (size_t at = 0; (i = lookup_next(&dictionary->lookup, hash, &at)) != LOOKUP_NONE;)
		if (same(&dictionary->items[i], operation))
			return dictionary->first + i;
	lookup_add(&dictionary->lookup, hash, (uint32_t)dictionary->count);
	*MEM_PUSH(dictionary->items, dictionary->count, dictionary->room) = *operation;
	function = function_of(dictionary, operation);
	made = MEM_PUSH(timeline->operations, timeline->operation_count, timeline->operation_room);
	*made = (struct timeline_operation){.function = function,
		.process = dictionary->process,
		.given_phase = operation->phase,
		.given_part = operation->part,
		.given_no_gradients = operation->no_gradients};
	made->given_layer = imported_string(dictionary, operation->layer);
	made->values = values_of(dictionary, operation, function, &made->value_count);
	return (uint32_t)timeline->operation_count - 1;
}

void imported_dictionary_begin(struct imported_dictionary *dictionary, struct timeline *timeline,
	const struct imported *imported, uint32_t process)
{
	*dictionary = (struct imported_dictionary){.timeline = timeline,
		.imported = imported,
		.process = process,
		.first = (uint32_t)timeline->operation_count,
		.strings = mem_alloc(imported->strings.count, sizeof(uint32_t))};
}

void imported_dictionary_end(struct imported_dictionary *dictionary)
{
	free(dictionary->items);
	lookup_free(&dictionary->lookup);
	free(dictionary->strings);
	free(dictionary->functions);
	memset(dictionary, 0, sizeof(*dictionary));
}
