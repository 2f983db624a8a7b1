/* The canonical model's own rules: order, groups, values. Clocks are in timeline_clock.c. */
#include "timeline.h"
#include "timeline_clock.h"

#include <stdlib.h>
#include <string.h>

void timeline_init(struct timeline *timeline)
{
	memset(timeline, 0, sizeof(*timeline));
	/* Also without any call there are arrays to point into. */
	timeline->calls = mem_grow(NULL, 0, &timeline->call_room, sizeof(*timeline->calls));
	timeline->intervals = mem_grow(NULL, 0, &timeline->interval_room, sizeof(*timeline->intervals));
	*MEM_PUSH(timeline->operations, timeline->operation_count, timeline->operation_room) =
		(struct timeline_operation){0};
	*MEM_PUSH(timeline->descriptors, timeline->descriptor_count, timeline->descriptor_room) =
		(struct timeline_descriptor){0};
	*MEM_PUSH(timeline->strings, timeline->string_count, timeline->string_room) = "";
	*MEM_PUSH(timeline->queues, timeline->queue_count, timeline->queue_room) = (struct timeline_queue){0};
	*MEM_PUSH(timeline->communicators, timeline->communicator_count, timeline->communicator_room) =
		(struct timeline_communicator){0};
	*MEM_PUSH(timeline->functions, timeline->function_count, timeline->function_room) =
		(struct timeline_function){.library = "", .name = ""};
}

void timeline_free(struct timeline *timeline)
{
	free(timeline->processes);
	free(timeline->functions);
	free(timeline->operations);
	free(timeline->descriptors);
	free(timeline->strings);
	free(timeline->queues);
	free(timeline->communicators);
	free(timeline->calls);
	free(timeline->intervals);
	arena_free(&timeline->arena);
	memset(timeline, 0, sizeof(*timeline));
}

bool timeline_value(const struct timeline *timeline, const struct timeline_operation *operation,
	const char *label, uint64_t *value)
{
	const struct timeline_function *function = &timeline->functions[operation->function];

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (strcmp(function->labels[i].name, label) == 0) {
			*value = operation->values[i];
			return true;
		}
	return false;
}

size_t timeline_find(const struct timeline *timeline, const struct timeline_process *process, int64_t ns)
{
	const struct timeline_call *calls = timeline->calls + process->first_call;
	size_t low = 0, high = process->call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].begin_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool timeline_is_device_kind(enum pm_kind kind)
{
	switch (kind) {
	case PM_KIND_COPY:
	case PM_KIND_SET:
	case PM_KIND_FORWARD:
	case PM_KIND_BACKWARD:
	case PM_KIND_COMPUTE:
	case PM_KIND_LAUNCH:
	case PM_KIND_SEARCH:
	case PM_KIND_COMM:
	case PM_KIND_GRAPH:
		return true;
	default:
		return false;
	}
}

/* Is the call a communication call inside a group? */
static bool in_group(const struct timeline *timeline, const struct timeline_call *call)
{
	return (call->flags & PM_FLAG_GROUP) && timeline_function(timeline, call)->kind == PM_KIND_COMM;
}

/* Gives the calls [first, end) of one thread's group, of one queue, the interval that one of them has. */
static void share_interval(
	struct timeline *timeline, struct timeline_call *calls, const size_t *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct timeline_call *giver = &calls[members[i]];

		if (!giver->interval_count)
			continue;
		for (size_t j = 0; j < count; j++) {
			struct timeline_call *taker = &calls[members[j]];
			const struct timeline_interval *had = &timeline->intervals[taker->interval];
			const struct timeline_interval *given = &timeline->intervals[giver->interval];

			if (taker->queue != giver->queue || taker == giver)
				continue;
			if (taker->interval_count &&
				(had->begin_ns != given->begin_ns || had->end_ns != given->end_ns))
				continue;
			taker->interval = giver->interval;
			taker->interval_count = giver->interval_count;
		}
	}
}

#define GROUP_MOST 4096 /* calls of a group that are looked at together */

/*
 * Communication calls between a group's begin and its end run as one piece of device work per queue.
 * Whichever of them the interval was written for, it becomes the interval of each.
 */
static void share_group_intervals(struct timeline *timeline, const struct timeline_process *process)
{
	struct timeline_call *calls = timeline->calls + process->first_call;
	size_t *members = mem_alloc(GROUP_MOST, sizeof(*members));

	for (uint32_t t = 0; t < process->thread_count; t++) {
		size_t count = 0;

		for (size_t i = 0; i < process->call_count; i++) {
			if (calls[i].thread != process->first_thread + t)
				continue;
			if (in_group(timeline, &calls[i]) && count < GROUP_MOST) {
				members[count++] = i;
				continue;
			}
			share_interval(timeline, calls, members, count);
			count = 0;
		}
		share_interval(timeline, calls, members, count);
	}
	free(members);
}

static int compare_processes(const void *left, const void *right)
{
	const struct timeline_process *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->path, b->path);
}

void timeline_settle(struct timeline *timeline)
{
	struct timeline_process *processes = timeline->processes;

	for (size_t i = 0; i < timeline->process_count; i++)
		share_group_intervals(timeline, &processes[i]);
	if (timeline->process_count)
		qsort(processes, timeline->process_count, sizeof(*processes), compare_processes);
	for (uint32_t i = 0; i < timeline->process_count; i++) {
		for (uint32_t j = 0; j < processes[i].operation_count; j++)
			timeline->operations[processes[i].first_operation + j].process = i;
		for (uint32_t j = 0; j < processes[i].queue_count; j++)
			timeline->queues[processes[i].first_queue + j].process = i;
	}
	timeline_settle_clocks(timeline);
}
