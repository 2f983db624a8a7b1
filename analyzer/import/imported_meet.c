/* Ranks, communicators, collectives and clocks over all files: see imported_meet.h. */
#include "imported_meet.h"
#include "timeline/timeline_clock.h"

#include <stdlib.h>
#include <string.h>

/* ---- Collectives ---- */

/* A call of a process that communicates, by when it begins on the device. */
struct meeting {
	int64_t begin_ns;
	uint32_t call;
	bool taken;
};

struct meetings {
	struct meeting *items;
	size_t count, room;
};

static int compare_meetings(const void *left, const void *right)
{
	const struct meeting *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->call < b->call ? -1 : a->call > b->call;
}

static struct meetings list_meetings(const struct timeline *timeline, const struct timeline_process *process)
{
	struct meetings meetings = {0};

	for (size_t i = process->first_call; i < process->first_call + process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, i);

		if (timeline_function(timeline, call)->kind != PM_KIND_COMM || call->interval_count == 0)
			continue;
		*MEM_PUSH(meetings.items, meetings.count, meetings.room) = (struct meeting){
			timeline_interval(timeline, call->interval).begin_ns, (uint32_t)i, false};
	}
	if (meetings.count)
		qsort(meetings.items, meetings.count, sizeof(*meetings.items), compare_meetings);
	return meetings;
}

/* The call whose work began then; SIZE_MAX: there is none, or none left. */
static size_t take_meeting(struct meetings *meetings, int64_t begin_ns)
{
	size_t low = 0, high = meetings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (meetings->items[middle].begin_ns < begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < meetings->count && meetings->items[low].begin_ns == begin_ns; low++)
		if (!meetings->items[low].taken) {
			meetings->items[low].taken = true;
			return meetings->items[low].call;
		}
	return SIZE_MAX;
}

/* Of a communicator in a forest of them; the way is halved for the next. */
static uint32_t root_of(uint32_t *parents, uint32_t communicator)
{
	while (parents[communicator] != communicator)
		communicator = parents[communicator] = parents[parents[communicator]];
	return communicator;
}

static uint32_t communicator_of(const struct timeline *timeline, size_t call)
{
	uint64_t number = 0;

	timeline_value(
		timeline, &timeline->operations[timeline_call(timeline, call).operation], "comm", &number);
	return (uint32_t)number;
}

/* Two communicators that met. */
struct pair {
	uint32_t first, other;
};

struct pairs {
	struct pair *items;
	size_t count, room;
};

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->other < b->other ? -1 : a->other > b->other;
}

/* Those that meet most times are one: groups that once came at the same time are not. */
static void unite(struct pairs *pairs, const uint32_t *totals, uint32_t *parents)
{
	if (pairs->count)
		qsort(pairs->items, pairs->count, sizeof(*pairs->items), compare_pairs);
	for (size_t i = 0, end; i < pairs->count; i = end) {
		struct pair pair = pairs->items[i];

		for (end = i + 1; end < pairs->count && compare_pairs(&pairs->items[end], &pair) == 0;)
			end++;
		if (2 * (end - i) > totals[pair.other])
			parents[root_of(parents, pair.other)] = root_of(parents, pair.first);
	}
	free(pairs->items);
}

/* Numbers them as if the writer had counted: those that meet alike, all others with a number of their own.
 * `parents`: communicators that meet get the same root. */
static void number_collectives(struct timeline *timeline, const struct arrivals *arrivals,
	const uint32_t *processes, uint32_t *parents)
{
	struct meetings *meetings = mem_alloc(timeline->process_count, sizeof(*meetings));
	uint32_t *numbers = mem_alloc(timeline->call_count, sizeof(*numbers));
	uint32_t *totals = mem_alloc(timeline->communicator_count, sizeof(*totals));
	uint32_t next = (uint32_t)arrivals->collective_count;
	struct pairs pairs = {0};

	for (size_t i = 0; i < timeline->process_count; i++)
		meetings[i] = list_meetings(timeline, &timeline->processes[i]);
	for (size_t i = 0; i < arrivals->collective_count; i++) {
		uint32_t first = 0, other;

		for (size_t j = 0; j < arrivals->collectives[i].count; j++) {
			const struct arrivals_arrival *arrival =
				&arrivals->arrivals[arrivals->collectives[i].first + j];
			size_t call = take_meeting(&meetings[processes[arrival->rank]],
				arrival->begin_ns + arrivals->ranks[arrival->rank].clock_ns);

			if (call == SIZE_MAX)
				continue;
			numbers[call] = (uint32_t)i + 1;
			other = communicator_of(timeline, call);
			totals[other]++;
			if (first)
				*MEM_PUSH(pairs.items, pairs.count, pairs.room) = (struct pair){first, other};
			else
				first = other;
		}
	}
	unite(&pairs, totals, parents);
	free(totals);
	for (size_t i = 0; i < timeline->process_count; i++) {
		for (size_t j = 0; j < meetings[i].count; j++)
			if (!meetings[i].items[j].taken)
				numbers[meetings[i].items[j].call] = ++next;
		free(meetings[i].items);
	}
	for (size_t i = 0; i < timeline->call_count; i++)
		if (numbers[i])
			*MEM_PUSH(timeline->more, timeline->more_count, timeline->more_room) =
				(struct timeline_more){(uint32_t)i, numbers[i], 0};
	free(numbers);
	free(meetings);
}

/* ---- Communicators ---- */

