/* Which of a trace's events are communication that ranks meet at, and what tells them apart: see arrivals.h.
 */
#include "arrivals.h"

#include <stdlib.h>
#include <string.h>

/* The name without its parameters: "ncclDevKernel_SendRecv". */
static const char *plain_name(struct arena *arena, const char *name)
{
	return arena_text(arena, name, strcspn(name, "(<"));
}

/*
 * The function in a kernel's name: "AllReduce" of ncclKernel_AllReduce_RING_LL_Sum_float and
 * ncclDevKernel_AllReduce_Sum_f32_RING_LL. Ranks may run it by different algorithms; other names are kept.
 */
static const char *function_of(struct arena *arena, const char *name)
{
	const char *kernel = strstr(name, "Kernel_");

	if (!kernel || !strstr(name, "nccl"))
		return name;
	kernel += strlen("Kernel_");
	return arena_text(arena, kernel, strcspn(kernel, "_(<"));
}

/* Functions that only two ranks meet at, which order cannot tell: "send", "forward-recv"; not SendRecv. */
static bool is_pairwise(const char *name)
{
	return !strcasestr(name, "send") != !strcasestr(name, "recv");
}

static const char *key_of(const struct imported *imported, uint32_t event, struct arrivals_rank *rank)
{
	uint32_t number = imported->events.collective[event];
	const char *name = imported->strings.items[imported->events.name[event]];
	const struct imported_collective *collective;

	if (number == IMPORTED_NONE)
		return is_pairwise(name) ? NULL : function_of(&rank->arena, plain_name(&rank->arena, name));
	collective = &imported->collectives[number];
	if (is_pairwise(imported->strings.items[collective->name]))
		return NULL;
	/* With its number in the group it is the only one; else the order tells. */
	if (collective->sequence >= 0)
		return arena_format(&rank->arena, "%s in %s, number %lld",
			imported->strings.items[collective->name], imported->strings.items[collective->group],
			(long long)collective->sequence);
	return arena_format(&rank->arena, "%s in %s", imported->strings.items[collective->name],
		imported->strings.items[collective->group]);
}

void arrivals_take(const struct imported *imported, uint32_t worker, struct arrivals_rank *rank)
{
	const struct imported_events *events = &imported->events;
	const char **names = mem_alloc(imported->strings.count, sizeof(*names));
	const char **keys = mem_alloc(imported->strings.count, sizeof(*keys));

	memset(rank, 0, sizeof(*rank));
	rank->rank = rank->given_rank = imported->workers[worker].rank;
	rank->path = imported->path;
	for (uint32_t i = 0; i < events->count; i++) {
		uint32_t name = events->name[i], call = events->call[i];
		const char *key;

		if (events->kind[i] != IMPORTED_COMMUNICATION ||
			imported->queues[events->queue[i]].worker != worker)
			continue;
		if (!names[name])
			names[name] = plain_name(&rank->arena, imported->strings.items[name]);
		/* Without more than a name the key hangs on the name alone. */
		key = events->collective[i] == IMPORTED_NONE ? keys[name] : NULL;
		if (!key)
			key = key_of(imported, i, rank);
		if (!key) {
			rank->pairwise++;
			continue;
		}
		if (events->collective[i] == IMPORTED_NONE)
			keys[name] = key;
		*MEM_PUSH(rank->kernels, rank->kernel_count, rank->kernel_room) = (struct arrivals_kernel){
			events->begin_ns[i], events->end_ns[i],
			call == IMPORTED_NONE ? INT64_MIN : imported->calls.begin_ns[call], names[name], key};
	}
	free(names);
	free(keys);
}

void arrivals_rank_free(struct arrivals_rank *rank)
{
	free(rank->kernels);
	arena_free(&rank->arena);
	memset(rank, 0, sizeof(*rank));
}
