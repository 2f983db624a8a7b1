/* Choosing what is read of a long run: see timeline_sample.h. Its chunks tell when they begin, so no record
 * need be looked at. */
#include "timeline_sample.h"
#include "timeline_merge.h"

#include <stdlib.h>

#define FIRST_SHARE 0.25 /* of what is read: the beginning */
#define LEAST_SLOTS 16384 /* of the other stretches: of fewer, iterations at both ends are too many */
#define MOST 16           /* other stretches */

/* Where a chunk begins: in time, and in the slots of all chunks in order of time. */
struct mark {
	int64_t begin_ns;
	uint64_t slots; /* of the chunk; then of those before it */
};

static int compare_marks(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* When the last call of the chunk that begins last begins: all of a short run is in the first chunks. */
static int64_t last_call_ns(const struct trace *trace)
{
	const struct trace_chunk *last = &trace->chunks[0];
	struct trace_cursor cursor;
	struct trace_record record;
	enum trace_step step;
	uint64_t ticks;

	for (size_t c = 1; c < trace->chunk_count; c++)
		if (trace->chunks[c].first_ticks > last->first_ticks)
			last = &trace->chunks[c];
	ticks = last->first_ticks;
	trace_walk(&cursor, trace, last);
	while ((step = trace_next_of(&cursor, PM_RECORD_CALL, &record)) != TRACE_END)
		if (step == TRACE_RECORD && record.begin > ticks)
			ticks = record.begin;
	return trace_ns(trace, ticks);
}

/* All chunks in order of time, and one mark more for their end. */
static struct mark *list_marks(const struct trace *trace)
{
	struct mark *marks = mem_alloc(trace->chunk_count + 1, sizeof(*marks));
	uint64_t before = 0;

	for (size_t c = 0; c < trace->chunk_count; c++)
		marks[c] = (struct mark){trace_ns(trace, trace->chunks[c].first_ticks), trace->chunks[c].slot_count};
	qsort(marks, trace->chunk_count, sizeof(*marks), compare_marks);
	for (size_t c = 0; c < trace->chunk_count; c++) {
		const uint64_t own = marks[c].slots;

		marks[c].slots = before;
		before += own;
	}
	marks[trace->chunk_count] = (struct mark){last_call_ns(trace), before};
	return marks;
}

/* The part of the way from one mark to another where the slot is. */
static int64_t between(const struct mark *from, const struct mark *to, uint64_t slot)
{
	double ns = (double)(to->begin_ns - from->begin_ns);

	if (to->slots == from->slots)
		return from->begin_ns;
	ns *= (double)(slot - from->slots) / (double)(to->slots - from->slots);
	return from->begin_ns + (ns < (double)TRACE_GREATEST_NS ? (int64_t)ns : TRACE_GREATEST_NS);
}

/* When the slot is written, as if a chunk's were spread evenly up to the next chunk. */
static int64_t time_of(const struct mark *marks, size_t count, uint64_t slot)
{
	size_t low = 0, high = count;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (marks[middle].slots <= slot)
			low = middle;
		else
			high = middle;
	}
	return between(&marks[low], &marks[low + 1], slot);
}

/*
 * Where device times were taken in parts of the run alone (struct pm_entry_device_window), a stretch is moved to
 * the end of the last part that ends after `from_ns` and before its own end: elsewhere no iteration would be
 * used.
 */
static void move_to_times(const struct trace *trace, int64_t from_ns, struct timeline_stretch *stretch)
{
	const int64_t length_ns = stretch->end_ns - stretch->begin_ns;

	for (size_t i = trace->device_window_count; i-- > 0;) {
		const struct trace_device_window *window = &trace->device_windows[i];
		const int64_t ns = trace_ns(trace, window->ticks);

		if (window->taken || ns > stretch->end_ns)
			continue;
		if (ns > from_ns) {
			stretch->begin_ns = ns - length_ns > from_ns ? ns - length_ns : from_ns;
			stretch->end_ns = ns;
		}
		return;
	}
}

static bool has_times(const struct trace *trace, int64_t ns)
{
	bool taken = true;

	for (size_t i = 0; i < trace->device_window_count; i++)
		if (trace_ns(trace, trace->device_windows[i].ticks) < ns || i == 0)
			taken = trace->device_windows[i].taken;
	return taken;
}

