/*
 * Iterations by TensorFlow's operations that update variables. An update is all that is written before the
 * next operation of a forward pass: operations run as soon as their data are there, so that variables are
 * written while the backward pass is still under way. Each operation of a graph runs once in a step; of those
 * that write, the one that runs most often leads, of as many the first, whichever optimizer it is of: an
 * iteration ends with the last update before the next of its, and with what else its function runs, as
 * metrics.
 */
#include "framework/framework_tensorflow.h"
#include "iteration_find.h"
#include "timeline/constants.h"

#include <stdlib.h>

struct event {
	int64_t begin_ns, end_ns;
	uint32_t name; /* in timeline.range_names */
	enum tensorflow_part part;
};

struct events {
	struct event *items; /* by start */
	size_t count, room;
};

struct updates {
	const struct iteration_finder *finder;
	struct iteration_mark *marks;
	size_t count, room;
	uint32_t leading;
	bool is_open, leads, is_over; /* over: another function has been called */
	int64_t end_ns;
};

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The operations of all threads in order of time: the executor gives each to whichever is free. */
static void list_operations(
	const struct iteration_finder *finder, const struct tensorflow *tensorflow, struct events *events)
{
	const struct timeline_process *process = &finder->timeline->processes[finder->worker->process];
	const struct timeline_range *ranges = timeline_ranges(finder->timeline, process);

	for (uint32_t i = 0; i < process->range_count; i++) {
		const struct event event = {ranges[i].begin_ns, ranges[i].end_ns, ranges[i].name,
			tensorflow_part(tensorflow, ranges[i].name)};

		if (event.part != TENSORFLOW_NO_OPERATION && event.end_ns != INT64_MAX)
			*MEM_PUSH(events->items, events->count, events->room) = event;
	}
	if (events->count)
		qsort(events->items, events->count, sizeof(*events->items), compare_events);
}

/* Of the names that write, by number; UINT32_MAX: none does. */
static uint32_t leading_name(const struct iteration_finder *finder, const struct events *events)
{
	uint32_t *counts = mem_alloc(finder->timeline->range_name_count, sizeof(*counts));
	uint32_t leading = UINT32_MAX;

	for (size_t i = 0; i < events->count; i++)
		counts[events->items[i].name] += events->items[i].part == TENSORFLOW_UPDATES;
	for (size_t i = 0; i < events->count; i++) {
		const uint32_t name = events->items[i].name;

		if (counts[name] && (leading == UINT32_MAX || counts[name] > counts[leading]))
			leading = name;
	}
	if (leading != UINT32_MAX && counts[leading] < LEAST_STEPS)
		leading = UINT32_MAX;
	free(counts);
	return leading;
}

static void close_update(struct updates *updates)
{
	const struct worker *worker = updates->finder->worker;
	const struct timeline *timeline = updates->finder->timeline;

	if (updates->is_open)
		*MEM_PUSH(updates->marks, updates->count, updates->room) = (struct iteration_mark){
			worker_find(timeline, worker->calls, worker->call_count, updates->end_ns),
			updates->leads};
	updates->is_open = updates->leads = updates->is_over = false;
}

static void iteration_tensorflow_take(struct updates *updates, const struct event *event)
{
	if (event->part == TENSORFLOW_FORWARD)
		close_update(updates);
	updates->is_over |= event->part == TENSORFLOW_ENTERS && updates->is_open;
	if (event->part == TENSORFLOW_UPDATES) {
		updates->is_open = true;
		updates->is_over = false;
		updates->leads |= event->name == updates->leading;
	}
	if (updates->is_open && !updates->is_over)
		updates->end_ns = event->end_ns;
}

bool iteration_cut_tensorflow(struct iteration_finder *finder)
{
	struct framework *framework = iteration_framework(finder);
	const struct tensorflow *tensorflow = framework ? framework_tensorflow(framework) : NULL;
	struct events events = {.items = NULL};
	struct updates updates = {.finder = finder};

	if (!tensorflow)
		return false;
	list_operations(finder, tensorflow, &events);
	updates.leading = leading_name(finder, &events);
	for (size_t i = 0; i < events.count && updates.leading != UINT32_MAX; i++)
		iteration_tensorflow_take(&updates, &events.items[i]);
	close_update(&updates);
	iteration_cut_at_marks(finder, updates.marks, updates.count);
	free(events.items);
	free(updates.marks);
	if (finder->piece_count >= LEAST_STEPS)
		return true;
	finder->piece_count = 0;
	return false;
}
