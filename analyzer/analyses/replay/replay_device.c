/* The devices' side of a run's tasks: queues, events, and the meetings of ranks. See replay_make.h. */
#include "reconstruct/exchange.h"
#include "replay_make.h"
#include "timeline/thresholds.h"

#include <stdlib.h>
#include <string.h>

static int64_t end_of(const struct make *make, uint32_t task)
{
	return task == REPLAY_NONE ? INT64_MIN : make->job->replay.tasks[task].end_ns;
}

/* The event at an address, as it was recorded last; NULL: it was not. */
static struct make_event *find_event(const struct make *make, uint64_t address)
{
	uint64_t hash = mem_hash(MEM_HASH_START, address);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&make->event_lookup, hash, &at)) != LOOKUP_NONE;)
		if (make->events[i].address == address)
			return &make->events[i];
	return NULL;
}

static void record_event(struct make *make, uint64_t address, uint32_t task)
{
	struct make_event *event = find_event(make, address);

	if (!event) {
		lookup_add(
			&make->event_lookup, mem_hash(MEM_HASH_START, address), (uint32_t)make->event_count);
		event = MEM_PUSH(make->events, make->event_count, make->event_room);
	}
	*event = (struct make_event){address, task};
}

/* The work that the event, as it was recorded last, stands for. */
static uint32_t event_task(const struct make *make, const struct timeline_call *call)
{
	const struct make_event *event;
	uint64_t address;

	if (!timeline_value(
		    make->timeline, &make->timeline->operations[call->operation], "event", &address) ||
		!address)
		return REPLAY_NONE;
	event = find_event(make, address);
	return event ? event->task : REPLAY_NONE;
}

void make_order(struct make *make, const struct timeline_call *call, enum pm_role role)
{
	struct make_queue *queue = &make->queues[call->queue];
	uint64_t address;
	uint32_t task;

	if (role == PM_ROLE_STREAM_WAITS) {
		task = event_task(make, call);
		if (task != REPLAY_NONE && task != queue->last) {
			*MEM_PUSH(queue->waits.items, queue->waits.count, queue->waits.room) = task;
			make->job->recorded_waits++;
		}
	} else if (role == PM_ROLE_RECORDS_EVENT &&
		   timeline_value(
			   make->timeline, &make->timeline->operations[call->operation], "event", &address) &&
		   address) {
		record_event(make, address, queue->last);
	}
}

/* The work of the queue that ended last before then, among what it had been given so far. */
static uint32_t ended_before(const struct make *make, const struct make_queue *queue, int64_t ns)
{
	size_t low = 0, high = queue->history.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (end_of(make, queue->history.items[middle]) <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? queue->history.items[low - 1] : REPLAY_NONE;
}

/* It begins just when other work of its device ends, later than all that is known to hold it up. */
static void infer_wait(struct make *make, uint32_t task, uint32_t number, int64_t known_ns)
{
	const struct timeline_queue *queues = make->timeline->queues;
	int64_t begin_ns = make->job->replay.tasks[task].begin_ns;
	int64_t since_ns = begin_ns - (make->recorded ? REPLAY_AT_ONCE_NS : REPLAY_SOON_NS);
	uint32_t found = REPLAY_NONE;

	if (since_ns > known_ns)
		known_ns = since_ns;
	for (uint32_t i = 0; i < make->process->queue_count; i++) {
		uint32_t other = make->process->first_queue + i, candidate;

		if (other == number || queues[other].device != queues[number].device)
			continue;
		candidate = ended_before(make, &make->queues[other], begin_ns);
		if (end_of(make, candidate) > known_ns) {
			known_ns = end_of(make, candidate);
			found = candidate;
		}
	}
	if (found == REPLAY_NONE)
		return;
	make_link(make, task, found);
	make->job->inferred_waits++;
}

static void wait_for(struct make *make, uint32_t task, uint32_t before, int64_t *known_ns)
{
	make_link(make, task, before);
	if (end_of(make, before) > *known_ns)
		*known_ns = end_of(make, before);
}

static void follow_queue(struct make *make, uint32_t number, uint32_t first, uint32_t last, uint32_t host)
{
	struct make_queue *queue = &make->queues[number];
	int64_t known_ns = INT64_MIN;

	wait_for(make, first, host, &known_ns);
	wait_for(make, first, queue->last, &known_ns);
	for (size_t i = 0; i < queue->waits.count; i++)
		wait_for(make, first, queue->waits.items[i], &known_ns);
	queue->waits.count = 0;
	infer_wait(make, first, number, known_ns);
	if (end_of(make, last) >= end_of(make, queue->last))
		*MEM_PUSH(queue->history.items, queue->history.count, queue->history.room) = last;
	queue->last = last;
}

void make_parts(struct make *make, const struct make_worker *worker, const struct layer_role *role,
	uint32_t task, double weight)
{
	const struct layer_list *layers = &worker->worker->layers;
	struct replay_job *job = make->job;

	for (uint32_t i = 0; i < role->part_count; i++) {
		const struct layer_part *part = &layers->parts[role->first_part + i];
		struct replay_part *own;

		if (worker->layers[part->layer] == REPLAY_NONE)
			continue;
		own = MEM_PUSH(job->parts, job->part_count, job->part_room);
		*own = (struct replay_part){
			worker->layers[part->layer], part->share * weight, job->works[task].part};
		job->works[task].part = (uint32_t)(job->part_count - 1);
	}
}

static double weight_of(const struct make *make, const struct timeline_call *call)
{
	uint64_t bytes = 0;

	timeline_value(make->timeline, &make->timeline->operations[call->operation], "bytes", &bytes);
	return bytes > 0 && bytes < (uint64_t)1 << 46 ? (double)bytes : 1;
}

void make_device(struct make *make, struct make_worker *worker, uint32_t call, const struct layer_role *role,
	uint32_t host)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	const struct timeline_interval *interval = TIMELINE_INTERVAL(make->timeline, item->interval);
	bool communicates = make->job->analysis->model.flows[item->operation].kind == PM_KIND_COMM;
	uint32_t queue = interval->queue ? interval->queue : item->queue;
	uint32_t task, first;

	if (make->by_interval[item->interval]) {
		/* Calls of one group are one piece of work, which the last of them gives to the device. */
		task = make->by_interval[item->interval] - 1;
		first = make->arrivals[item->interval] ? make->arrivals[item->interval] - 1 : task;
		make->by_call[call] = task + 1;
		make_link(make, first, host);
		make_parts(make, worker, role, task, weight_of(make, item));
		return;
	}
	first = REPLAY_NONE;
	if (communicates) {
		first = make_task(make, REPLAY_ARRIVAL, role->phase, worker, call, interval->begin_ns,
			interval->begin_ns);
		make->arrivals[item->interval] = first + 1;
	}
	task = make_task(make, communicates ? REPLAY_TRANSFER : REPLAY_DEVICE, role->phase, worker, call,
		interval->begin_ns, timeline_call_end(make->timeline, item));
	if (communicates)
		make_link(make, task, first);
	else
		first = task;
	make->by_interval[item->interval] = task + 1;
	make->by_call[call] = task + 1;
	make_parts(make, worker, role, task, communicates ? weight_of(make, item) : 1);
	follow_queue(make, queue, first, task, host);
	if (end_of(make, task) > end_of(make, worker->last_device))
		worker->last_device = task;
}

