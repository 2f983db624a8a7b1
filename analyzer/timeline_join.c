/*
 * From records to calls with their device intervals.
 *
 * A thread's calls are in order, so those of all threads are merged straight from the file; nothing is sorted
 * unless a file is damaged. Device intervals find their calls by the correlation number: one walk counts
 * those of each call, so that they know their places, the next puts them there. So besides the result only a
 * table of correlations takes memory.
 *
 * Behind the launch of a graph whose operations are known comes a call for each of them, as if the program
 * had made them (TIMELINE_FLAG_REPLAYED). An interval goes to the operation whose node it is.
 */
#include "timeline_join.h"
#include "timeline_replay.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ORDINAL 65535u /* of a thread; greater ones are damage, and go together */

/* The calls of one thread, chunk by chunk. */
struct lane {
	size_t chunk, chunk_end; /* in join.order */
	struct trace_cursor cursor;
	struct trace_record record; /* the call in front */
	int64_t begin_ns;
	uint16_t thread;
};

struct join {
	struct timeline *timeline;
	const struct trace *trace;
	struct timeline_process *process;
	const struct timeline_bases *bases;
	struct timeline_replay_list replays;
	uint32_t *order;    /* chunks, by thread */
	struct lane *lanes; /* a heap: the earliest call first */
	size_t lane_count;
	uint32_t *by_correlation; /* call of the process, + 1 */
	uint32_t low;             /* the correlation that it begins with */
	uint64_t span;
	bool ordered;
};

static int64_t clamp_ns(uint64_t ns)
{
	return ns < (uint64_t)(INT64_MAX / 16) ? (int64_t)ns : INT64_MAX / 16;
}

/* ---- Calls ---- */

static uint16_t ordinal_of(uint32_t thread)
{
	return (uint16_t)(thread < MOST_ORDINAL ? thread : MOST_ORDINAL);
}

/* To the lane's next call; false: there is none. */
static bool advance(struct join *join, struct lane *lane)
{
	for (;;) {
		enum trace_step step = trace_next(&lane->cursor, &lane->record);

		if (step == TRACE_REFUSED) {
			join->process->refused_records++;
		} else if (step == TRACE_END) {
			if (++lane->chunk == lane->chunk_end)
				return false;
			trace_walk(
				&lane->cursor, join->trace, &join->trace->chunks[join->order[lane->chunk]]);
		} else if (lane->record.kind == PM_RECORD_CALL) {
			lane->begin_ns = trace_ns(join->trace, lane->record.begin);
			return true;
		}
	}
}

static bool is_before(const struct lane *a, const struct lane *b)
{
	return a->begin_ns < b->begin_ns || (a->begin_ns == b->begin_ns && a->thread < b->thread);
}

static void sink(struct join *join, size_t place)
{
	struct lane lane = join->lanes[place];

	for (size_t child; (child = 2 * place + 1) < join->lane_count; place = child) {
		if (child + 1 < join->lane_count && is_before(&join->lanes[child + 1], &join->lanes[child]))
			child++;
		if (!is_before(&join->lanes[child], &lane))
			break;
		join->lanes[place] = join->lanes[child];
	}
	join->lanes[place] = lane;
}

/* Chunks by thread, each thread's in order of the file, by counting. */
static void order_chunks(struct join *join)
{
	const struct trace *trace = join->trace;
	uint32_t *ends, threads = 0;

	for (size_t c = 0; c < trace->chunk_count; c++)
		if (ordinal_of(trace->chunks[c].thread) + 1u > threads)
			threads = ordinal_of(trace->chunks[c].thread) + 1u;
	ends = mem_alloc(threads + 1, sizeof(*ends));
	join->order = mem_alloc(trace->chunk_count, sizeof(*join->order));
	join->lanes = mem_alloc(threads, sizeof(*join->lanes));
	for (size_t c = 0; c < trace->chunk_count; c++)
		ends[ordinal_of(trace->chunks[c].thread) + 1u]++;
	for (uint32_t t = 0; t < threads; t++)
		ends[t + 1] += ends[t];
	for (size_t c = 0; c < trace->chunk_count; c++)
		join->order[ends[ordinal_of(trace->chunks[c].thread)]++] = (uint32_t)c;
	for (uint32_t t = 0; t < threads; t++) {
		struct lane lane = {
			.chunk = t ? ends[t - 1] : 0, .chunk_end = ends[t], .thread = (uint16_t)t};

		if (lane.chunk == lane.chunk_end)
			continue;
		trace_walk(&lane.cursor, trace, &trace->chunks[join->order[lane.chunk]]);
		if (advance(join, &lane))
			join->lanes[join->lane_count++] = lane;
	}
	for (size_t i = join->lane_count / 2; i-- > 0;)
		sink(join, i);
	join->process->thread_count = threads;
	free(ends);
}

