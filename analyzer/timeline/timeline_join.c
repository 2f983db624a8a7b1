/*
 * From records to calls with their device intervals.
 *
 * Calls come in order (timeline_merge.h), and are sorted where a file is damaged. Device intervals find their
 * calls by the correlation number: one walk counts those of each call, so that they know their places, the
 * next puts them there. So besides the result only a table of correlations takes memory.
 *
 * After the launch of a graph whose operations are known comes a call for each of them, as if the program
 * had made them (TIMELINE_FLAG_REPLAYED). An interval goes to the operation whose node it is.
 */
#include "timeline_join.h"
#include "timeline_merge.h"
#include "timeline_address.h"

#include <stdlib.h>
#include <string.h>

/* What is needed while the part of one trace is filled. */
struct fill {
	struct timeline_join *join;
	const struct timeline *timeline;
	const struct trace *trace;
	struct timeline_process *process;
	const struct timeline_bases *bases;
	struct timeline_call *calls;         /* the process's */
	struct timeline_interval *intervals; /* likewise */
	uint32_t *correlations;              /* by call; 0: none */
	uint32_t low, high;                  /* of them */
	uint32_t **pages; /* by correlation from `low` on, PAGE of them each: call, + 1; NULL: none */
	uint64_t span;
	bool ordered; /* the calls */
	bool several; /* a call has more than one interval */
};

static int64_t clamp_ns(uint64_t ns)
{
	return ns < (uint64_t)(INT64_MAX / 16) ? (int64_t)ns : INT64_MAX / 16;
}

/* ---- Calls ---- */

static void add_call(struct fill *fill, const struct timeline_call *call, uint32_t correlation)
{
	size_t number = fill->process->call_count++;

	if (number && fill->calls[number - 1].begin_ns > call->begin_ns)
		fill->ordered = false;
	fill->calls[number] = *call;
	fill->correlations[number] = correlation;
}

/* Of the call that is added next. */
static void add_touches(struct fill *fill, const struct trace_record *record)
{
	struct timeline_join *join = fill->join;
	bool whole;
	size_t count;

	if (!join->unpacked)
		join->unpacked = mem_alloc(PM_TOUCH_WORDS, sizeof(*join->unpacked));
	count = trace_touches(fill->trace, record, join->unpacked, &whole);

	for (size_t i = 0; i < count; i++)
		*MEM_PUSH(join->touches, join->touch_count, join->touch_room) =
			(struct timeline_touch){join->unpacked[i].address,
				(uint32_t)fill->process->call_count, join->unpacked[i].word};
}

static void add_record(struct fill *fill, const struct timeline_lane *lane)
{
	const struct trace_record *record = &lane->record;
	const struct timeline_replay *replay = timeline_replay_of(&fill->join->replays, record->op);
	struct timeline_call call = {.begin_ns = lane->begin_ns,
		.end_ns = lane->end_ns,
		.operation = fill->bases->operations + record->op,
		.queue = record->queue ? fill->bases->queues + record->queue : 0,
		.result = record->result,
		.thread = lane->thread,
		.flags = record->flags & (uint8_t)~TIMELINE_FLAGS_NOT_HOST};

	if (record->correlation && record->correlation < fill->low)
		fill->low = record->correlation;
	if (record->correlation > fill->high)
		fill->high = record->correlation;
	if (record->sequence || record->group)
		*MEM_PUSH(fill->join->more, fill->join->more_count, fill->join->more_room) =
			(struct timeline_more){
				(uint32_t)fill->process->call_count, record->sequence, record->group};
	if (record->touch_slots)
		add_touches(fill, record);
	add_call(fill, &call, record->correlation);
	for (uint32_t i = 0; replay && i < replay->count; i++) {
		call.operation = fill->timeline->graphs[fill->bases->graphs + replay->graph].operations[i];
		call.flags = TIMELINE_FLAG_REPLAYED;
		add_call(fill, &call, 0);
	}
}

static int compare_calls(const void *left, const void *right)
{
	const struct timeline_call *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->interval_count < b->interval_count ? -1 : a->interval_count > b->interval_count;
}

/*
 * After the calls of a damaged file were sorted, what is known besides finds them again by their places.
 * While they are sorted the place stands in `interval_count`, the correlation in `interval`.
 */
