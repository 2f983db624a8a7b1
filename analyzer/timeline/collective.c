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

/*
 * Sorts what comes as a few ordered stretches, one for each rank, by merging them: nearly a pass for each
 * doubling of the ranks. Equal items stay in their order.
 */
static void sort(struct collective_list *list, int (*order)(const void *, const void *))
{
	struct collective *items = list->items, *other = NULL;
	size_t *ends = NULL, run_count = 0, room = 0;

	for (size_t i = 1; i <= list->count; i++)
		if (i == list->count || order(&items[i], &items[i - 1]) < 0)
			*MEM_PUSH(ends, run_count, room) = i;
	if (run_count > 1)
		other = mem_alloc(list->count, sizeof(*other));
	while (run_count > 1) {
		struct collective *from = items;
		size_t merged = 0, first = 0;

		for (size_t run = 0; run < run_count; run += 2) {
			size_t left = first, middle = ends[run];
			size_t right = middle, end = ends[run + 1 < run_count ? run + 1 : run];

			for (size_t i = first; i < end; i++)
				other[i] = right == end || (left < middle &&
								   order(&from[left], &from[right]) <= 0)
						   ? from[left++]
						   : from[right++];
			ends[merged++] = first = end;
		}
		items = other;
		other = from;
		run_count = merged;
	}
	list->items = items;
	if (other)
		list->room = list->count;
	free(other);
	free(ends);
}

/* What is asked of each call, and the same for all calls of an operation. */
struct what {
	bool counts;
	uint32_t communicator;
	uint32_t keys[3]; /* by enum counting */
};

/* By operation of the process; NULL: none counts. */
static struct what *list_what(const struct timeline *timeline, const struct timeline_process *process)
{
	struct what *list = NULL;

	for (uint32_t i = 0; i < process->operation_count; i++) {
		const struct timeline_operation *operation =
			&timeline->operations[process->first_operation + i];
		const struct timeline_function *function = &timeline->functions[operation->function];
		uint64_t number, peer;

		if (function->kind != PM_KIND_COMM || timeline_value(timeline, operation, "peer", &peer) ||
			!timeline_value(timeline, operation, "comm", &number) || number == 0 ||
			number >= timeline->communicator_count)
			continue;
		if (!list)
			list = mem_alloc(process->operation_count, sizeof(*list));
		list[i] = (struct what){true, (uint32_t)number,
			{name_key(function->name, HERE), name_key(function->name, WRITER),
				name_key(function->name, GRAPH)}};
	}
	return list;
}

/* Calls that were not read, up to where the gathering is: each kind is counted by itself. */
struct missed {
	struct missed_count {
		uint32_t communicator, key, count;
	} * items;
	size_t count, room;
	size_t piece; /* of the process's gap, that comes next */
};

static uint32_t *missed_of(struct missed *missed, uint32_t communicator, uint32_t key)
{
	struct missed_count *item;

	for (size_t i = 0; i < missed->count; i++)
		if (missed->items[i].communicator == communicator && missed->items[i].key == key)
			return &missed->items[i].count;
	item = MEM_PUSH(missed->items, missed->count, missed->room);
	*item = (struct missed_count){communicator, key, 0};
	return &item->count;
}

/* Adds what is missing in a piece: collectives, and those in graphs that were launched. */
static void add_missed(const struct timeline *timeline, const struct timeline_process *process,
	const struct what *whats, const struct timeline_piece *piece, struct missed *missed)
{
	for (uint32_t i = 0; i < process->operation_count; i++) {
		const uint32_t count = (uint32_t)piece->calls[i];
		const struct timeline_graph *graph;

		if (count == 0)
			continue;
		if (whats[i].counts)
			*missed_of(missed, whats[i].communicator, whats[i].keys[HERE]) += count;
		graph = timeline_graph(timeline, &timeline->operations[process->first_operation + i]);
		for (uint32_t k = 0; graph && k < graph->operation_count; k++) {
			const struct what *what = &whats[graph->operations[k] - process->first_operation];

			if (what->counts)
				*missed_of(missed, what->communicator, what->keys[GRAPH]) += count;
		}
	}
}

static void add_collective(const struct timeline *timeline, uint32_t process, size_t number,
	const struct what *what, struct missed *missed, struct collective_list *list)
{
	const struct timeline_call *call = TIMELINE_CALL(timeline, number);
	const struct timeline_communicator *communicator = &timeline->communicators[what->communicator];
	const struct timeline_more *more = timeline_more(timeline, (uint32_t)number);
	enum counting counting = HERE;
	struct collective *item;

	if (call->flags & TIMELINE_FLAG_REPLAYED)
		counting = GRAPH;
	else if (more && more->sequence)
		counting = WRITER;
	item = MEM_PUSH(list->items, list->count, list->room);
	*item = (struct collective){.hash = communicator->hash,
		.function_key = what->keys[counting],
		.sequence = counting == WRITER ? more->sequence : 0,
		.process = process,
		.device = call->queue ? timeline->queues[call->queue].device : communicator->device,
		.rank = communicator->rank,
		.call = number,
		.begin_ns = call->begin_ns,
		.end_ns = call->end_ns,
		.member_count = missed->piece && counting != WRITER
					? *missed_of(missed, what->communicator, what->keys[counting])
					: 0};
	if (call->interval_count) {
		item->begin_ns = timeline_interval(timeline, call->interval).begin_ns;
		item->end_ns = timeline_call_end(timeline, call);
	}
}

/* Those that the writer has counted begin with 1. Until members are counted, `member_count` is how many
 * before it were not read. */
static void number(struct collective_list *list, size_t place)
{
	struct collective *item = &list->items[place];
	const struct collective *before = place > 0 ? item - 1 : item;

	if (item->sequence > 0)
		return;
	if (place > 0 && item->hash == before->hash && item->function_key == before->function_key &&
		item->process == before->process && item->rank == before->rank)
		item->sequence = before->sequence + 1 + (item->member_count - before->member_count);
	else
		item->sequence = item->member_count;
}

void collective_gather(const struct timeline *timeline, struct collective_list *list)
{
	memset(list, 0, sizeof(*list));
	for (uint32_t p = 0; p < timeline->process_count; p++) {
		const struct timeline_process *process = &timeline->processes[p];
		const struct timeline_gap *gap = &process->gap;
		struct what *whats = list_what(timeline, process);
		struct missed missed = {0};

		for (size_t i = process->first_call; i < process->first_call + process->call_count && whats;
			i++) {
			const struct timeline_call *call = TIMELINE_CALL(timeline, i);
			const struct what *what = &whats[call->operation - process->first_operation];

			for (; missed.piece < gap->piece_count &&
				call->begin_ns >= gap->pieces[missed.piece].end_ns;
				missed.piece++)
				add_missed(timeline, process, whats, &gap->pieces[missed.piece], &missed);
			if (what->counts && call->result == 0 && !(call->flags & PM_FLAG_CAPTURED))
				add_collective(timeline, p, i, what, &missed, list);
		}
		free(missed.items);
		free(whats);
	}
	if (list->count == 0)
		return;
	sort(list, compare_ranks);
	for (size_t i = 0; i < list->count; i++)
		number(list, i);
	for (size_t i = 0; i < list->count; i++)
		list->items[i].member_count = 0;
	sort(list, compare);
}

/* The host's times of a call do not tell when its exchange began and ended. */
static bool is_any_untimed(const struct timeline *timeline, const struct collective *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (timeline_is_untimed(TIMELINE_CALL(timeline, items[i].call)))
			return true;
	return false;
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
		if (end - i < 2 || is_any_untimed(timeline, &list->items[i], end - i))
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