static void add_call(struct join *join, const struct timeline_call *call)
{
	struct timeline *timeline = join->timeline;

	if (timeline->call_count > join->process->first_call &&
		timeline->calls[timeline->call_count - 1].begin_ns > call->begin_ns)
		join->ordered = false;
	*MEM_PUSH(timeline->calls, timeline->call_count, timeline->call_room) = *call;
}

/* Until intervals are joined, a call's correlation stands in `interval`, its place in `interval_count`. */
static void add_record(struct join *join, const struct lane *lane)
{
	const struct trace_record *record = &lane->record;
	const struct timeline_replay *replay = timeline_replay_of(&join->replays, record->op);
	struct timeline *timeline = join->timeline;
	struct timeline_call call = {.begin_ns = lane->begin_ns,
		.end_ns = trace_ns(join->trace, record->end),
		.queue = record->queue ? join->bases->queues + record->queue : 0,
		.result = record->result,
		.thread = lane->thread};

	if (call.end_ns < call.begin_ns)
		call.end_ns = call.begin_ns;
	call.operation = join->bases->operations + record->op;
	call.flags = record->flags & (uint8_t) ~(TIMELINE_FLAG_REPLAYED | TIMELINE_FLAG_DIVIDED);
	call.interval = record->correlation;
	call.interval_count = (uint32_t)(timeline->call_count - join->process->first_call);
	if (record->sequence || record->group)
		*MEM_PUSH(timeline->more, timeline->more_count, timeline->more_room) =
			(struct timeline_more){call.interval_count, record->sequence, record->group};
	add_call(join, &call);
	call.interval = 0;
	for (uint32_t i = 0; replay && i < replay->count; i++) {
		call.operation = timeline->graphs[join->bases->graphs + replay->graph].operations[i];
		call.flags = TIMELINE_FLAG_REPLAYED;
		call.interval_count = (uint32_t)(timeline->call_count - join->process->first_call);
		add_call(join, &call);
	}
}

static int compare_calls(const void *left, const void *right)
{
	const struct timeline_call *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->interval_count < b->interval_count ? -1 : a->interval_count > b->interval_count;
}

/* After the calls were sorted, what is known besides finds them again by their places. */
static void sort_calls(struct join *join, size_t first_more)
{
	struct timeline *timeline = join->timeline;
	size_t first = join->process->first_call, count = timeline->call_count - first;
	struct timeline_call *calls = timeline->calls + first;
	uint32_t *now = mem_alloc(count, sizeof(*now));
	size_t kept = first_more;

	qsort(calls, count, sizeof(*calls), compare_calls);
	for (size_t i = 0; i < count; i++)
		now[calls[i].interval_count] = (uint32_t)i;
	/* Of a damaged file; all that matters is that the order holds. */
	for (size_t i = first_more; i < timeline->more_count; i++) {
		struct timeline_more item = timeline->more[i];

		item.call = now[item.call];
		if (kept == first_more || timeline->more[kept - 1].call < item.call)
			timeline->more[kept++] = item;
	}
	timeline->more_count = kept;
	free(now);
}

static void add_calls(struct join *join)
{
	struct timeline *timeline = join->timeline;
	struct timeline_process *process = join->process;
	size_t first_more = timeline->more_count;

	process->first_call = timeline->call_count;
	join->ordered = true;
	mem_reserve((void **)&timeline->calls, timeline->call_count, &timeline->call_room,
		sizeof(*timeline->calls), join->trace->call_count + join->replays.call_count);
	order_chunks(join);
	while (join->lane_count > 0) {
		add_record(join, &join->lanes[0]);
		if (!advance(join, &join->lanes[0]))
			join->lanes[0] = join->lanes[--join->lane_count];
		sink(join, 0);
	}
	process->call_count = timeline->call_count - process->first_call;
	if (!join->ordered)
		sort_calls(join, first_more);
	for (size_t i = first_more; i < timeline->more_count; i++)
		timeline->more[i].call += (uint32_t)process->first_call;
}

/* ---- Intervals ---- */

/* Correlations are a counter; a number far off would only be damage, and joins nothing. */
static void index_correlations(struct join *join)
{
	struct timeline_call *calls = join->timeline->calls + join->process->first_call;
	size_t count = join->process->call_count;
	uint32_t low = UINT32_MAX, high = 0;

	for (size_t i = 0; i < count; i++) {
		if (calls[i].interval && calls[i].interval < low)
			low = calls[i].interval;
		if (calls[i].interval > high)
			high = calls[i].interval;
	}
	join->low = low;
	join->span = high >= low ? (uint64_t)high - low + 1 : 0;
	if (join->span > 8 * join->trace->record_count + 4096)
		join->span = 8 * join->trace->record_count + 4096;
	join->by_correlation = mem_alloc((size_t)join->span, sizeof(*join->by_correlation));
	for (size_t i = 0; i < count; i++) {
		if (calls[i].interval && calls[i].interval - low < join->span)
			join->by_correlation[calls[i].interval - low] = (uint32_t)i + 1;
		calls[i].interval = calls[i].interval_count = 0;
	}
}