static void sort_calls(struct fill *fill)
{
	struct timeline_join *join = fill->join;
	size_t count = fill->process->call_count, kept = 0;
	uint32_t *now = mem_alloc(count, sizeof(*now));

	for (size_t i = 0; i < count; i++) {
		fill->calls[i].interval = fill->correlations[i];
		fill->calls[i].interval_count = (uint32_t)i;
	}
	qsort(fill->calls, count, sizeof(*fill->calls), compare_calls);
	for (size_t i = 0; i < count; i++) {
		struct timeline_call *call = &fill->calls[i];

		now[call->interval_count] = (uint32_t)i;
		fill->correlations[i] = call->interval;
		call->interval = call->interval_count = 0;
	}
	/* All that matters is that the order holds. */
	for (size_t i = 0; i < join->more_count; i++) {
		struct timeline_more item = join->more[i];

		item.call = now[item.call];
		if (kept == 0 || join->more[kept - 1].call < item.call)
			join->more[kept++] = item;
	}
	join->more_count = kept;
	/* of a damaged file nothing is concluded from them */
	join->touch_count = 0;
	free(now);
}

/* Those that begin up to then. */
static void add_loads(
	struct fill *fill, const struct timeline_call *loads, size_t count, size_t *next, int64_t until_ns)
{
	for (; *next < count && loads[*next].begin_ns <= until_ns; (*next)++)
		add_call(fill, &loads[*next], 0);
}

static void add_calls(struct fill *fill)
{
	struct timeline_merge merge;
	struct timeline_call *loads;
	size_t load_count, load = 0;

	fill->ordered = true;
	fill->low = UINT32_MAX;
	timeline_merge_begin(&merge, fill->trace, &fill->join->stretches, fill->join->read, fill->process);
	timeline_range_fill(fill->join);
	loads = timeline_load_calls(fill->timeline, fill->join, &load_count);
	for (const struct timeline_lane *lane; (lane = timeline_merge_first(&merge));) {
		add_loads(fill, loads, load_count, &load, lane->begin_ns);
		add_record(fill, lane);
		timeline_merge_next(&merge);
	}
	add_loads(fill, loads, load_count, &load, INT64_MAX);
	timeline_merge_end(&merge);
	free(loads);
	if (!fill->ordered)
		sort_calls(fill);
	timeline_give_addresses(fill->timeline, fill->process, fill->calls);
}

/* ---- Intervals ---- */

#define PAGE 4096u

/* Correlations are a counter; a number far off would only be damage, and joins nothing. */
static void index_correlations(struct fill *fill)
{
	size_t count = fill->process->call_count;

	fill->span = fill->high >= fill->low ? (uint64_t)fill->high - fill->low + 1 : 0;
	if (fill->span > 8 * fill->trace->record_count + 4096)
		fill->span = 8 * fill->trace->record_count + 4096;
	fill->pages = mem_alloc((size_t)(fill->span / PAGE + 1), sizeof(*fill->pages));
	for (size_t i = 0; i < count; i++) {
		const uint32_t place = fill->correlations[i] - fill->low;
		uint32_t **page;

		if (!fill->correlations[i] || place >= fill->span)
			continue;
		page = &fill->pages[place / PAGE];
		if (!*page)
			*page = mem_alloc(PAGE, sizeof(**page));
		(*page)[place % PAGE] = (uint32_t)i + 1;
	}
	free(fill->correlations);
	fill->correlations = NULL;
}

/* The call that a device record belongs to, + 1; 0: none. */
static uint32_t find_call(const struct fill *fill, const struct trace_record *record)
{
	const struct timeline_replay *replay;
	const uint32_t *page;
	uint32_t place, operation;

	if (record->correlation < fill->low || record->correlation - fill->low >= fill->span)
		return 0;
	place = record->correlation - fill->low;
	page = fill->pages[place / PAGE];
	place = page ? page[place % PAGE] : 0;
	if (place == 0 || !record->sequence)
		return place;
	replay = timeline_replay_of(
		&fill->join->replays, fill->calls[place - 1].operation - fill->bases->operations);
	operation = replay ? timeline_replay_operation(replay, record->sequence) : 0;
	return !replay || operation == replay->count ? place : place + 1 + operation;
}

/* May the chunk have device records of calls that are there? */
static bool may_belong(const struct fill *fill, const struct trace_chunk *chunk)
{
	uint64_t page, end;

	if (chunk->greatest_correlation < fill->low || chunk->greatest_correlation < chunk->least_correlation)
		return false;
	page = chunk->least_correlation > fill->low ? (chunk->least_correlation - fill->low) / PAGE : 0;
	end = (uint64_t)(chunk->greatest_correlation - fill->low) / PAGE;
	for (; page <= end && page <= fill->span / PAGE; page++)
		if (fill->pages[page])
			return true;
	return false;
}