/* Of what the queue had been given, the last that ended by then: another thread may have given it more. */
static void wait_for_queue(struct make *make, uint32_t task, uint32_t queue, int64_t until_ns)
{
	make_link(make, task, ended_before(make, &make->queues[queue], until_ns));
}

uint32_t make_resume(struct make *make, const struct make_worker *worker, uint32_t call, uint32_t before)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	const struct timeline_queue *queue = &make->timeline->queues[item->queue];
	const enum pm_role role = timeline_function(make->timeline, item)->facts.role;
	uint32_t task =
		make_task(make, REPLAY_RESUME, PHASE_IDLE_SYNC, worker, call, item->end_ns, item->end_ns);

	make_link(make, task, before);
	if (make->by_call[call]) {
		make_link(make, task, make->by_call[call] - 1);
	} else if (role == PM_ROLE_WAITS_FOR_EVENT || role == PM_ROLE_QUERIES_EVENT) {
		make_link(make, task, event_task(make, item));
	} else if (item->queue && queue->stream) {
		wait_for_queue(make, task, item->queue, item->end_ns);
	} else {
		for (uint32_t i = 0; i < make->process->queue_count; i++)
			if (!item->queue || make->timeline->queues[make->process->first_queue + i].device ==
						    queue->device)
				wait_for_queue(make, task, make->process->first_queue + i, item->end_ns);
	}
	return task;
}

/* The part of the communication before `ns` becomes waiting. */
static void begin_transfer(struct make *make, uint32_t task, int64_t ns)
{
	struct replay_task *item = &make->job->replay.tasks[task];

	if (ns > item->end_ns)
		ns = item->end_ns;
	if (ns > item->begin_ns) {
		item->begin_ns = ns;
		item->duration_ns = item->end_ns - ns;
	}
}

static uint32_t arrival_of(const struct make *make, size_t call)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);

	return item->interval_count ? make->arrivals[item->interval] : 0;
}

/* A meeting of the calls that are in the job and have arrived by themselves; `last_ns`: the last of all. */
static void meet(struct make *make, const uint32_t *calls, uint32_t count, int64_t last_ns)
{
	uint32_t present = 0, meeting;

	for (uint32_t i = 0; i < count; i++)
		present += arrival_of(make, calls[i]) != 0;
	for (uint32_t i = 0; i < count; i++)
		if (arrival_of(make, calls[i]))
			begin_transfer(make, make->by_call[calls[i]] - 1, last_ns);
	if (present < 2)
		return;
	meeting = make_task(make, REPLAY_MEETING, PHASE_COMMUNICATION, NULL, calls[0], last_ns, last_ns);
	for (uint32_t i = 0; i < count; i++)
		if (arrival_of(make, calls[i])) {
			make_link(make, meeting, arrival_of(make, calls[i]) - 1);
			make_link(make, make->by_call[calls[i]] - 1, meeting);
		}
	make->job->meeting_count++;
}

void make_meetings(struct make *make)
{
	const struct collective_list *list = &make->job->analysis->collectives;
	uint32_t *calls = mem_alloc(make->job->analysis->model.worker_count + 1, sizeof(*calls));
	size_t room = make->job->analysis->model.worker_count + 1;
	struct exchange_list exchanges;

	for (size_t i = 0; i < list->count; i += list->items[i].member_count) {
		uint32_t count = list->items[i].member_count;
		int64_t last_ns = INT64_MIN;

		if (count > room) {
			free(calls);
			room = count;
			calls = mem_alloc(room, sizeof(*calls));
		}
		for (uint32_t j = 0; j < count; j++) {
			calls[j] = (uint32_t)list->items[i + j].call;
			if (list->items[i + j].begin_ns > last_ns)
				last_ns = list->items[i + j].begin_ns;
		}
		meet(make, calls, count, last_ns);
	}
	free(calls);
	exchange_match(make->job->analysis, &exchanges);
	for (size_t i = 0; i < exchanges.count; i++)
		meet(make, (const uint32_t[]){exchanges.items[i].send, exchanges.items[i].receive}, 2,
			exchanges.items[i].begin_ns);
	exchange_free(&exchanges);
}
