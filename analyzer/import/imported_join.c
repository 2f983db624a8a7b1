/* The calls, intervals and input of one worker of an imported trace, as a process of the timeline: see
 * imported_timeline.h. */
#include "imported_lost.h"
#include "timeline/timeline_range.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 65535u /* of a process; further ones go together */
#define MOST_WORKERS 256u   /* of a file that calls which launched nothing are given to */

/* ---- Tables of a file ---- */

/* When the host's part of the recording begins: with a call, or with an annotation such as a step. */
static int64_t host_begin(const struct imported *imported)
{
	int64_t begin_ns = INT64_MAX;

	for (size_t i = 0; i < imported->calls.count; i++)
		if (imported->calls.begin_ns[i] < begin_ns)
			begin_ns = imported->calls.begin_ns[i];
	for (size_t i = 0; i < imported->spans.count && imported->calls.count; i++)
		if (imported->spans.kind[i] == IMPORTED_ANNOTATION && imported->spans.begin_ns[i] < begin_ns)
			begin_ns = imported->spans.begin_ns[i];
	return begin_ns;
}

static int compare_devices(const void *left, const void *right)
{
	const struct imported_join_device *a = left, *b = right;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

static struct imported_join_device *order_devices(const struct imported *imported)
{
	struct imported_join_device *devices = mem_alloc(imported->device_count, sizeof(*devices));

	for (size_t i = 0; i < imported->device_count; i++)
		devices[i] = (struct imported_join_device){imported->devices[i].device, i};
	if (imported->device_count)
		qsort(devices, imported->device_count, sizeof(*devices), compare_devices);
	return devices;
}

void imported_join_begin(
	struct imported_join *join, struct imported *imported, const struct imported_attribution *attribution)
{
	const struct imported_events *events = &imported->events;
	size_t sum = 0;

	*join = (struct imported_join){.imported = imported,
		.attribution = attribution,
		.events = mem_alloc(events->count, sizeof(*join->events)),
		.ends = mem_alloc(imported->worker_count + 1, sizeof(*join->ends)),
		.launches = mem_alloc(imported->thread_count, sizeof(*join->launches)),
		.inner_threads = mem_alloc(imported->thread_count, sizeof(*join->inner_threads)),
		.ordinals = mem_alloc(imported->thread_count, sizeof(*join->ordinals)),
		.call_workers = mem_alloc(imported->calls.count, sizeof(*join->call_workers)),
		.next = mem_alloc(events->count, sizeof(*join->next)),
		.last = mem_alloc(imported->calls.count, sizeof(*join->last)),
		.devices = order_devices(imported),
		.peers = intern_text(&imported->strings, "sends and receives", strlen("sends and receives")),
		.host_begin_ns = host_begin(imported)};
	for (size_t i = 0; i < events->count; i++)
		join->ends[imported->queues[events->queue[i]].worker + 1]++;
	for (size_t i = 0; i < imported->worker_count; i++)
		join->ends[i + 1] = sum += join->ends[i + 1];
	for (size_t i = 0; i < events->count; i++) {
		uint32_t worker = imported->queues[events->queue[i]].worker, call = events->call[i];

		join->events[join->ends[worker]++] = (uint32_t)i;
		if (call != IMPORTED_NONE)
			join->launches[imported->calls.thread[call]] = true;
	}
}

void imported_join_end(struct imported_join *join)
{
	free(join->events);
	free(join->ends);
	free(join->launches);
	free(join->inner_threads);
	free(join->ordinals);
	free(join->call_workers);
	free(join->next);
	free(join->last);
	free(join->devices);
	memset(join, 0, sizeof(*join));
}

bool imported_join_has_thread(const struct imported_join *join, uint32_t worker, uint32_t thread)
{
	const struct imported *imported = join->imported;

	if (imported->worker_count == 1 || join->inner_threads[thread])
		return true;
	if (join->launches[thread])
		return false;
	/* In a trace of labels alone the thread itself was given to a worker. */
	if (imported->format == IMPORTED_CHROME || imported->calls.count == 0)
		return imported->threads[thread].worker == worker;
	return imported->threads[thread].process == imported->workers[worker].process;
}

/* ---- What becomes a call ---- */

static void add_item(
	struct imported_build *build, int64_t begin_ns, enum imported_source source, size_t index)
{
	*MEM_PUSH(build->items, build->count, build->room) =
		(struct imported_item){begin_ns, (uint32_t)index, (uint8_t)source};
}

static bool is_work(const struct imported *imported, size_t event)
{
	const char *name = imported->strings.items[imported->events.name[event]];

	return imported->events.activity[event] != IMPORTED_LABELLED ||
	       (!imported_is_step(name) && !strcasestr(name, "idle") && !strcasestr(name, "bubble"));
}

/*
 * Work whose launch is not recorded, before the first of its queue whose launch is, was launched before the
 * recording began, however late it ran: it is none of the first steps'. It gets times just before the
 * host's, in its order. The caller frees the array, by place from `first` on: the time, or
 * LAUNCHED of other events.
 */
#define LAUNCHED INT64_MIN
static int64_t *list_early(const struct imported_build *build, size_t first, size_t end)
{
	const struct imported_events *events = &build->imported->events;
	const uint32_t *numbers = build->join->events;
	size_t *launched = mem_alloc(build->imported->queue_count, sizeof(*launched)); /* place + 1 */
	int64_t *times = mem_alloc(end - first, sizeof(*times)), begin_ns = build->join->host_begin_ns;
	size_t count = 0;

	for (size_t i = end; i-- > first;)
		if (events->call[numbers[i]] != IMPORTED_NONE)
			launched[events->queue[numbers[i]]] = i + 1;
	for (size_t i = end; i-- > first;)
		times[i - first] = i + 1 < launched[events->queue[numbers[i]]] &&
						   events->begin_ns[numbers[i]] >= begin_ns
					   ? begin_ns - (int64_t)++count
					   : LAUNCHED;
	free(launched);
	return times;
}

/* Device events, through the calls that launched them. */
static void list_events(struct imported_build *build)
{
	struct imported_join *join = build->join;
	const struct imported_events *events = &build->imported->events;
	size_t first = build->worker ? join->ends[build->worker - 1] : 0, end = join->ends[build->worker];
	int64_t *early_ns = list_early(build, first, end);

	memset(join->inner_threads, 0, build->imported->thread_count * sizeof(*join->inner_threads));
	memset(join->ordinals, 0, build->imported->thread_count * sizeof(*join->ordinals));
	for (size_t i = first; i < end; i++) {
		uint32_t event = join->events[i], call = events->call[event];

		join->next[event] = 0;
		if (!is_work(build->imported, event))
			continue;
		if (call == IMPORTED_NONE) {
			add_item(build,
				early_ns[i - first] == LAUNCHED ? events->begin_ns[event]
								: early_ns[i - first],
				IMPORTED_EVENT, event);
			continue;
		}
		join->inner_threads[build->imported->calls.thread[call]] = true;
		if (join->call_workers[call] == build->worker + 1) {
			join->next[join->last[call] - 1] = event + 1;
		} else {
			join->call_workers[call] = build->worker + 1;
			/* By its first event the others are found. */
			add_item(build, build->imported->calls.begin_ns[call], IMPORTED_EVENT, event);
		}
		join->last[call] = event + 1;
	}
	free(early_ns);
}

/* Calls that launched nothing, of the threads that serve the worker. */
static void list_calls(struct imported_build *build)
{
	const struct imported_calls *calls = &build->imported->calls;
	bool *launched;

	if (build->imported->worker_count > MOST_WORKERS)
		return;
	launched = mem_alloc(calls->count, sizeof(*launched));
	for (size_t i = 0; i < build->imported->events.count; i++)
		if (build->imported->events.call[i] != IMPORTED_NONE)
			launched[build->imported->events.call[i]] = true;
	for (size_t i = 0; i < calls->count; i++)
		if (!launched[i] && imported_join_has_thread(build->join, build->worker, calls->thread[i]))
			add_item(build, calls->begin_ns[i], IMPORTED_CALL, i);
	free(launched);
}

/* The waiting for input; what lies in another such stretch is part of it. */
static void list_input(struct imported_build *build)
{
	const struct imported_spans *spans = &build->imported->spans;
	char *input = mem_alloc(build->imported->strings.count, 1); /* 0: not asked yet, 1: no, 2: yes */
	int64_t until_ns = INT64_MIN;

	for (size_t i = 0; i < spans->count; i++) {
		char *answer = &input[spans->name[i]];

		if (spans->kind[i] != IMPORTED_ANNOTATION && spans->kind[i] != IMPORTED_OPERATOR)
			continue;
		if (!*answer)
			*answer = timeline_is_input_name(build->imported->strings.items[spans->name[i]]) ? 2
													 : 1;
		if (*answer == 1 || spans->end_ns[i] <= until_ns ||
			!imported_join_has_thread(build->join, build->worker, spans->thread[i]))
			continue;
		add_item(build, spans->begin_ns[i], IMPORTED_SPAN, i);
		until_ns = spans->end_ns[i];
	}
	free(input);
}

static int compare_items(const void *left, const void *right)
{
	const struct imported_item *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* ---- Calls ---- */

static uint16_t new_ordinal(struct imported_build *build)
{
	if (build->process->thread_count > MOST_THREADS)
		return MOST_THREADS;
	return (uint16_t)build->process->thread_count++;
}

static uint16_t thread_of(struct imported_build *build, uint32_t thread)
{
	uint16_t *ordinal = &build->join->ordinals[thread];

	if (!*ordinal)
		*ordinal = new_ordinal(build);
	return *ordinal;
}

static uint32_t queue_of(struct imported_build *build, uint32_t number)
{
	struct timeline *timeline = build->timeline;
	const struct imported_queue *queue = &build->imported->queues[number];

	if (!build->queues[number]) {
		*MEM_PUSH(timeline->queues, timeline->queue_count, timeline->queue_room) =
			(struct timeline_queue){
				(uint32_t)timeline->process_count, queue->device, (uint64_t)queue->stream};
		build->queues[number] = (uint32_t)timeline->queue_count - 1;
	}
	return build->queues[number];
}

static void add_interval(struct imported_build *build, struct timeline_call *call, uint32_t event,
	const struct imported_operation *operation)
{
	struct timeline *timeline = build->timeline;
	const struct imported_events *events = &build->imported->events;
	struct imported_operation activity = {.event = events->name[event],
		.kind = operation->kind == PM_KIND_COPY || operation->kind == PM_KIND_SET ? operation->kind
											  : PM_KIND_LAUNCH,
		.activity = true};

	if (call->interval_count++ == 0)
		call->interval = (uint32_t)timeline->interval_count;
	*MEM_PUSH(timeline->intervals, timeline->interval_count, timeline->interval_room) =
		(struct timeline_interval){events->begin_ns[event], events->end_ns[event],
			imported_operation(&build->dictionary, &activity),
			queue_of(build, events->queue[event])};
}

static void add_call(struct imported_build *build, const struct timeline_call *call)
{
	*MEM_PUSH(build->timeline->calls, build->timeline->call_count, build->timeline->call_room) = *call;
}

/* The launch of a graph with several events: they are calls of their own after it, as with our own traces.
 */
static void add_graph(struct imported_build *build, struct timeline_call *call, uint32_t event,
	struct imported_operation *operation)
{
	operation->event = 0;
	operation->phase = operation->part = 0;
	operation->layer = 0;
	operation->kind = PM_KIND_GRAPH;
	call->operation = imported_operation(&build->dictionary, operation);
	call->flags = TIMELINE_FLAG_DIVIDED;
	add_call(build, call);
	call->flags = TIMELINE_FLAG_REPLAYED;
	for (uint32_t next = event + 1; next; next = build->join->next[next - 1]) {
		struct imported_operation inner = imported_describe(build, next - 1);

		if (inner.kind == PM_KIND_GRAPH) {
			inner.kind = PM_KIND_LAUNCH;
			inner.call = 0;
		}
		call->operation = imported_operation(&build->dictionary, &inner);
		call->queue = queue_of(build, build->imported->events.queue[next - 1]);
		call->interval_count = 0;
		add_interval(build, call, next - 1, &inner);
		add_call(build, call);
	}
}

static void add_event(struct imported_build *build, const struct imported_item *item)
{
	const struct imported *imported = build->imported;
	const struct imported_events *events = &imported->events;
	const uint32_t event = item->index;
	struct imported_operation operation = imported_describe(build, event);
	uint32_t launch = events->call[event], number = events->queue[event];
	struct timeline_call call = {.begin_ns = item->begin_ns, .queue = queue_of(build, number)};

	call.interval = (uint32_t)build->timeline->interval_count;
	if (launch == IMPORTED_NONE) {
		if (!build->queue_threads[number])
			build->queue_threads[number] = new_ordinal(build);
		call.thread = build->queue_threads[number];
		call.end_ns = call.begin_ns;
	} else {
		call.begin_ns = imported->calls.begin_ns[launch];
		call.end_ns = imported->calls.end_ns[launch];
		call.thread = thread_of(build, imported->calls.thread[launch]);
	}
	if (operation.kind == PM_KIND_GRAPH && build->join->next[event]) {
		add_graph(build, &call, event, &operation);
		return;
	}
	call.operation = imported_operation(&build->dictionary, &operation);
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

static void add_host_call(
	struct imported_build *build, const struct imported_item *item, struct imported_lost *lost)
{
	const struct imported *imported = build->imported;
	struct imported_operation operation = {.direction = PM_DIRECTION_DEFAULT};
	struct timeline_call call = {.begin_ns = item->begin_ns};

	call.interval = (uint32_t)build->timeline->interval_count;
	if (item->source == IMPORTED_SPAN) {
		operation.call = imported->spans.name[item->index];
		operation.kind = PM_KIND_READ;
		call.end_ns = imported->spans.end_ns[item->index];
		call.thread = thread_of(build, imported->spans.thread[item->index]);
	} else {
		operation.call = imported->calls.name[item->index];
		operation.kind = (uint8_t)imported_call_kind(imported->strings.items[operation.call]);
		if (imported_lost_is(lost, imported, item->index)) {
			operation.kind = PM_KIND_LAUNCH;
			call.flags = TIMELINE_FLAG_UNTIMED;
		}
		call.end_ns = imported->calls.end_ns[item->index];
		call.thread = thread_of(build, imported->calls.thread[item->index]);
	}
	call.operation = imported_operation(&build->dictionary, &operation);
	add_call(build, &call);
}

/* Until when a launch's kernel would be in the file if it had run: the start of the worker's last device
 * event, less the longest time that one was enqueued. What was launched later may have been left in its
 * queue. */
static int64_t surely_run(const struct imported_build *build)
{
	const struct imported_join *join = build->join;
	const struct imported_events *events = &build->imported->events;
	size_t first = build->worker ? join->ends[build->worker - 1] : 0, end = join->ends[build->worker];
	int64_t longest_ns = 0;

	for (size_t i = first; i < end; i++) {
		uint32_t event = join->events[i], call = events->call[event];
		int64_t queued_ns = call == IMPORTED_NONE ? 0
							  : events->begin_ns[event] -
								    build->imported->calls.begin_ns[call];

		longest_ns = queued_ns > longest_ns ? queued_ns : longest_ns;
	}
	return end > first ? events->begin_ns[join->events[end - 1]] - longest_ns : INT64_MIN;
}

static void add_calls(struct imported_build *build)
{
	struct imported_lost lost = {.last_ns = surely_run(build)};

	if (build->count)
		qsort(build->items, build->count, sizeof(*build->items), compare_items);
	mem_reserve((void **)&build->timeline->calls, build->timeline->call_count,
		&build->timeline->call_room, sizeof(*build->timeline->calls), build->count);
	for (size_t i = 0; i < build->count; i++)
		if (build->items[i].source == IMPORTED_EVENT)
			add_event(build, &build->items[i]);
		else
			add_host_call(build, &build->items[i], &lost);
	imported_lost_end(&lost, build->timeline, build->process);
}

/* The recording as a window: what lies before and after is not known. */
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

static const char *const recorders[] = {
#define IMPORTED_FORMAT_ITEM(name, recorder) recorder,
	IMPORTED_FORMAT_LIST(IMPORTED_FORMAT_ITEM)
#undef IMPORTED_FORMAT_ITEM
};

bool imported_timeline_is_labels(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++)
		if (timeline->processes[i].recorder != recorders[IMPORTED_CHROME])
			return false;
	return timeline->process_count > 0;
}

/* The file's last row of the device; SIZE_MAX: it has none. */
static size_t find_device(const struct imported_join *join, int32_t device)
{
	size_t low = 0, high = join->imported->device_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (join->devices[middle].device <= device)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && join->devices[low - 1].device == device ? join->devices[low - 1].place : SIZE_MAX;
}

static int compare_numbers(const void *left, const void *right)
{
	const size_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Of the devices that the file describes those that the worker's queues are on, in the file's order. */
static void add_devices(struct imported_build *build)
{
	const struct imported_join *join = build->join;
	const struct imported *imported = build->imported;
	const struct timeline *timeline = build->timeline;
	size_t *rows = NULL, count = 0, room = 0;

	/* the first queue stands for none */
	for (size_t i = build->process->first_queue + 1; i < timeline->queue_count; i++) {
		const size_t row = find_device(join, timeline->queues[i].device);

		if (row != SIZE_MAX && (count == 0 || rows[count - 1] != row))
			*MEM_PUSH(rows, count, room) = row;
	}
	if (count)
		qsort(rows, count, sizeof(*rows), compare_numbers);
	for (size_t i = 0; i < count; i++) {
		const struct imported_device *from = &imported->devices[rows[i]];

		if (i > 0 && rows[i] == rows[i - 1])
			continue;
		timeline_set_device(build->timeline, build->process,
			&(struct timeline_device){.device = from->device,
				.name = from->name,
				.capability_major = from->capability_major,
				.capability_minor = from->capability_minor,
				.multiprocessors = from->multiprocessors,
				.memory_bytes = from->memory_bytes});
	}
	free(rows);
}

void imported_join_add(struct imported_join *join, uint32_t worker, struct timeline *timeline)
{
	struct imported *imported = join->imported;
	const struct imported_worker *from = &imported->workers[worker];
	struct timeline_process process = {
		.path = arena_text(&timeline->arena, imported->path, strlen(imported->path)),
		.host = "",
		.program = "",
		.recorder = recorders[imported->format],
		.pid = from->process > 0 && from->process <= INT32_MAX ? (uint32_t)from->process : 0,
		.rank = from->rank,
		.given_rank = from->rank,
		.world = imported->world,
		.device_source = PM_DEVICE_CUPTI,
		.processor_wait = NAN,
		.hostless = imported->calls.count == 0,
		.ended = true,
		.first_call = timeline->call_count,
		.first_interval = timeline->interval_count,
		.first_operation = (uint32_t)timeline->operation_count,
		.first_queue = (uint32_t)timeline->queue_count,
		.thread_count = 1, /* ordinals begin at 1 */
	};
	struct imported_build build = {.join = join,
		.imported = imported,
		.timeline = timeline,
		.process = &process,
		.worker = worker,
		.queues = mem_alloc(imported->queue_count, sizeof(*build.queues)),
		.queue_threads = mem_alloc(imported->queue_count, sizeof(*build.queue_threads)),
		.communicators = mem_alloc(imported->strings.count, sizeof(*build.communicators))};

	/* Item 0 of a process's queues stands for none. */
	*MEM_PUSH(timeline->queues, timeline->queue_count, timeline->queue_room) = (struct timeline_queue){0};
	imported_dictionary_begin(&build.dictionary, timeline, imported, (uint32_t)timeline->process_count);
	imported_operation(&build.dictionary, &(struct imported_operation){.kind = PM_KIND_SETUP});
	list_events(&build);
	list_calls(&build);
	list_input(&build);
	add_calls(&build);
	imported_frames_add(&build);
	imported_ranges_add(&build);
	imported_dictionary_end(&build.dictionary);
	add_devices(&build);
	process.call_count = timeline->call_count - process.first_call;
	process.interval_count = timeline->interval_count - process.first_interval;
	process.operation_count = (uint32_t)timeline->operation_count - process.first_operation;
	process.queue_count = (uint32_t)timeline->queue_count - process.first_queue;
	if (join->attribution->attributed_ns)
		memcpy(process.attributed_ns, join->attribution->attributed_ns[worker],
			sizeof(process.attributed_ns));
	add_window(timeline, &process);
	imported_steps_add(join, worker, timeline, &process);
	*MEM_PUSH(timeline->processes, timeline->process_count, timeline->process_room) = process;
	free(build.items);
	free(build.queues);
	free(build.queue_threads);
	free(build.communicators);
}