static void put_interval(struct fill *fill, struct timeline_call *call, const struct trace_record *record)
{
	struct timeline_interval *interval =
		&fill->intervals[call->interval - fill->process->first_interval + call->interval_count++];

	*interval = (struct timeline_interval){.begin_ns = clamp_ns(record->begin),
		.end_ns = clamp_ns(record->end),
		.operation = fill->bases->operations + record->op,
		.queue = record->queue ? fill->bases->queues + record->queue : call->queue};
	if (!(record->flags & PM_FLAG_ACTIVITY))
		interval->end_ns -= fill->process->pair_ns;
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

static void order_intervals(const struct fill *fill, const struct timeline_call *call)
{
	struct timeline_interval *items =
		MEM_AT(fill->intervals, call->interval - fill->process->first_interval);
	/* A group's end launches the work of all its queues: each queue's lies together. */
	int (*compare)(const void *, const void *) =
		timeline_function(fill->timeline, call)->kind == PM_KIND_GROUP ? compare_by_queue
									       : compare_intervals;

	for (uint32_t i = 1; i < call->interval_count; i++)
		if (compare(&items[i - 1], &items[i]) > 0) {
			qsort(items, call->interval_count, sizeof(*items), compare);
			return;
		}
}

/* Counts the device records of each call in `interval_count`. */
static void count_intervals(struct fill *fill)
{
	const struct trace *trace = fill->trace;
	struct trace_record record;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		enum trace_step step;

		if (fill->join->read && !may_belong(fill, &trace->chunks[c]))
			continue;
		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next_of(&cursor, PM_RECORD_DEVICE, &record)) != TRACE_END) {
			uint32_t owner = step == TRACE_RECORD ? find_call(fill, &record) : 0;

			if (owner)
				fill->several |= ++fill->calls[owner - 1].interval_count > 1;
			else if (step == TRACE_REFUSED)
				fill->process->refused_records++;
			/* Without a correlation: work of calls that say nothing of it, as the set-up of a
			 * dropout. */
			else if (!fill->process->gap.end_ns) /* else their calls may be among those */
				fill->process->unjoined_intervals += record.correlation > 0;
		}
		trace_release(trace, &trace->chunks[c]);
	}
}

/* Puts them where they belong. */
static void put_intervals(struct fill *fill)
{
	const struct trace *trace = fill->trace;
	struct trace_record record;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		enum trace_step step;

		if (!may_belong(fill, &trace->chunks[c]))
			continue;
		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next_of(&cursor, PM_RECORD_DEVICE, &record)) != TRACE_END) {
			uint32_t owner = step == TRACE_RECORD ? find_call(fill, &record) : 0;

			if (owner)
				put_interval(fill, &fill->calls[owner - 1], &record);
		}
		trace_release(trace, &trace->chunks[c]);
	}
}

/* Calls are in order of begin, and so are the parts in which device times were taken. */
static void mark_untimed(struct fill *fill)
{
	const struct timeline_process *process = fill->process;
	size_t next = 0;

	for (size_t i = 0; i < process->call_count; i++) {
		struct timeline_call *call = &fill->calls[i];

		while (next < process->timed_count && call->begin_ns >= process->timed[next].end_ns)
			next++;
		if ((next == process->timed_count || call->begin_ns < process->timed[next].begin_ns) &&
			timeline_is_device_kind(timeline_function(fill->timeline, call)->kind))
			call->flags |= TIMELINE_FLAG_UNTIMED;
	}
}

/* Tells launches of which the operations have intervals from those that are one interval. */
static void mark_launches(struct fill *fill)
{
	struct timeline_call *launch = fill->calls;

	for (size_t i = 0; i < fill->process->call_count; i++) {
		struct timeline_call *call = &fill->calls[i];

		if (!(call->flags & TIMELINE_FLAG_REPLAYED))
			launch = call;
		else if (call->interval_count)
			launch->flags |= TIMELINE_FLAG_DIVIDED;
	}
}

static void add_intervals(struct fill *fill)
{
	struct timeline_process *process = fill->process;

	if (fill->trace->device_count) {
		index_correlations(fill);
		count_intervals(fill);
	}
	for (size_t i = 0; i < process->call_count; i++) {
		uint32_t count = fill->calls[i].interval_count;

		fill->calls[i].interval = (uint32_t)(process->first_interval + process->interval_count);
		fill->calls[i].interval_count = 0;
		process->interval_count += count;
	}
	if (process->interval_count)
		put_intervals(fill);
	for (size_t i = 0; i < process->call_count && fill->several; i++)
		order_intervals(fill, &fill->calls[i]);
	if (fill->join->replays.call_count)
		mark_launches(fill);
	if (process->timed_count)
		mark_untimed(fill);
}

