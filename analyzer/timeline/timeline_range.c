/* Ranges: see timeline_range.h. They are read thread by thread, a stack of open ones for each. */
#include "timeline_range.h"
#include "timeline_join.h"
#include "timeline_merge.h"

#include <stdlib.h>

#define DEEPEST 512 /* ranges in one another; deeper ones are passed over */

/* One thread's ranges on their way. */
struct lane {
	struct timeline_join *join;
	uint16_t thread;
	uint32_t open[DEEPEST]; /* in join->ranges */
	size_t depth;           /* of all that are open, those passed over too */
	size_t pair;            /* of clocks, used last */
	int64_t last_ns;
};

static int64_t ns_of(struct lane *lane, uint64_t ticks)
{
	const int64_t ns = trace_ns_near(lane->join->trace, ticks, &lane->pair);

	lane->last_ns = ns > lane->last_ns ? ns : lane->last_ns;
	return lane->last_ns;
}

static void begin_range(struct lane *lane, const struct trace_range *from)
{
	struct timeline_join *join = lane->join;

	if (lane->depth < DEEPEST) {
		lane->open[lane->depth] = (uint32_t)join->range_count;
		*MEM_PUSH(join->ranges, join->range_count, join->range_room) = (struct timeline_range){
			.begin_ns = ns_of(lane, from->ticks),
			.end_ns = INT64_MAX,
			.name = join->bases.range_names + from->range,
			.parent = lane->depth ? lane->open[lane->depth - 1] : TIMELINE_NO_RANGE,
			.sequence = from->sequence,
			.framework_thread = from->thread,
			.thread = lane->thread};
	}
	lane->depth++;
}

static void end_range(struct lane *lane, uint64_t ticks)
{
	const int64_t ns = ns_of(lane, ticks);

	if (lane->depth == 0)
		return;
	if (--lane->depth < DEEPEST)
		lane->join->ranges[lane->open[lane->depth]].end_ns = ns;
}

/* Ranges that overlap find each other by their numbers, in the order of the file. */
static void put_loose(struct lane *lane, const struct trace_range *from, bool is_end)
{
	struct timeline_join *join = lane->join;
	const int64_t ns = ns_of(lane, from->ticks);

	if (!is_end) {
		*MEM_PUSH(join->ranges, join->range_count, join->range_room) =
			(struct timeline_range){.begin_ns = ns,
				.end_ns = INT64_MAX,
				.name = join->bases.range_names + from->range,
				.parent = TIMELINE_NO_RANGE,
				.sequence = from->sequence,
				.thread = lane->thread,
				.loose = true};
		return;
	}
	for (size_t i = join->range_count; i-- > 0;) {
		struct timeline_range *range = &join->ranges[i];

		if (!range->loose || range->sequence != from->sequence || range->end_ns != INT64_MAX)
			continue;
		range->end_ns = ns > range->begin_ns ? ns : range->begin_ns;
		return;
	}
}

/* What is open where records are missing ends there: its end may be among them. */
static void break_off(struct lane *lane)
{
	while (lane->depth > 0)
		if (--lane->depth < DEEPEST)
			lane->join->ranges[lane->open[lane->depth]].end_ns = lane->last_ns;
}

static void take_chunk(struct lane *lane, const struct trace_chunk *chunk)
{
	struct trace_cursor cursor;
	struct trace_range range;
	bool is_end;

	trace_walk(&cursor, lane->join->trace, chunk);
	while (trace_next_range(&cursor, &range, &is_end))
		if (range.flags & PM_RANGE_LOOSE)
			put_loose(lane, &range, is_end);
		else if (is_end)
			end_range(lane, range.ticks);
		else
			begin_range(lane, &range);
	trace_release(lane->join->trace, chunk);
}

static void take_thread(struct timeline_join *join, uint16_t thread)
{
	const struct trace *trace = join->trace;
	struct lane lane = {.join = join, .thread = thread};
	uint64_t next = 0, lost = 0;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		const struct trace_chunk *chunk = &trace->chunks[c];

		if (timeline_ordinal(chunk->thread) != thread || (join->read && !join->read[c]))
			continue;
		if (chunk->sequence != next || chunk->lost_records != lost)
			break_off(&lane);
		next = chunk->sequence + 1;
		lost = chunk->lost_records;
		take_chunk(&lane, chunk);
	}
}

