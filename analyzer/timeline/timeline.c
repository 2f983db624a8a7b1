/* The canonical model's own rules: order, groups, values. Clocks are in timeline_clock.c. */
#include "timeline.h"
#include "base/parallel.h"
#include "timeline_clock.h"
#include "trace/trace.h"

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
	*MEM_PUSH(timeline->graphs, timeline->graph_count, timeline->graph_room) = (struct timeline_graph){0};
	*MEM_PUSH(timeline->functions, timeline->function_count, timeline->function_room) =
		(struct timeline_function){.library = "", .name = ""};
}

void timeline_free(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++) {
		if (timeline->processes[i].trace)
			trace_close(timeline->processes[i].trace);
		free(timeline->processes[i].trace);
	}
	free(timeline->processes);
	free(timeline->functions);
	free(timeline->operations);
	free(timeline->descriptors);
	free(timeline->strings);
	free(timeline->queues);
	free(timeline->communicators);
	free(timeline->graphs);
	free(timeline->windows);
	free(timeline->steps);
	free(timeline->frames);
	free(timeline->ranges);
	free(timeline->range_names);
	free(timeline->more);
	free(timeline->touches);
	free(timeline->calls);
	free(timeline->intervals);
	arena_free(&timeline->arena);
	memset(timeline, 0, sizeof(*timeline));
}

const struct timeline_device *timeline_device(const struct timeline_process *process, int32_t device)
{
	for (uint32_t i = 0; i < process->device_count; i++)
		if (process->devices[i].device == device)
			return &process->devices[i];
	return NULL;
}

void timeline_set_device(
	struct timeline *timeline, struct timeline_process *process, const struct timeline_device *device)
{
	struct timeline_device *devices =
		arena_alloc(&timeline->arena, process->device_count + 1, sizeof(*devices));
	uint32_t place = 0;

	if (process->device_count)
		memcpy(devices, process->devices, process->device_count * sizeof(*devices));
	while (place < process->device_count && devices[place].device != device->device)
		place++;
	process->device_count += place == process->device_count;
	devices[place] = *device;
	devices[place].name =
		device->name ? arena_text(&timeline->arena, device->name, strlen(device->name)) : "";
	process->devices = devices;
}

static int compare_places(const void *left, const void *right)
{
	const struct timeline_place *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* For bsearch: by address alone. */
static int compare_address(const void *left, const void *right)
{
	const struct timeline_place *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

const char *timeline_module_at(const struct timeline_process *process, uint64_t address)
{
	const struct timeline_place key = {.address = address}, *found;

	if (process->place_count == 0)
		return NULL;
	found = bsearch(&key, process->places, process->place_count, sizeof(key), compare_address);
	return found ? found->module : NULL;
}

void timeline_set_places(struct timeline_process *process, struct timeline_place *places, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(places, count, sizeof(*places), compare_places);
	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || places[i].address != places[i + 1].address)
			places[kept++] = places[i];
	process->places = places;
	process->place_count = kept;
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

enum pm_direction timeline_direction(
	const struct timeline *timeline, const struct timeline_operation *operation)
{
	uint64_t direction;

	return timeline_value(timeline, operation, "dir", &direction) && direction < PM_DIRECTION_COUNT
		       ? (enum pm_direction)direction
		       : PM_DIRECTION_COUNT;
}

bool timeline_copies_within(const struct timeline *timeline, const struct timeline_operation *operation)
{
	uint64_t device;

	return timeline_direction(timeline, operation) == PM_DIRECTION_D2D &&
	       !timeline_value(timeline, operation, "dst_device", &device);
}

const struct timeline_graph *timeline_graph(
	const struct timeline *timeline, const struct timeline_operation *operation)
{
	const struct timeline_function *function = &timeline->functions[operation->function];

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_GRAPH && operation->values[i])
			return &timeline->graphs[operation->values[i]];
	return NULL;
}

/* The first that belongs to the call or one after it. */
static size_t first_touch(const struct timeline *timeline, uint32_t call)
{
	size_t low = 0, high = timeline->touch_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->touches[middle].call < call)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct timeline_touch *timeline_touches(const struct timeline *timeline, uint32_t call, size_t *count)
{
	const size_t first = first_touch(timeline, call);

	*count = 0;
	while (first + *count < timeline->touch_count && timeline->touches[first + *count].call == call)
		++*count;
	return *count ? timeline->touches + first : timeline->touches; /* NULL without any */
}

const struct timeline_more *timeline_more(const struct timeline *timeline, uint32_t call)
{
	size_t low = 0, high = timeline->more_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline->more[middle].call < call)
			low = middle + 1;
		else
			high = middle;
	}
	return low < timeline->more_count && timeline->more[low].call == call ? &timeline->more[low] : NULL;
}

int64_t timeline_call_end(const struct timeline *timeline, const struct timeline_call *call)
{
	int64_t end_ns = call->interval_count ? INT64_MIN : call->end_ns;

	for (uint32_t i = 0; i < call->interval_count; i++)
		if (timeline->intervals[call->interval + i].end_ns > end_ns)
			end_ns = timeline->intervals[call->interval + i].end_ns;
	return end_ns;
}

