/*
 * One axis of time. Constants are sought, not rates: the readers have already turned ticks into ns.
 *
 * A device interval begins with a mark that is put into the queue before the call is made, so what is sure is
 * that it lies after the thread's call before. Each rule of causality bounds a constant from one side. If
 * zero (what the data says) is inside the bounds, nothing moves; else the nearest bound is taken.
 */
#include "timeline_clock.h"
#include "timeline_range.h"
#include "collective.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#define FAR_NS (INT64_MAX / 16)

struct bounds {
	int64_t low_ns, high_ns;
};

static int64_t nearest_to_zero(const struct bounds *bounds)
{
	if (bounds->low_ns > bounds->high_ns) /* they contradict each other: the middle hurts both least */
		return bounds->low_ns / 2 + bounds->high_ns / 2;
	if (bounds->low_ns > 0)
		return bounds->low_ns;
	return bounds->high_ns < 0 ? bounds->high_ns : 0;
}

struct device {
	int32_t number;
	struct bounds bounds;
};

/* The devices that the process's queues belong to, each once. */
static struct device *list_devices(
	const struct timeline *timeline, const struct timeline_process *process, size_t *count)
{
	struct device *devices = mem_alloc(process->queue_count, sizeof(*devices));

	*count = 0;
	for (uint32_t i = 1; i < process->queue_count; i++) {
		int32_t number = timeline->queues[process->first_queue + i].device;
		size_t at = 0;

		while (at < *count && devices[at].number != number)
			at++;
		if (at == *count)
			devices[(*count)++] = (struct device){number, {-FAR_NS, FAR_NS}};
	}
	return devices;
}

static struct device *find_device(struct device *devices, size_t count, int32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (devices[i].number == number)
			return &devices[i];
	return NULL;
}

/* The marks in front of work may have been passed while the call was still being prepared: cut to the call.
 */
static void move_intervals(struct timeline *timeline, const struct timeline_call *call,
	struct device *devices, size_t device_count)
{
	for (uint32_t i = 0; i < call->interval_count; i++) {
		struct timeline_interval *interval = &timeline->intervals[call->interval + i];
		const struct device *device =
			find_device(devices, device_count, timeline->queues[interval->queue].device);
		int64_t move_ns = device ? nearest_to_zero(&device->bounds) : 0;

		interval->begin_ns += move_ns;
		interval->end_ns += move_ns;
		if (interval->begin_ns < call->begin_ns)
			interval->begin_ns =
				call->begin_ns < interval->end_ns ? call->begin_ns : interval->end_ns;
	}
}

/* What a call's end says of the device's work: by operation. */
enum wait {
	WAIT_NONE,
	WAIT_QUEUE,  /* all that was given to its queue is done */
	WAIT_DEVICE, /* likewise; without a queue, all that was given to the device */
};

static bool waits_for_device(enum pm_role role)
{
	return role == PM_ROLE_WAITS_FOR_DEVICE || role == PM_ROLE_RESETS_DEVICE;
}

static uint8_t *list_waits(const struct timeline *timeline, const struct timeline_process *process)
{
	uint8_t *waits = mem_alloc(process->operation_count, sizeof(*waits));

	for (uint32_t i = 0; i < process->operation_count; i++) {
		const struct timeline_operation *operation =
			&timeline->operations[process->first_operation + i];
		const struct timeline_function *function = &timeline->functions[operation->function];

		if (trace_waits(function->kind, function->facts.role))
			waits[i] = waits_for_device(function->facts.role) ? WAIT_DEVICE : WAIT_QUEUE;
	}
	return waits;
}

/* While the calls are gone through. */
struct settling {
	const struct timeline *timeline;
	const struct timeline_process *process;
	struct device *devices;
	size_t device_count;
	struct device **by_queue; /* of the process; NULL: of none */
	int64_t *latest_ns;       /* by queue: end of work so far */
	bool early;               /* work begins before its call */
};