/*
 * The framework is asked in parts of the run (struct pm_entry_range_window). Moves a stretch so that it holds the end of
 * the last one, with device times, that ends after `from_ns` and before its own end, and a little more, in which the
 * next iteration begins. False: there is none.
 */
static bool move_to_operators(const struct trace *trace, int64_t from_ns, struct timeline_stretch *stretch)
{
	const int64_t length_ns = stretch->end_ns - stretch->begin_ns, more_ns = length_ns / 8;

	for (size_t i = trace->range_window_count; i-- > 0;) {
		const int64_t ns = trace_ns(trace, trace->range_windows[i].ticks);

		if (trace->range_windows[i].recorded || ns + more_ns > stretch->end_ns || !has_times(trace, ns))
			continue;
		if (ns <= from_ns)
			return false;
		stretch->end_ns = ns + more_ns;
		stretch->begin_ns = stretch->end_ns - length_ns > from_ns ? stretch->end_ns - length_ns : from_ns;
		return true;
	}
	return false;
}

/* The beginning is one stretch, and the rest so many: one of them is to be where the framework was asked. */
static size_t count_others(const struct trace *trace, uint64_t slots)
{
	const size_t most = slots / LEAST_SLOTS < MOST ? (size_t)(slots / LEAST_SLOTS) : MOST,
		     least = trace->range_window_count > 1 ? 2 : 1;

	return most > least ? most : least;
}

void timeline_sample_choose(const struct trace *trace, double share, struct timeline_stretches *stretches)
{
	struct mark *marks;
	uint64_t all, first, each;
	size_t others;
	bool asked = false;

	*stretches = (struct timeline_stretches){.count = 0};
	if (trace->chunk_count == 0)
		return;
	marks = list_marks(trace);
	all = marks[trace->chunk_count].slots;
	first = (uint64_t)(share * FIRST_SHARE * (double)all);
	each = (uint64_t)(share * (1 - FIRST_SHARE) * (double)all);
	others = count_others(trace, each);
	each /= others;
	stretches->items[0] =
		(struct timeline_stretch){INT64_MIN, time_of(marks, trace->chunk_count, first)};
	for (size_t i = 1; i <= others; i++) {
		const uint64_t end = first + (all - first) * i / others;

		stretches->items[i] = (struct timeline_stretch){
			time_of(marks, trace->chunk_count, end - each),
			i == others ? INT64_MAX : time_of(marks, trace->chunk_count, end)};
		if (i == others)
			break;
		if (!asked && move_to_operators(trace, stretches->items[i - 1].end_ns, &stretches->items[i]))
			asked = true;
		else
			move_to_times(trace, stretches->items[i - 1].end_ns, &stretches->items[i]);
	}
	stretches->count = others + 1;
	free(marks);
}

/* By thread, when its next chunk begins, after the one that is looked at; chunks are looked at from the end.
 */
struct next {
	int64_t *begin_ns;
	size_t count, room;
};

static int64_t exchange_next(struct next *next, uint32_t thread, int64_t begin_ns)
{
	int64_t end_ns;

	thread = timeline_ordinal(thread);
	while (next->count <= thread)
		*MEM_PUSH(next->begin_ns, next->count, next->room) = INT64_MAX;
	end_ns = next->begin_ns[thread];
	next->begin_ns[thread] = begin_ns;
	return end_ns;
}

uint64_t timeline_sample_mark(
	const struct trace *trace, const struct timeline_stretches *stretches, bool *read)
{
	struct next next = {0};
	uint64_t slots = 0;

	for (size_t c = trace->chunk_count; c-- > 0;) {
		const struct trace_chunk *chunk = &trace->chunks[c];
		const int64_t begin_ns = trace_ns(trace, chunk->first_ticks);
		const int64_t end_ns = exchange_next(&next, chunk->thread, begin_ns);

		read[c] = timeline_stretches_meet(stretches, begin_ns, end_ns);
		slots += read[c] ? chunk->slot_count : 0;
	}
	free(next.begin_ns);
	return slots;
}

void timeline_stretches_move(struct timeline_stretches *stretches, int64_t move_ns)
{
	for (size_t i = 0; i < stretches->count; i++) {
		struct timeline_stretch *item = &stretches->items[i];

		if (item->begin_ns != INT64_MIN)
			item->begin_ns += move_ns;
		if (item->end_ns != INT64_MAX)
			item->end_ns += move_ns;
	}
}