/* ---- Steps ---- */

void timeline_join_begin(
	struct timeline_join *join, const struct trace *trace, const struct timeline_stretches *stretches)
{
	join->trace = trace;
	join->call_most = trace->call_count;
	if (stretches->count > 0 && !trace->ring) {
		uint64_t slots;

		join->stretches = *stretches;
		join->read = mem_alloc(trace->chunk_count, sizeof(*join->read));
		slots = timeline_sample_mark(trace, stretches, join->read);
		if (slots < join->call_most)
			join->call_most = slots;
	}
	timeline_replay_init(&join->replays, trace, join->read);
	join->call_most += join->replays.call_count + timeline_divide_most(trace) +
			   timeline_load_most(trace, join->read);
}

void timeline_join_reserve(struct timeline *timeline, struct timeline_join *joins, size_t count)
{
	size_t call_most = 0, interval_most = 0;

	for (size_t i = 0; i < count; i++) {
		joins[i].process->first_call = timeline->call_count + call_most;
		joins[i].process->first_interval = timeline->interval_count + interval_most;
		call_most += joins[i].call_most;
		interval_most += joins[i].trace->device_count;
	}
	mem_reserve((void **)&timeline->calls, timeline->call_count, &timeline->call_room,
		sizeof(*timeline->calls), call_most);
	mem_reserve((void **)&timeline->intervals, timeline->interval_count, &timeline->interval_room,
		sizeof(*timeline->intervals), interval_most);
}

void timeline_join_fill(struct timeline *timeline, struct timeline_join *join)
{
	struct fill fill = {.join = join,
		.timeline = timeline,
		.trace = join->trace,
		.process = join->process,
		.bases = &join->bases,
		.calls = MEM_AT(timeline->calls, join->process->first_call),
		.intervals = MEM_AT(timeline->intervals, join->process->first_interval),
		.correlations = mem_alloc(join->call_most, sizeof(*fill.correlations))};

	join->process->graphs_left = join->replays.left;
	add_calls(&fill);
	add_intervals(&fill);
	timeline_divide(timeline, join);
	timeline_replay_free(&join->replays);
	free(fill.correlations);
	for (uint64_t i = 0; fill.pages && i <= fill.span / PAGE; i++)
		free(fill.pages[i]);
	free(fill.pages);
}

void timeline_join_end(struct timeline *timeline, struct timeline_join *join)
{
	struct timeline_process *process = join->process;
	uint32_t moved = (uint32_t)(process->first_interval - timeline->interval_count);

	if (process->first_call > timeline->call_count)
		memmove(timeline->calls + timeline->call_count, timeline->calls + process->first_call,
			process->call_count * sizeof(*timeline->calls));
	if (moved)
		memmove(timeline->intervals + timeline->interval_count,
			timeline->intervals + process->first_interval,
			process->interval_count * sizeof(*timeline->intervals));
	process->first_call = timeline->call_count;
	process->first_interval = timeline->interval_count;
	timeline->call_count += process->call_count;
	timeline->interval_count += process->interval_count;
	for (size_t i = 0; i < process->call_count && moved; i++)
		timeline->calls[process->first_call + i].interval -= moved;
	for (size_t i = 0; i < join->more_count; i++) {
		struct timeline_more item = join->more[i];

		item.call += (uint32_t)process->first_call;
		*MEM_PUSH(timeline->more, timeline->more_count, timeline->more_room) = item;
	}
	free(join->more);
	for (size_t i = 0; i < join->touch_count; i++) {
		struct timeline_touch item = join->touches[i];

		item.call += (uint32_t)process->first_call;
		*MEM_PUSH(timeline->touches, timeline->touch_count, timeline->touch_room) = item;
	}
	free(join->touches);
	process->first_range = timeline->range_count;
	mem_reserve((void **)&timeline->ranges, timeline->range_count, &timeline->range_room,
		sizeof(*timeline->ranges), join->range_count);
	if (join->range_count)
		memcpy(timeline->ranges + timeline->range_count, join->ranges,
			join->range_count * sizeof(*join->ranges));
	timeline->range_count += join->range_count;
	free(join->ranges);
	free(join->unpacked);
	free(join->read);
}