static void bound_by_intervals(struct settling *settling, const struct timeline_call *call, int64_t least_ns)
{
	const struct timeline_interval *intervals = MEM_AT(settling->timeline->intervals, call->interval);

	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval *interval = &intervals[i];
		uint32_t queue = interval->queue ? interval->queue - settling->process->first_queue : 0;
		struct device *device = settling->by_queue[queue];

		settling->early |= interval->begin_ns < call->begin_ns;
		if (!device)
			continue;
		if (least_ns && least_ns - interval->begin_ns > device->bounds.low_ns)
			device->bounds.low_ns = least_ns - interval->begin_ns;
		if (interval->end_ns > settling->latest_ns[queue])
			settling->latest_ns[queue] = interval->end_ns;
	}
}

/* Without a queue it waits for the device that is current, known only where there is one. */
static void bound_by_wait(struct settling *settling, const struct timeline_call *call, enum wait wait)
{
	const struct timeline_process *process = settling->process;
	uint32_t first = 1, end = process->queue_count;

	if (call->queue) {
		first = call->queue - process->first_queue;
		end = first + 1;
	} else if (settling->device_count != 1 || wait != WAIT_DEVICE) {
		return;
	}
	for (uint32_t queue = first; queue < end; queue++) {
		struct device *device = settling->by_queue[queue];
		int64_t latest_ns = settling->latest_ns[queue];

		if (device && latest_ns && call->end_ns - latest_ns < device->bounds.high_ns)
			device->bounds.high_ns = call->end_ns - latest_ns;
	}
}

void timeline_settle_devices(struct timeline *timeline, const struct timeline_process *process)
{
	const struct timeline_call *calls = MEM_AT(timeline->calls, process->first_call);
	struct settling settling = {.timeline = timeline, .process = process};
	uint8_t *waits = list_waits(timeline, process);
	/* by thread: end of its last call, and of the one before that */
	int64_t(*before_ns)[2] = mem_alloc(process->thread_count, sizeof(*before_ns));
	bool moved = false;

	settling.devices = list_devices(timeline, process, &settling.device_count);
	settling.by_queue = mem_alloc(process->queue_count, sizeof(*settling.by_queue));
	settling.latest_ns = mem_alloc(process->queue_count, sizeof(*settling.latest_ns));
	for (uint32_t i = 0; i < process->queue_count; i++)
		settling.by_queue[i] = find_device(settling.devices, settling.device_count,
			timeline->queues[i ? process->first_queue + i : 0].device);
	for (size_t i = 0; i < process->call_count; i++) {
		const struct timeline_call *call = &calls[i];
		bool replayed = call->flags & TIMELINE_FLAG_REPLAYED;
		int64_t *thread_ns = before_ns[call->thread];
		enum wait wait = (enum wait)waits[call->operation - process->first_operation];

		if (call->interval_count)
			bound_by_intervals(&settling, call, thread_ns[replayed]);
		if (replayed)
			continue;
		thread_ns[1] = thread_ns[0];
		thread_ns[0] = call->end_ns;
		if (wait != WAIT_NONE && call->result == 0)
			bound_by_wait(&settling, call, wait);
	}
	for (size_t i = 0; i < settling.device_count; i++)
		moved |= nearest_to_zero(&settling.devices[i].bounds) != 0;
	for (size_t i = 0; i < process->call_count && (moved || settling.early); i++)
		if (calls[i].interval_count)
			move_intervals(timeline, &calls[i], settling.devices, settling.device_count);
	free(settling.devices);
	free(settling.by_queue);
	free(settling.latest_ns);
	free(before_ns);
	free(waits);
}

