/* The calls, intervals and input of one worker of a foreign trace, as a process of the timeline: see
 * foreign_timeline.h. */
#include "imported_build.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 65535u /* of a process; further ones go together */
#define MOST_WORKERS 256u   /* of a file that calls which launched nothing are given to */

/* ---- Tables of a file ---- */

void foreign_join_begin(
	struct foreign_join *join, struct foreign *foreign, const struct foreign_attribution *attribution)
{
	const struct foreign_events *events = &foreign->events;
	size_t sum = 0;

	*join = (struct foreign_join){.foreign = foreign,
		.attribution = attribution,
		.events = mem_alloc(events->count, sizeof(*join->events)),
		.ends = mem_alloc(foreign->worker_count + 1, sizeof(*join->ends)),
		.launches = mem_alloc(foreign->thread_count, sizeof(*join->launches)),
		.inner_threads = mem_alloc(foreign->thread_count, sizeof(*join->inner_threads)),
		.ordinals = mem_alloc(foreign->thread_count, sizeof(*join->ordinals)),
		.call_workers = mem_alloc(foreign->calls.count, sizeof(*join->call_workers)),
		.next = mem_alloc(events->count, sizeof(*join->next)),
		.last = mem_alloc(foreign->calls.count, sizeof(*join->last))};
	for (size_t i = 0; i < events->count; i++)
		join->ends[foreign->queues[events->queue[i]].worker + 1]++;
	for (size_t i = 0; i < foreign->worker_count; i++)
		join->ends[i + 1] = sum += join->ends[i + 1];
	for (size_t i = 0; i < events->count; i++) {
		uint32_t worker = foreign->queues[events->queue[i]].worker, call = events->call[i];

		join->events[join->ends[worker]++] = (uint32_t)i;
		if (call != FOREIGN_NONE)
			join->launches[foreign->calls.thread[call]] = true;
	}
}

void foreign_join_end(struct foreign_join *join)
{
	free(join->events);
	free(join->ends);
	free(join->launches);
	free(join->inner_threads);
	free(join->ordinals);
	free(join->call_workers);
	free(join->next);
	free(join->last);
	memset(join, 0, sizeof(*join));
}

bool foreign_join_has_thread(const struct foreign_join *join, uint32_t worker, uint32_t thread)
{
	const struct foreign *foreign = join->foreign;

	if (foreign->worker_count == 1 || join->inner_threads[thread])
		return true;
	if (join->launches[thread])
		return false;
	/* In a trace of labels alone the thread itself was given to a worker. */
	if (foreign->format == FOREIGN_CHROME || foreign->calls.count == 0)
		return foreign->threads[thread].worker == worker;
	return foreign->threads[thread].process == foreign->workers[worker].process;
}

/* ---- What becomes a call ---- */

static void add_item(struct foreign_build *build, int64_t begin_ns, enum foreign_source source, size_t index)
{
	*MEM_PUSH(build->items, build->count, build->room) =
		(struct foreign_item){begin_ns, (uint32_t)index, (uint8_t)source};
}

static bool is_work(const struct foreign *foreign, size_t event)
{
	const char *name = foreign->strings.items[foreign->events.name[event]];

	return foreign->events.activity[event] != FOREIGN_LABELLED ||
	       (!foreign_is_step(name) && !strcasestr(name, "idle") && !strcasestr(name, "bubble"));
}

/* Device events, through the calls that launched them. */
static void list_events(struct foreign_build *build)
{
	struct foreign_join *join = build->join;
	const struct foreign_events *events = &build->foreign->events;
	size_t first = build->worker ? join->ends[build->worker - 1] : 0, end = join->ends[build->worker];

	memset(join->inner_threads, 0, build->foreign->thread_count * sizeof(*join->inner_threads));
	memset(join->ordinals, 0, build->foreign->thread_count * sizeof(*join->ordinals));
	for (size_t i = first; i < end; i++) {
		uint32_t event = join->events[i], call = events->call[event];

		join->next[event] = 0;
		if (!is_work(build->foreign, event))
			continue;
		if (call == FOREIGN_NONE) {
			add_item(build, events->begin_ns[event], FOREIGN_EVENT, event);
			continue;
		}
		join->inner_threads[build->foreign->calls.thread[call]] = true;
		if (join->call_workers[call] == build->worker + 1) {
			join->next[join->last[call] - 1] = event + 1;
		} else {
			join->call_workers[call] = build->worker + 1;
			/* By its first event the others are found. */
			add_item(build, build->foreign->calls.begin_ns[call], FOREIGN_EVENT, event);
		}
		join->last[call] = event + 1;
	}
}