/*
 * Processes that call their communicator alike share a hash so far. Where the data do not say how large it
 * is, those are of one communicator that meet: there may be several of a name, as one for each stage.
 */
struct member {
	uint64_t hash;
	int32_t rank;
	uint32_t communicator, process;
};

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* The process whose operations name each communicator, and what it has in common with the others' now. */
static struct member *list_members(struct timeline *timeline, uint32_t *parents, size_t *count)
{
	struct member *members = mem_alloc(timeline->communicator_count, sizeof(*members));
	bool *seen = mem_alloc(timeline->communicator_count, sizeof(*seen));
	uint32_t *sizes = mem_alloc(timeline->communicator_count, sizeof(*sizes));

	*count = 0;
	for (uint32_t i = 0; i < timeline->communicator_count; i++)
		sizes[root_of(parents, i)]++;
	for (size_t i = 0; i < timeline->operation_count; i++) {
		const struct timeline_operation *operation = &timeline->operations[i];
		struct timeline_communicator *communicator;
		uint64_t number;

		if (!timeline_value(timeline, operation, "comm", &number) || number == 0 || seen[number])
			continue;
		seen[number] = true;
		communicator = &timeline->communicators[number];
		if (communicator->size == 0 && sizes[root_of(parents, (uint32_t)number)] > 1)
			communicator->hash = mem_hash(communicator->hash, root_of(parents, (uint32_t)number));
		members[(*count)++] = (struct member){communicator->hash,
			timeline->processes[operation->process].rank, (uint32_t)number, operation->process};
	}
	free(seen);
	free(sizes);
	return members;
}

/* The size that the data say; else as many as meet; of one alone as many as there are. */
static int32_t size_of(const struct timeline *timeline, const struct member *members, size_t count)
{
	int32_t size = 0, world = timeline->processes[members[0].process].world;

	for (size_t i = 0; i < count; i++) {
		int32_t given = timeline->communicators[members[i].communicator].size;

		size = given > size ? given : size;
	}
	if (size == 0 && count == 1)
		size = world > 0 ? world : (int32_t)timeline->process_count;
	return size < (int32_t)count ? (int32_t)count : size;
}

/* Global ranks where the communicator is large enough for them, else places among those seen. */
static void settle_communicators(struct timeline *timeline, uint32_t *parents)
{
	size_t count, end;
	struct member *members = list_members(timeline, parents, &count);

	if (count)
		qsort(members, count, sizeof(*members), compare_members);
	for (size_t first = 0; first < count; first = end) {
		int32_t size;

		for (end = first + 1; end < count && members[end].hash == members[first].hash;)
			end++;
		size = size_of(timeline, members + first, end - first);
		for (size_t i = first; i < end; i++) {
			struct timeline_communicator *communicator =
				&timeline->communicators[members[i].communicator];

			communicator->size = size;
			communicator->rank =
				members[end - 1].rank < size ? members[i].rank : (int32_t)(i - first);
		}
	}
	free(members);
}

static void match(struct timeline *timeline, struct arrivals_rank *ranks, uint32_t *parents)
{
	struct arrivals_rank *sorted = mem_alloc(timeline->process_count, sizeof(*sorted));
	uint32_t *processes = mem_alloc(timeline->process_count, sizeof(*processes));
	struct arrivals arrivals;

	/* In order of rank, which are all different. */
	for (uint32_t i = 0; i < timeline->process_count; i++)
		processes[i] = i;
	for (size_t i = 1; i < timeline->process_count; i++) {
		uint32_t process = processes[i];
		size_t at = i;

		for (; at > 0 &&
			timeline->processes[processes[at - 1]].rank > timeline->processes[process].rank;
			at--)
			processes[at] = processes[at - 1];
		processes[at] = process;
	}
	for (size_t i = 0; i < timeline->process_count; i++) {
		sorted[i] = ranks[processes[i]];
		sorted[i].rank = timeline->processes[processes[i]].rank;
	}
	arrivals_find(&arrivals, sorted, timeline->process_count);
	number_collectives(timeline, &arrivals, processes, parents);
	if (arrivals.clocks_corrected)
		timeline->residual_ns = arrivals.residual_ns;
	for (size_t i = 0; i < timeline->process_count; i++)
		if (sorted[i].clock_ns)
			timeline_move(timeline, &timeline->processes[processes[i]], -sorted[i].clock_ns);
	arrivals_free(&arrivals);
	free(sorted);
	free(processes);
}

bool imported_meet(struct timeline *timeline, struct arrivals_rank *ranks)
{
	size_t count = timeline->process_count;
	int32_t *given = mem_alloc(count, sizeof(*given)), *numbers = mem_alloc(count, sizeof(*numbers));
	const char **paths = mem_alloc(count, sizeof(*paths));
	uint32_t *parents;
	bool usable;

	for (size_t i = 0; i < count; i++) {
		given[i] = timeline->processes[i].rank;
		paths[i] = timeline->processes[i].path;
	}
	usable = imported_number(given, paths, count, numbers);
	for (size_t i = 0; i < count; i++)
		timeline->processes[i].rank = numbers[i];
	free(given);
	free(numbers);
	free(paths);
	parents = mem_alloc(timeline->communicator_count, sizeof(*parents));
	for (uint32_t i = 0; i < timeline->communicator_count; i++)
		parents[i] = i;
	if (count > 1)
		match(timeline, ranks, parents);
	settle_communicators(timeline, parents);
	free(parents);
	return usable;
}