void timeline_move(struct timeline *timeline, struct timeline_process *process, int64_t move_ns)
{
	process->moved_ns += move_ns;
	for (size_t i = 0; i < process->call_count; i++) {
		timeline->calls[process->first_call + i].begin_ns += move_ns;
		timeline->calls[process->first_call + i].end_ns += move_ns;
	}
	for (size_t i = 0; i < process->interval_count; i++) {
		timeline->intervals[process->first_interval + i].begin_ns += move_ns;
		timeline->intervals[process->first_interval + i].end_ns += move_ns;
	}
	for (size_t i = 0; i < process->gap.piece_count; i++)
		if (process->gap.pieces[i].end_ns != INT64_MIN)
			process->gap.pieces[i].end_ns += move_ns;
	for (uint32_t i = 0; i < process->window_count; i++) {
		struct timeline_window *window = &timeline->windows[process->first_window + i];

		window->begin_ns += move_ns;
		if (window->end_ns != INT64_MAX)
			window->end_ns += move_ns;
	}
	for (size_t i = 0; i < process->timed_count; i++) {
		if (process->timed[i].begin_ns != INT64_MIN)
			process->timed[i].begin_ns += move_ns;
		if (process->timed[i].end_ns != INT64_MAX)
			process->timed[i].end_ns += move_ns;
	}
	for (uint32_t i = 0; i < process->range_count; i++) {
		struct timeline_range *range = &timeline->ranges[process->first_range + i];

		range->begin_ns += move_ns;
		if (range->end_ns != INT64_MAX)
			range->end_ns += move_ns;
	}
	for (size_t i = 0; i < process->operators_count; i++) {
		process->operators[i].begin_ns += move_ns;
		if (process->operators[i].end_ns != INT64_MAX)
			process->operators[i].end_ns += move_ns;
	}
	for (size_t i = 0; i < process->frame_count; i++) {
		timeline->frames[process->first_frame + i].begin_ns += move_ns;
		timeline->frames[process->first_frame + i].end_ns += move_ns;
	}
	for (uint32_t i = 0; i < process->step_count; i++) {
		timeline->steps[process->first_step + i].begin_ns += move_ns;
		timeline->steps[process->first_step + i].end_ns += move_ns;
	}
}

/* The bounds of what must be added to host `b`'s times so that its collectives with host `a` are possible. */
static struct bounds host_bounds(
	const struct timeline *timeline, const struct collective_list *list, const char *a, const char *b)
{
	struct bounds bounds = {-FAR_NS, FAR_NS};

	for (size_t i = 0; i < list->count; i += list->items[i].member_count) {
		const struct collective *members = &list->items[i];

		for (size_t j = 0; j < members->member_count; j++)
			for (size_t k = 0; k < members->member_count; k++) {
				const char *first = timeline->processes[members[j].process].host;
				const char *second = timeline->processes[members[k].process].host;

				if (strcmp(first, a) != 0 || strcmp(second, b) != 0)
					continue;
				if (members[j].begin_ns - members[k].end_ns > bounds.low_ns)
					bounds.low_ns = members[j].begin_ns - members[k].end_ns;
				if (members[j].end_ns - members[k].begin_ns < bounds.high_ns)
					bounds.high_ns = members[j].end_ns - members[k].begin_ns;
			}
	}
	return bounds;
}

static void settle_hosts(struct timeline *timeline)
{
	const struct timeline_process *base = &timeline->processes[0];
	struct collective_list list;

	for (size_t i = 1; i < timeline->process_count; i++) {
		struct timeline_process *process = &timeline->processes[i];

		if (strcmp(process->host, base->host) != 0)
			timeline_move(timeline, process, process->real_offset_ns - base->real_offset_ns);
	}
	collective_match(timeline, &list);
	for (size_t i = 1; i < timeline->process_count; i++) {
		const char *host = timeline->processes[i].host;
		struct bounds bounds;
		int64_t move_ns;
		bool first = strcmp(host, base->host) != 0;

		for (size_t j = 1; j < i && first; j++)
			first = strcmp(host, timeline->processes[j].host) != 0;
		if (!first)
			continue;
		bounds = host_bounds(timeline, &list, base->host, host);
		if (bounds.low_ns - bounds.high_ns > 0 &&
			(bounds.low_ns - bounds.high_ns) / 2 > timeline->residual_ns)
			timeline->residual_ns = (bounds.low_ns - bounds.high_ns) / 2;
		move_ns = nearest_to_zero(&bounds);
		for (size_t j = i; j < timeline->process_count && move_ns; j++)
			if (strcmp(timeline->processes[j].host, host) == 0)
				timeline_move(timeline, &timeline->processes[j], move_ns);
	}
	collective_free(&list);
}

void timeline_settle_hosts(struct timeline *timeline)
{
	timeline->host_count = 0;
	for (size_t i = 0; i < timeline->process_count; i++) {
		bool first = true;

		for (size_t j = 0; j < i && first; j++)
			first = strcmp(timeline->processes[i].host, timeline->processes[j].host) != 0;
		timeline->host_count += first;
	}
	if (timeline->host_count > 1)
		settle_hosts(timeline);
}