/* Calls that launched nothing, of the threads that serve the worker. */
static void list_calls(struct foreign_build *build)
{
	const struct foreign_calls *calls = &build->foreign->calls;
	bool *launched;

	if (build->foreign->worker_count > MOST_WORKERS)
		return;
	launched = mem_alloc(calls->count, sizeof(*launched));
	for (size_t i = 0; i < build->foreign->events.count; i++)
		if (build->foreign->events.call[i] != FOREIGN_NONE)
			launched[build->foreign->events.call[i]] = true;
	for (size_t i = 0; i < calls->count; i++)
		if (!launched[i] && foreign_join_has_thread(build->join, build->worker, calls->thread[i]))
			add_item(build, calls->begin_ns[i], FOREIGN_CALL, i);
	free(launched);
}

/* The waiting for input; what lies in another such stretch is part of it. */
static void list_input(struct foreign_build *build)
{
	const struct foreign_spans *spans = &build->foreign->spans;
	char *input = mem_alloc(build->foreign->strings.count, 1); /* 0: not asked yet, 1: no, 2: yes */
	int64_t until_ns = INT64_MIN;

	for (size_t i = 0; i < spans->count; i++) {
		char *answer = &input[spans->name[i]];

		if (spans->kind[i] != FOREIGN_ANNOTATION && spans->kind[i] != FOREIGN_OPERATOR)
			continue;
		if (!*answer)
			*answer = foreign_is_input(build->foreign->strings.items[spans->name[i]]) ? 2 : 1;
		if (*answer == 1 || spans->end_ns[i] <= until_ns ||
			!foreign_join_has_thread(build->join, build->worker, spans->thread[i]))
			continue;
		add_item(build, spans->begin_ns[i], FOREIGN_SPAN, i);
		until_ns = spans->end_ns[i];
	}
	free(input);
}

