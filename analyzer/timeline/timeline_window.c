/*
 * When recording was on: the windows of a trace as stretches of time, without the time of which calls were
 * dropped or are not read.
 */
#include "timeline_join.h"
#include "trace/tally.h"

#include <stdlib.h>
#include <string.h>

/* Windows as stretches of time; one that never ends is open to the end, one that never began from the start.
 */
static void add_windows(struct timeline *timeline, const struct trace *trace)
{
	bool open = false;

	for (size_t i = 0; i < trace->window_count; i++) {
		const struct trace_window *from = &trace->windows[i];
		int64_t ns = trace_ns(trace, from->ticks);
		struct timeline_window *last;

		if (from->open || (i == 0 && !from->open)) {
			if (!open)
				*MEM_PUSH(timeline->windows, timeline->window_count, timeline->window_room) =
					(struct timeline_window){from->open ? ns : 0, INT64_MAX,
						from->open ? from->iteration : 0, 0};
			open = true;
		}
		if (from->open || !open)
			continue;
		last = &timeline->windows[timeline->window_count - 1];
		last->end_ns = ns > last->begin_ns ? ns : last->begin_ns;
		last->iteration_end = from->iteration;
		open = false;
	}
}

/* What lies in the time of calls that a ring has dropped was not recorded. */
static void cut_windows(
	struct timeline *timeline, const struct trace *trace, struct timeline_process *process)
{
	const struct pm_ring *ring = trace->ring ? &trace->ring->state : NULL;
	const size_t count = timeline->window_count;
	struct timeline_gap *gap = &process->gap;

	if (!ring || !ring->first_ticks)
		return;
	*gap = (struct timeline_gap){.call_count = ring->dropped_calls,
		.calls = arena_alloc(&timeline->arena, process->operation_count, sizeof(*gap->calls)),
		.begin_ns = trace_ns(trace, trace->ring->whole_ticks),
		.end_ns = trace_ns(trace, ring->last_ticks),
		.moving = trace->ring->moving};
	for (uint32_t op = 0; op < trace->operation_count; op++) {
		struct pm_statistics dropped;

		tally_dropped(trace, op, false, &dropped);
		gap->calls[op] = dropped.count;
	}
	if (count == process->first_window)
		*MEM_PUSH(timeline->windows, timeline->window_count, timeline->window_room) =
			(struct timeline_window){trace_ns(trace, trace->header.ticks), INT64_MAX, 0, 0};
	for (size_t i = process->first_window; i < timeline->window_count; i++) {
		struct timeline_window *window = &timeline->windows[i], behind = *window;

		if (window->end_ns <= gap->begin_ns || window->begin_ns >= gap->end_ns)
			continue;
		if (window->begin_ns >= gap->begin_ns) {
			window->begin_ns = gap->end_ns < window->end_ns ? gap->end_ns : window->end_ns;
			window->iteration = 0;
			continue;
		}
		window->end_ns = gap->begin_ns;
		window->iteration_end = 0;
		if (behind.end_ns <= gap->end_ns)
			continue;
		behind.begin_ns = gap->end_ns;
		behind.iteration = 0;
		(void)MEM_PUSH(timeline->windows, timeline->window_count, timeline->window_room);
		memmove(&timeline->windows[i + 2], &timeline->windows[i + 1],
			(timeline->window_count - i - 2) * sizeof(behind));
		timeline->windows[i + 1] = behind;
		break;
	}
}

static void add_part(struct timeline *timeline, const struct timeline_window *window,
	const struct timeline_stretch *stretch)
{
	struct timeline_window part = *window;

	if (stretch->begin_ns > part.begin_ns) {
		part.begin_ns = stretch->begin_ns;
		part.iteration = 0;
	}
	if (stretch->end_ns < part.end_ns) {
		part.end_ns = stretch->end_ns;
		part.iteration_end = 0;
	}
	if (part.begin_ns < part.end_ns)
		*MEM_PUSH(timeline->windows, timeline->window_count, timeline->window_room) = part;
}

static void add_gap(struct timeline *timeline, const struct timeline_stretches *stretches,
	struct timeline_process *process)
{
	struct timeline_gap *gap = &process->gap;
	struct arena *arena = &timeline->arena;
	const struct timeline_stretch *first = &stretches->items[0], *last = first + stretches->count - 1;

	*gap = (struct timeline_gap){.unread = true,
		.pieces = arena_alloc(arena, stretches->count + 1, sizeof(*gap->pieces)),
		.piece_count = stretches->count + 1,
		.calls = arena_alloc(arena, process->operation_count, sizeof(*gap->calls)),
		.begin_ns = first->end_ns,
		.end_ns = last > first ? last->begin_ns : first->end_ns};
	for (size_t i = 0; i < gap->piece_count; i++) {
		gap->pieces[i].end_ns =
			i < stretches->count ? stretches->items[i].begin_ns : TRACE_GREATEST_NS;
		gap->pieces[i].calls = arena_alloc(arena, process->operation_count, sizeof(*gap->calls));
	}
}

/* What lies between the stretches that are read is as if it had not been recorded. */
static void keep_stretches(struct timeline *timeline, const struct trace *trace,
	const struct timeline_stretches *stretches, struct timeline_process *process)
{
	const size_t first = process->first_window, count = timeline->window_count - first;
	const struct timeline_window whole = {trace_ns(trace, trace->header.ticks), INT64_MAX, 0, 0};
	struct timeline_window *windows = mem_alloc(count + 1, sizeof(*windows));

	windows[0] = whole;
	if (count)
		memcpy(windows, timeline->windows + first, count * sizeof(*windows));
	timeline->window_count = first;
	for (size_t w = 0; w < (count ? count : 1); w++)
		for (size_t i = 0; i < stretches->count; i++)
			add_part(timeline, &windows[w], &stretches->items[i]);
	free(windows);
	add_gap(timeline, stretches, process);
}

static void add_timed(struct timeline *timeline, const struct trace *trace, struct timeline_process *process)
{
	int64_t begin_ns = INT64_MIN;
	bool taken = true;

	if (trace->device_window_count == 0)
		return;
	process->timed =
		arena_alloc(&timeline->arena, trace->device_window_count + 1, sizeof(*process->timed));
	process->timed_share = trace->device_windows[0].share;
	for (size_t i = 0; i < trace->device_window_count; i++) {
		const struct trace_device_window *window = &trace->device_windows[i];
		const int64_t ns = trace_ns(trace, window->ticks);

		if (window->taken == taken)
			continue;
		if (taken)
			process->timed[process->timed_count++] = (struct timeline_timed){begin_ns, ns};
		taken = window->taken;
		begin_ns = ns;
	}
	if (taken && process->timed_count)
		process->timed[process->timed_count++] = (struct timeline_timed){begin_ns, INT64_MAX};
}

void timeline_add_windows(struct timeline *timeline, const struct trace *trace,
	const struct timeline_stretches *stretches, struct timeline_process *process)
{
	process->first_window = (uint32_t)timeline->window_count;
	add_windows(timeline, trace);
	add_timed(timeline, trace, process);
	cut_windows(timeline, trace, process);
	if (stretches->count > 0)
		keep_stretches(timeline, trace, stretches, process);
	process->window_count = (uint32_t)timeline->window_count - process->first_window;
}
