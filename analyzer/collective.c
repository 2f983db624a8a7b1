/* Matching collectives over ranks: see collective.h. */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

/* Who counts the calls: each is a sequence of its own. */
enum counting { HERE, WRITER, GRAPH };

static uint32_t name_key(const char *name, enum counting counting)
{
	uint64_t hash = mem_hash(MEM_HASH_START, counting);

	for (; *name; name++)
		hash = mem_hash(hash, (unsigned char)*name);
	return (uint32_t)hash;
}

static int compare(const void *left, const void *right)
{
	const struct collective *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->function_key != b->function_key)
		return a->function_key < b->function_key ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->device < b->device ? -1 : a->device > b->device;
}

/* While counting: parts of one rank together, in order of their calls. */
static int compare_ranks(const void *left, const void *right)
{
	const struct collective *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->function_key != b->function_key)
		return a->function_key < b->function_key ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->call < b->call ? -1 : a->call > b->call;
}

void collective_gather(const struct timeline *timeline, struct collective_list *list)
{
	memset(list, 0, sizeof(*list));
	for (uint32_t p = 0; p < timeline->process_count; p++) {
		const struct timeline_process *process = &timeline->processes[p];

		for (size_t i = process->first_call; i < process->first_call + process->call_count; i++) {
			const struct timeline_call *call = &timeline->calls[i];
			const struct timeline_operation *operation = &timeline->operations[call->operation];
			const struct timeline_function *function = &timeline->functions[operation->function];
			const struct timeline_communicator *communicator;
			const struct timeline_more *more;
			enum counting counting = HERE;
			struct collective *item;
			uint64_t number, peer;

			if (function->kind != PM_KIND_COMM || call->result != 0 ||
				(call->flags & PM_FLAG_CAPTURED) ||
				timeline_value(timeline, operation, "peer", &peer) ||
				!timeline_value(timeline, operation, "comm", &number) || number == 0 ||
				number >= timeline->communicator_count)
				continue;
			communicator = &timeline->communicators[number];
			more = timeline_more(timeline, (uint32_t)i);
			if (call->flags & TIMELINE_FLAG_REPLAYED)
				counting = GRAPH;
			else if (more && more->sequence)
				counting = WRITER;
			item = MEM_PUSH(list->items, list->count, list->room);
			*item = (struct collective){.hash = communicator->hash,
				.function_key = name_key(function->name, counting),
				.sequence = counting == WRITER ? more->sequence : 0,
				.process = p,
				.device = call->queue ? timeline->queues[call->queue].device
						      : communicator->device,
				.rank = communicator->rank,
				.call = i,
				.begin_ns = call->begin_ns,
				.end_ns = call->end_ns};
			if (call->interval_count) {
				const struct timeline_interval *first = &timeline->intervals[call->interval];

				item->begin_ns = first->begin_ns;
				item->end_ns = timeline_call_end(timeline, call);
			}
		}
	}
	if (list->count == 0)
		return;
	qsort(list->items, list->count, sizeof(*list->items), compare_ranks);
	for (size_t i = 1; i < list->count; i++) {
		const struct collective *before = &list->items[i - 1];
		struct collective *item = &list->items[i];

		/* Those that the writer has counted begin with 1. */
		if (item->sequence == 0 && item->hash == before->hash &&
			item->function_key == before->function_key && item->process == before->process &&
			item->rank == before->rank)
			item->sequence = before->sequence + 1;
	}
	qsort(list->items, list->count, sizeof(*list->items), compare);
}

void collective_match(const struct timeline *timeline, struct collective_list *list)
{
	size_t kept = 0;

	collective_gather(timeline, list);
	for (size_t i = 0, end; i < list->count; i = end) {
		const struct collective first = list->items[i];

		for (end = i + 1; end < list->count && list->items[end].hash == first.hash &&
				  list->items[end].function_key == first.function_key &&
				  list->items[end].sequence == first.sequence;)
			end++;
		if (end - i < 2)
			continue;
		for (size_t j = i; j < end; j++) {
			list->items[kept] = list->items[j];
			list->items[kept++].member_count = (uint32_t)(end - i);
		}
	}
	list->count = kept;
}

void collective_free(struct collective_list *list)
{
	free(list->items);
	memset(list, 0, sizeof(*list));
}