static int compare_items(const void *left, const void *right)
{
	const struct foreign_item *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* ---- Calls ---- */

static uint16_t new_ordinal(struct foreign_build *build)
{
	if (build->process->thread_count > MOST_THREADS)
		return MOST_THREADS;
	return (uint16_t)build->process->thread_count++;
}

static uint16_t thread_of(struct foreign_build *build, uint32_t thread)
{
	uint16_t *ordinal = &build->join->ordinals[thread];

	if (!*ordinal)
		*ordinal = new_ordinal(build);
	return *ordinal;
}

static uint32_t queue_of(struct foreign_build *build, uint32_t number)
{
	struct timeline *timeline = build->timeline;
	const struct foreign_queue *queue = &build->foreign->queues[number];

	if (!build->queues[number]) {
		*MEM_PUSH(timeline->queues, timeline->queue_count, timeline->queue_room) =
			(struct timeline_queue){
				(uint32_t)timeline->process_count, queue->device, (uint64_t)queue->stream};
		build->queues[number] = (uint32_t)timeline->queue_count - 1;
	}
	return build->queues[number];
}

static void add_interval(struct foreign_build *build, struct timeline_call *call, uint32_t event,
	const struct foreign_operation *operation)
{
	struct timeline *timeline = build->timeline;
	const struct foreign_events *events = &build->foreign->events;
	struct foreign_operation activity = {.event = events->name[event],
		.kind = operation->kind == PM_KIND_COPY || operation->kind == PM_KIND_SET ? operation->kind
											  : PM_KIND_LAUNCH,
		.activity = true};

	if (call->interval_count++ == 0)
		call->interval = (uint32_t)timeline->interval_count;
	*MEM_PUSH(timeline->intervals, timeline->interval_count, timeline->interval_room) =
		(struct timeline_interval){events->begin_ns[event], events->end_ns[event],
			foreign_operation(&build->dictionary, &activity),
			queue_of(build, events->queue[event])};
}

static void add_call(struct foreign_build *build, const struct timeline_call *call)
{
	*MEM_PUSH(build->timeline->calls, build->timeline->call_count, build->timeline->call_room) = *call;
}

/* The launch of a graph with several events: they are calls of their own behind it, as with our own traces.
 */
static void add_graph(struct foreign_build *build, struct timeline_call *call, uint32_t event,
	struct foreign_operation *operation)
{
	operation->event = 0;
	operation->phase = operation->part = 0;
	operation->layer = 0;
	operation->kind = PM_KIND_GRAPH;
	call->operation = foreign_operation(&build->dictionary, operation);
	call->flags = TIMELINE_FLAG_DIVIDED;
	add_call(build, call);
	call->flags = TIMELINE_FLAG_REPLAYED;
	for (uint32_t next = event + 1; next; next = build->join->next[next - 1]) {
		struct foreign_operation inner = foreign_describe(build, next - 1);

		if (inner.kind == PM_KIND_GRAPH) {
			inner.kind = PM_KIND_LAUNCH;
			inner.call = 0;
		}
		call->operation = foreign_operation(&build->dictionary, &inner);
		call->queue = queue_of(build, build->foreign->events.queue[next - 1]);
		call->interval_count = 0;
		add_interval(build, call, next - 1, &inner);
		add_call(build, call);
	}
}

static void add_event(struct foreign_build *build, uint32_t event)
{
	const struct foreign *foreign = build->foreign;
	const struct foreign_events *events = &foreign->events;
	struct foreign_operation operation = foreign_describe(build, event);
	uint32_t launch = events->call[event], number = events->queue[event];
	struct timeline_call call = {.begin_ns = events->begin_ns[event], .queue = queue_of(build, number)};

	call.interval = (uint32_t)build->timeline->interval_count;
	if (launch == FOREIGN_NONE) {
		if (!build->queue_threads[number])
			build->queue_threads[number] = new_ordinal(build);
		call.thread = build->queue_threads[number];
		call.end_ns = call.begin_ns;
	} else {
		call.begin_ns = foreign->calls.begin_ns[launch];
		call.end_ns = foreign->calls.end_ns[launch];
		call.thread = thread_of(build, foreign->calls.thread[launch]);
	}
	if (operation.kind == PM_KIND_GRAPH && build->join->next[event]) {
		add_graph(build, &call, event, &operation);
		return;
	}
	call.operation = foreign_operation(&build->dictionary, &operation);
	if (operation.kind == PM_KIND_READ || operation.kind == PM_KIND_SYNC) { /* labelled: of the host */
		call.end_ns = events->end_ns[event];
		call.queue = 0;
		add_call(build, &call);
		return;
	}
	for (uint32_t next = event + 1; next; next = build->join->next[next - 1])
		add_interval(build, &call, next - 1, &operation);
	add_call(build, &call);
}

static void add_host_call(struct foreign_build *build, const struct foreign_item *item)
{
	const struct foreign *foreign = build->foreign;
	struct foreign_operation operation = {.direction = 4};
	struct timeline_call call = {.begin_ns = item->begin_ns};

	call.interval = (uint32_t)build->timeline->interval_count;
	if (item->source == FOREIGN_SPAN) {
		operation.call = foreign->spans.name[item->index];
		operation.kind = PM_KIND_READ;
		call.end_ns = foreign->spans.end_ns[item->index];
		call.thread = thread_of(build, foreign->spans.thread[item->index]);
	} else {
		operation.call = foreign->calls.name[item->index];
		operation.kind = (uint8_t)foreign_call_kind(foreign->strings.items[operation.call]);
		call.end_ns = foreign->calls.end_ns[item->index];
		call.thread = thread_of(build, foreign->calls.thread[item->index]);
	}
	call.operation = foreign_operation(&build->dictionary, &operation);
	add_call(build, &call);
}

static void add_calls(struct foreign_build *build)
{
	if (build->count)
		qsort(build->items, build->count, sizeof(*build->items), compare_items);
	mem_reserve((void **)&build->timeline->calls, build->timeline->call_count,
		&build->timeline->call_room, sizeof(*build->timeline->calls), build->count);
	for (size_t i = 0; i < build->count; i++)
		if (build->items[i].source == FOREIGN_EVENT)
			add_event(build, build->items[i].index);
		else
			add_host_call(build, &build->items[i]);
}

/* The recording as a window: what lies before and behind is not known. */
static void add_window(struct timeline *timeline, struct timeline_process *process)
{
	struct timeline_window window = {.begin_ns = INT64_MAX, .end_ns = INT64_MIN};

	for (size_t i = process->first_call; i < timeline->call_count; i++) {
		int64_t end_ns = timeline_call_end(timeline, &timeline->calls[i]);

		window.begin_ns = timeline->calls[i].begin_ns < window.begin_ns ? timeline->calls[i].begin_ns
										: window.begin_ns;
		window.end_ns = end_ns > window.end_ns ? end_ns : window.end_ns;
		window.end_ns =
			timeline->calls[i].end_ns > window.end_ns ? timeline->calls[i].end_ns : window.end_ns;
	}
	process->first_window = (uint32_t)timeline->window_count;
	if (timeline->call_count == process->first_call)
		return;
	*MEM_PUSH(timeline->windows, timeline->window_count, timeline->window_room) = window;
	process->window_count = 1;
}

static const char *const recorders[] = {[FOREIGN_KINETO] = "Kineto",
	[FOREIGN_CHROME] = "labels of phases",
	[FOREIGN_NSYS] = "Nsight Systems"};

bool foreign_timeline_is_labels(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++)
		if (timeline->processes[i].recorder != recorders[FOREIGN_CHROME])
			return false;
	return timeline->process_count > 0;
}