/* The call that a device record belongs to, or NULL. */
static struct timeline_call *find_call(const struct join *join, const struct trace_record *record)
{
	struct timeline_call *calls = join->timeline->calls + join->process->first_call;
	uint32_t place, operation;
	const struct timeline_replay *replay;

	if (record->correlation < join->low || record->correlation - join->low >= join->span)
		return NULL;
	place = join->by_correlation[record->correlation - join->low];
	if (place == 0)
		return NULL;
	place--;
	replay = record->sequence ? timeline_replay_of(
					    &join->replays, calls[place].operation - join->bases->operations)
				  : NULL;
	operation = replay ? timeline_replay_operation(replay, record->sequence) : 0;
	if (!replay || operation == replay->count)
		return &calls[place];
	return &calls[place + 1 + operation];
}

static void put_interval(struct join *join, struct timeline_call *call, const struct trace_record *record)
{
	struct timeline_interval *interval =
		&join->timeline->intervals[call->interval + call->interval_count++];

	*interval = (struct timeline_interval){.begin_ns = clamp_ns(record->begin),
		.end_ns = clamp_ns(record->end),
		.operation = join->bases->operations + record->op,
		.queue = record->queue ? join->bases->queues + record->queue : call->queue};
	if (interval->end_ns < interval->begin_ns)
		interval->end_ns = interval->begin_ns;
}

static int compare_intervals(const void *left, const void *right)
{
	const struct timeline_interval *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

static int compare_by_queue(const void *left, const void *right)
{
	const struct timeline_interval *a = left, *b = right;

	if (a->queue != b->queue)
		return a->queue < b->queue ? -1 : 1;
	return compare_intervals(left, right);
}

static void order_intervals(const struct timeline *timeline, const struct timeline_call *call)
{
	struct timeline_interval *items = timeline->intervals + call->interval;
	/* A group's end launches the work of all its queues: each queue's lies together. */
	int (*compare)(const void *, const void *) = timeline_function(timeline, call)->kind == PM_KIND_GROUP
							     ? compare_by_queue
							     : compare_intervals;

	for (uint32_t i = 1; i < call->interval_count; i++)
		if (compare(&items[i - 1], &items[i]) > 0) {
			qsort(items, call->interval_count, sizeof(*items), compare);
			return;
		}
}

/* Counts the intervals of each call, or puts them where they belong. */
static void walk_devices(struct join *join, bool put)
{
	const struct trace *trace = join->trace;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record record;
		enum trace_step step;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next(&cursor, &record)) != TRACE_END) {
			struct timeline_call *call;

			if (step != TRACE_RECORD || record.kind != PM_RECORD_DEVICE)
				continue;
			call = find_call(join, &record);
			/* without a correlation: work of calls that say nothing of it, as the set-up of a
			 * dropout */
			if (!call)
				join->process->unjoined_intervals += !put && record.correlation;
			else if (put)
				put_interval(join, call, &record);
			else
				call->interval_count++;
		}
	}
}

/* Tells launches of which the operations have intervals from those that are one interval. */
static void mark_launches(struct join *join)
{
	struct timeline_call *calls = join->timeline->calls + join->process->first_call, *launch = calls;

	for (size_t i = 0; i < join->process->call_count; i++) {
		if (!(calls[i].flags & TIMELINE_FLAG_REPLAYED))
			launch = &calls[i];
		else if (calls[i].interval_count)
			launch->flags |= TIMELINE_FLAG_DIVIDED;
	}
}

static void add_intervals(struct join *join)
{
	struct timeline *timeline = join->timeline;
	struct timeline_process *process = join->process;
	struct timeline_call *calls = timeline->calls + process->first_call;

	process->first_interval = timeline->interval_count;
	index_correlations(join);
	if (join->trace->device_count)
		walk_devices(join, false);
	for (size_t i = 0; i < process->call_count; i++) {
		uint32_t count = calls[i].interval_count;

		calls[i].interval = (uint32_t)timeline->interval_count;
		calls[i].interval_count = 0;
		timeline->interval_count += count;
	}
	process->interval_count = timeline->interval_count - process->first_interval;
	mem_reserve((void **)&timeline->intervals, process->first_interval, &timeline->interval_room,
		sizeof(*timeline->intervals), process->interval_count);
	if (process->interval_count)
		walk_devices(join, true);
	for (size_t i = 0; i < process->call_count; i++)
		order_intervals(timeline, &calls[i]);
	mark_launches(join);
}

void timeline_join(struct timeline *timeline, const struct trace *trace, struct timeline_process *process,
	const struct timeline_bases *bases)
{
	struct join join = {.timeline = timeline, .trace = trace, .process = process, .bases = bases};

	timeline_replay_init(&join.replays, trace);
	process->graphs_left = join.replays.left;
	add_calls(&join);
	add_intervals(&join);
	timeline_replay_free(&join.replays);
	free(join.order);
	free(join.lanes);
	free(join.by_correlation);
}