void timeline_range_fill(struct timeline_join *join)
{
	if (join->trace->range_count == 0)
		return;
	for (uint32_t t = 0; t < join->process->thread_count; t++)
		take_thread(join, (uint16_t)t);
	join->process->range_count = (uint32_t)join->range_count;
}

static const char *string_of(
	const struct timeline *timeline, const struct trace *trace, const struct timeline_bases *bases, uint32_t number)
{
	return trace_string(trace, number) ? timeline->strings[bases->strings + number] : NULL;
}

static void add_windows(struct timeline *timeline, const struct trace *trace, struct timeline_process *process)
{
	struct timeline_timed *windows =
		arena_alloc(&timeline->arena, trace->range_window_count, sizeof(*windows));

	process->operators = windows;
	for (size_t i = 0; i < trace->range_window_count; i++) {
		const int64_t ns = trace_ns(trace, trace->range_windows[i].ticks);
		struct timeline_timed *last =
			process->operators_count ? &windows[process->operators_count - 1] : NULL;
		const bool open = last && last->end_ns == INT64_MAX;

		if (trace->range_windows[i].recorded && !open)
			windows[process->operators_count++] = (struct timeline_timed){ns, INT64_MAX};
		else if (!trace->range_windows[i].recorded && open)
			last->end_ns = ns;
	}
}

void timeline_range_describe(struct timeline *timeline, struct timeline_join *join)
{
	const struct trace *trace = join->trace;
	struct timeline_bases *bases = &join->bases;

	bases->range_names = (uint32_t)timeline->range_name_count;
	for (size_t i = 0; i < trace->range_name_count; i++) {
		const struct trace_range_name *from = &trace->range_names[i];

		*MEM_PUSH(timeline->range_names, timeline->range_name_count, timeline->range_name_room) =
			(struct timeline_range_name){.scope = from->known ? from->scope : 0,
				.name = string_of(timeline, trace, bases, from->name),
				.domain = string_of(timeline, trace, bases, from->domain),
				.module = string_of(timeline, trace, bases, from->module),
				.line = string_of(timeline, trace, bases, from->line),
				.color = from->color};
	}
	if (trace->range_name_count == 0) /* item 0 is there all the same */
		*MEM_PUSH(timeline->range_names, timeline->range_name_count, timeline->range_name_room) =
			(struct timeline_range_name){.scope = 0};
	add_windows(timeline, trace, join->process);
}

void timeline_ranges_of(const struct timeline *timeline, const struct timeline_process *process,
	uint16_t thread, uint32_t *first, uint32_t *end)
{
	const struct timeline_range *ranges = timeline_ranges(timeline, process);

	for (int side = 0; side < 2; side++) {
		uint32_t low = 0, high = process->range_count;

		while (low < high) {
			const uint32_t middle = low + (high - low) / 2;

			if (ranges[middle].thread < thread + side)
				low = middle + 1;
			else
				high = middle;
		}
		*(side ? end : first) = low;
	}
}

uint32_t timeline_range_at(const struct timeline *timeline, const struct timeline_process *process,
	uint16_t thread, int64_t ns)
{
	const struct timeline_range *ranges = timeline_ranges(timeline, process);
	uint32_t first, low, high;

	timeline_ranges_of(timeline, process, thread, &low, &high);
	first = low;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (ranges[middle].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > first && ranges[low - 1].loose)
		low--;
	if (low == first)
		return TIMELINE_NO_RANGE;
	for (low--; ranges[low].end_ns <= ns; low = ranges[low].parent)
		if (ranges[low].parent == TIMELINE_NO_RANGE)
			return TIMELINE_NO_RANGE;
	return low;
}

bool timeline_operators_recorded(const struct timeline_process *process, int64_t begin_ns, int64_t end_ns)
{
	for (size_t i = 0; i < process->operators_count; i++)
		if (process->operators[i].begin_ns <= begin_ns && end_ns <= process->operators[i].end_ns)
			return true;
	return false;
}