/* Of the devices that the file describes those that the worker used. */
static void add_devices(struct foreign_build *build)
{
	const struct foreign *foreign = build->foreign;

	for (size_t i = 0; i < foreign->device_count; i++) {
		const struct foreign_device *from = &foreign->devices[i];
		bool used = false;

		for (size_t j = 0; j < foreign->queue_count && !used; j++)
			used = build->queues[j] && foreign->queues[j].device == from->device;
		if (used)
			timeline_set_device(build->timeline, build->process,
				&(struct timeline_device){.device = from->device,
					.name = from->name,
					.capability_major = from->capability_major,
					.capability_minor = from->capability_minor,
					.multiprocessors = from->multiprocessors,
					.memory_bytes = from->memory_bytes});
	}
}

void foreign_join_add(struct foreign_join *join, uint32_t worker, struct timeline *timeline)
{
	struct foreign *foreign = join->foreign;
	const struct foreign_worker *from = &foreign->workers[worker];
	struct timeline_process process = {
		.path = arena_text(&timeline->arena, foreign->path, strlen(foreign->path)),
		.host = "",
		.program = "",
		.recorder = recorders[foreign->format],
		.pid = from->process > 0 && from->process <= INT32_MAX ? (uint32_t)from->process : 0,
		.rank = from->rank,
		.world = foreign->world,
		.device_source = PM_DEVICE_CUPTI,
		.hostless = foreign->calls.count == 0,
		.ended = true,
		.first_call = timeline->call_count,
		.first_interval = timeline->interval_count,
		.first_operation = (uint32_t)timeline->operation_count,
		.first_queue = (uint32_t)timeline->queue_count,
		.thread_count = 1, /* ordinals begin at 1 */
	};
	struct foreign_build build = {.join = join,
		.foreign = foreign,
		.timeline = timeline,
		.process = &process,
		.worker = worker,
		.queues = mem_alloc(foreign->queue_count, sizeof(*build.queues)),
		.queue_threads = mem_alloc(foreign->queue_count, sizeof(*build.queue_threads)),
		.communicators = mem_alloc(foreign->strings.count, sizeof(*build.communicators))};

	/* Item 0 of a process's queues stands for none. */
	*MEM_PUSH(timeline->queues, timeline->queue_count, timeline->queue_room) = (struct timeline_queue){0};
	foreign_dictionary_begin(&build.dictionary, timeline, foreign, (uint32_t)timeline->process_count);
	foreign_operation(&build.dictionary, &(struct foreign_operation){.kind = PM_KIND_SETUP});
	list_events(&build);
	list_calls(&build);
	list_input(&build);
	add_calls(&build);
	foreign_dictionary_end(&build.dictionary);
	add_devices(&build);
	process.call_count = timeline->call_count - process.first_call;
	process.interval_count = timeline->interval_count - process.first_interval;
	process.operation_count = (uint32_t)timeline->operation_count - process.first_operation;
	process.queue_count = (uint32_t)timeline->queue_count - process.first_queue;
	if (join->attribution->told_ns)
		memcpy(process.told_ns, join->attribution->told_ns[worker], sizeof(process.told_ns));
	add_window(timeline, &process);
	foreign_steps_add(join, worker, timeline, &process);
	*MEM_PUSH(timeline->processes, timeline->process_count, timeline->process_room) = process;
	free(build.items);
	free(build.queues);
	free(build.queue_threads);
	free(build.communicators);
}