size_t timeline_find(const struct timeline *timeline, const struct timeline_process *process, int64_t ns)
{
	size_t low = 0, high = process->call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline_call(timeline, process->first_call + middle).begin_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t timeline_recorded(const struct timeline *timeline, const struct timeline_process *process,
	int64_t begin_ns, int64_t end_ns)
{
	int64_t sum_ns = 0;

	if (process->window_count == 0)
		return end_ns > begin_ns ? end_ns - begin_ns : 0;
	for (uint32_t i = 0; i < process->window_count; i++) {
		const struct timeline_window *window = &timeline->windows[process->first_window + i];
		int64_t from_ns = window->begin_ns > begin_ns ? window->begin_ns : begin_ns;
		int64_t to_ns = window->end_ns < end_ns ? window->end_ns : end_ns;

		if (to_ns > from_ns)
			sum_ns += to_ns - from_ns;
	}
	return sum_ns;
}

bool timeline_is_launch(const struct timeline_function *function)
{
	return function->kind == PM_KIND_GRAPH && function->facts.role == PM_ROLE_LAUNCHES_GRAPH;
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

/* The stretch of a call's intervals on one queue; those of a group's end are in order of queue. */
static uint32_t intervals_of_queue(
	const struct timeline *timeline, const struct timeline_call *call, uint32_t queue, uint32_t *first)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < call->interval_count; i++) {
		if (timeline->intervals[call->interval + i].queue != queue)
			continue;
		if (count++ == 0)
			*first = call->interval + i;
	}
	return count;
}

/* Gives the members of one thread's group, of one queue, the interval that one of them has. */
static void share_interval(struct timeline *timeline, struct timeline_call *calls, const size_t *members,
	size_t count, const struct timeline_call *giver)
{
	for (size_t j = 0; j < count; j++) {
		struct timeline_call *taker = &calls[members[j]];
		const struct timeline_interval *had = &timeline->intervals[taker->interval], *given;
		uint32_t first = 0, given_count = intervals_of_queue(timeline, giver, taker->queue, &first);

		if (taker == giver || given_count == 0)
			continue;
		given = &timeline->intervals[first];
		if (taker->interval_count &&
			(had->begin_ns != given->begin_ns || had->end_ns != given->end_ns))
			continue;
		taker->interval = first;
		taker->interval_count = given_count;
	}
}

#define GROUP_MOST 4096 /* calls of a group that are looked at together */

struct group {
	size_t *members; /* the process's calls, by number in it */
	size_t count, room;
};

static void close_group(struct timeline *timeline, struct timeline_call *calls, struct group *group,
	const struct timeline_call *closing)
{
	for (size_t i = 0; i < group->count; i++)
		if (calls[group->members[i]].interval_count)
			share_interval(
				timeline, calls, group->members, group->count, &calls[group->members[i]]);
	/* The kernels of a group are launched in its end, where activities are known by their call. */
	if (closing && closing->interval_count && timeline_function(timeline, closing)->kind == PM_KIND_GROUP)
		share_interval(timeline, calls, group->members, group->count, closing);
	group->count = 0;
}

/*
 * Communication calls between a group's start and its end run as one piece of device work per queue.
 * Whichever of them the interval was written for, it becomes the interval of each.
 */
static void share_group_intervals(struct timeline *timeline, const struct timeline_process *process)
{
	struct timeline_call *calls = MEM_AT(timeline->calls, process->first_call);
	struct group *groups = mem_alloc(process->thread_count, sizeof(*groups));

	for (size_t i = 0; i < process->call_count; i++) {
		struct group *group = &groups[calls[i].thread];

		if (in_group(timeline, &calls[i]) && group->count < GROUP_MOST)
			*MEM_PUSH(group->members, group->count, group->room) = i;
		else if (group->count)
			close_group(timeline, calls, group, &calls[i]);
	}
	for (uint32_t t = 0; t < process->thread_count; t++) {
		close_group(timeline, calls, &groups[t], NULL);
		free(groups[t].members);
	}
	free(groups);
}

static int compare_processes(const void *left, const void *right)
{
	const struct timeline_process *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Processes share nothing that is written. */
static void settle_process(void *context, size_t index)
{
	struct timeline *timeline = context;
	const struct timeline_process *process = &timeline->processes[index];

	if (!process->recorder)
		timeline_settle_devices(timeline, process);
	share_group_intervals(timeline, process);
}

void timeline_settle(struct timeline *timeline)
{
	struct timeline_process *processes = timeline->processes;

	parallel_each(timeline->process_count, 0, settle_process, timeline);
	if (timeline->process_count)
		qsort(processes, timeline->process_count, sizeof(*processes), compare_processes);
	for (uint32_t i = 0; i < timeline->process_count; i++) {
		for (uint32_t j = 0; j < processes[i].operation_count; j++)
			timeline->operations[processes[i].first_operation + j].process = i;
		for (uint32_t j = 0; j < processes[i].queue_count; j++)
			timeline->queues[processes[i].first_queue + j].process = i;
	}
	timeline_settle_hosts(timeline);
}
