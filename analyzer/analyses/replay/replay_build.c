/* A run's iterations as tasks: see replay_build.h. Here the hosts' side: calls, threads, and iterations. */
#include "replay_build.h"
#include "replay_make.h"

#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

uint32_t make_task(struct make *make, enum replay_kind kind, enum phase phase,
	const struct make_worker *worker, uint32_t call, int64_t begin_ns, int64_t end_ns)
{
	struct replay_job *job = make->job;
	uint32_t task = replay_add(&job->replay, begin_ns, end_ns);

	/* The works have the room that the tasks have. */
	mem_reserve((void **)&job->works, task, &job->work_room, sizeof(*job->works),
		job->replay.task_room - task);
	job->works[task] = (struct replay_work){.kind = kind,
		.phase = phase,
		.worker = worker ? worker->number : REPLAY_NONE,
		.iteration = worker ? worker->iteration : REPLAY_NONE,
		.call = call,
		.part = REPLAY_NONE};
	return task;
}

void make_link(struct make *make, uint32_t task, uint32_t before)
{
	if (before == REPLAY_NONE || before == task)
		return;
	*MEM_PUSH(make->links, make->link_count, make->link_room) = (struct replay_link){task, before, 0};
}

/* What the thread did up to the call's end or, where that waits or takes time of another kind, its start. */
static uint32_t follow_thread(struct make *make, struct make_thread *thread, const struct make_worker *worker,
	uint32_t call, enum phase phase, int64_t since_ns, int64_t end_ns)
{
	int64_t begin_ns =
		thread->last == REPLAY_NONE ? timeline_call(make->timeline, call).begin_ns : thread->end_ns;
	uint32_t task;

	if (since_ns > begin_ns)
		begin_ns = since_ns;
	if (begin_ns > end_ns)
		begin_ns = end_ns;
	task = make_task(make, REPLAY_HOST, phase, worker, call, begin_ns, end_ns);
	make_link(make, task, thread->last);
	thread->last = task;
	if (end_ns > thread->end_ns) /* what a data loader calls is within its own time */
		thread->end_ns = end_ns;
	return task;
}

static const struct iteration *used_iteration(
	const struct make *make, const struct make_worker *worker, size_t i)
{
	const struct analysis_worker *item = worker->worker;

	return &item->iterations.items[item->used[make->job->first_used + i]];
}

static size_t mark_place(
	const struct replay_job *job, const struct make_worker *worker, uint32_t iteration, bool end)
{
	return (worker->number * job->iteration_count + iteration) * 2 + end;
}

static uint32_t make_mark(struct make *make, struct make_worker *worker, const struct make_thread *thread,
	int64_t ns, uint32_t iteration, bool end)
{
	uint32_t task = make_task(make, REPLAY_MARK, PHASE_IDLE_LAUNCH, worker, REPLAY_NONE, ns, ns);

	make->job->works[task].iteration = iteration;
	make_link(make, task, worker->last_device);
	make_link(make, task, thread->last);
	make->job->marks[mark_place(make->job, worker, iteration, end)] = task;
	return task;
}

/* To be called before a call or a read of the worker becomes tasks, with its position. */
static void follow_iterations(struct make *make, struct make_worker *worker, const struct make_thread *thread,
	bool is_call, size_t position)
{
	struct replay_job *job = make->job;
	const struct iteration *item =
		worker->iteration == REPLAY_NONE ? NULL : used_iteration(make, worker, worker->iteration);
	const struct iteration *next =
		worker->next < job->iteration_count ? used_iteration(make, worker, worker->next) : NULL;
	bool begins = next && (is_call ? position >= next->first_call
				       : position >= next->first_read && next->first_read < next->read_end);
	uint32_t mark = REPLAY_NONE;

	if (item && (begins || (is_call && position >= item->call_end))) {
		mark = make_mark(make, worker, thread, item->end_ns, worker->iteration, true);
		worker->iteration = REPLAY_NONE;
	}
	if (!begins)
		return;
	worker->iteration = (uint32_t)worker->next++;
	worker->last_read = REPLAY_NONE;
	worker->copied = false;
	if (mark != REPLAY_NONE && item->end_ns == next->begin_ns)
		job->marks[mark_place(job, worker, worker->iteration, false)] = mark;
	else
		make_mark(make, worker, thread, next->begin_ns, worker->iteration, false);
}

/* The role of the worker's call at this position, which is to be asked for in order. */
static const struct layer_role *follow_role(
	const struct make *make, struct make_worker *worker, uint32_t call)
{
	const struct worker_model *model = &make->job->analysis->model;
	const struct iteration_list *iterations = &worker->worker->iterations;
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	bool inside;

	while (worker->shape < iterations->count &&
		worker->call >= iterations->items[worker->shape].call_end) {
		worker->shape++;
		worker->gap = (struct layer_gap){0};
	}
	inside = worker->shape < iterations->count &&
		 worker->call >= iterations->items[worker->shape].first_call;
	return phase_role(model, worker->worker->worker, &worker->worker->layers,
		inside ? worker->shape : PHASE_NO_ITERATION, &worker->gap, item->operation);
}

/* Another thread that gave the worker work since this one did has had its turn: until then this one waited.
 */
static int64_t turn_ns(
	const struct make *make, const struct make_worker *worker, const struct timeline_call *call)
{
	int64_t end_ns;

	if (!worker || worker->last_host == REPLAY_NONE || worker->last_thread == call->thread)
		return INT64_MIN;
	end_ns = make->job->replay.tasks[worker->last_host].end_ns;
	return end_ns > make->threads[call->thread].end_ns && end_ns <= call->begin_ns ? end_ns : INT64_MIN;
}

static void take_turn(struct make_worker *worker, const struct timeline_call *call, uint32_t host)
{
	worker->last_host = host;
	worker->last_thread = call->thread;
}

static void follow_wait(struct make *make, struct make_worker *worker, uint32_t call)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	struct make_thread *thread = &make->threads[item->thread];
	const struct timeline_function *function = timeline_function(make->timeline, item);
	bool asks = !trace_waits(function->kind, function->facts.role);
	int64_t begin_ns = item->begin_ns, since_ns = turn_ns(make, worker, item);
	uint32_t host;

	if (asks && item->result != 0 && thread->polling_ns > item->begin_ns)
		thread->polling_ns = item->begin_ns;
	if (asks && (item->result != 0 || thread->polling_ns == INT64_MAX))
		return;
	if (asks)
		begin_ns = thread->polling_ns;
	thread->polling_ns = INT64_MAX;
	host = follow_thread(make, thread, worker, call, PHASE_IDLE_LAUNCH, since_ns, begin_ns);
	if (since_ns != INT64_MIN)
		make_link(make, host, worker->last_host);
	thread->last = make_resume(make, worker, call, host);
	thread->end_ns = item->end_ns;
	if (worker)
		take_turn(worker, item, thread->last);
}

static void follow_read(struct make *make, struct make_worker *worker, uint32_t call)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	struct make_thread *thread = &make->threads[item->thread];

	follow_iterations(make, worker, thread, false, worker->read);
	if (thread->last != REPLAY_NONE && item->end_ns <= thread->end_ns)
		return;
	follow_thread(make, thread, worker, call, PHASE_IDLE_LAUNCH, INT64_MIN, item->begin_ns);
	worker->last_read =
		make_task(make, REPLAY_READ, PHASE_IO, worker, call, item->begin_ns, item->end_ns);
	make_link(make, worker->last_read, thread->last);
	thread->last = worker->last_read;
	thread->end_ns = item->end_ns;
}

/*
 * Does the call wait for the input that was last read? The first copy of an iteration does; where the
 * framework's operations wait for it, what each thread does next.
 */
static bool waits_for_read(const struct make *make, const struct make_worker *worker, bool input,
	const struct timeline_call *call, const struct timeline_function **read)
{
	const struct replay_task *task;

	if (worker->last_read == REPLAY_NONE)
		return false;
	task = &make->job->replay.tasks[worker->last_read];
	*read = timeline_function(
		make->timeline, TIMELINE_CALL(make->timeline, make->job->works[worker->last_read].call));
	return task->end_ns <= call->begin_ns &&
	       ((*read)->is_awaited ? task->end_ns > make->threads[call->thread].end_ns
				    : input && !worker->copied);
}

/* The host's time for a call that gives work. */
static uint32_t follow_launch(struct make *make, struct make_worker *worker, const struct layer_role *role,
	uint32_t call, int64_t end_ns)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	const struct timeline_function *read = NULL;
	struct make_thread *thread = &make->threads[item->thread];
	const bool input = role->phase == PHASE_H2D || role->phase == PHASE_MD;
	const bool first = waits_for_read(make, worker, input, item, &read);
	int64_t since_ns = turn_ns(make, worker, item);
	uint32_t turn = since_ns == INT64_MIN ? REPLAY_NONE : worker->last_host, host;

	worker->copied |= input;
	if (first && make->job->replay.tasks[worker->last_read].end_ns > since_ns)
		since_ns = make->job->replay.tasks[worker->last_read].end_ns;
	/* what a data loader hands out is divided */
	host = follow_thread(make, thread, worker, call,
		first && !read->is_range ? PHASE_MD : PHASE_IDLE_LAUNCH, since_ns, end_ns);
	make_link(make, host, turn);
	if (first)
		make_link(make, host, worker->last_read);
	take_turn(worker, item, host);
	return host;
}

static void follow_work(struct make *make, struct make_worker *worker, uint32_t call)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	struct make_thread *thread = &make->threads[item->thread];
	const struct timeline_function *function = timeline_function(make->timeline, item);
	const struct layer_role *role = follow_role(make, worker, call);
	bool replayed = item->flags & TIMELINE_FLAG_REPLAYED;
	uint32_t host;

	follow_iterations(make, worker, thread, true, worker->call);
	if (item->interval_count == 0 && !(item->flags & TIMELINE_FLAGS_NOT_HOST)) {
		/* The host's time stands in for the device's. */
		follow_launch(make, worker, role, call, item->begin_ns);
		host = make_task(
			make, REPLAY_DEVICE, role->phase, worker, call, item->begin_ns, item->end_ns);
		make_parts(make, worker, role, host, 1);
		make_link(make, host, thread->last);
		thread->last = host;
		thread->end_ns = item->end_ns;
		take_turn(worker, item, host);
		return;
	}
	host = replayed ? thread->last : follow_launch(make, worker, role, call, item->end_ns);
	if (!item->interval_count)
		return;
	make_device(make, worker, call, role, host);
	if (function->kind == PM_KIND_COPY && !replayed && function->facts.role == PM_ROLE_BLOCKS &&
		timeline_call_end(make->timeline, item) <= item->end_ns) {
		thread->last = make_resume(make, worker, call, host);
		take_turn(worker, item, thread->last);
	}
}

/* Who is served by a call that has a queue, or none. */
static struct make_worker *worker_of_queue(struct make *make, uint32_t queue)
{
	if (make->worker_count == 1)
		return &make->workers[0];
	for (size_t i = 0; queue && i < make->worker_count; i++)
		if (make->workers[i].worker->worker->device == make->timeline->queues[queue].device)
			return &make->workers[i];
	return NULL;
}

static void follow_call(struct make *make, uint32_t call)
{
	const struct timeline_call *item = TIMELINE_CALL(make->timeline, call);
	const struct timeline_function *function = timeline_function(make->timeline, item);
	struct make_worker *works = NULL, *reads = NULL;

	for (size_t i = 0; i < make->worker_count; i++) {
		struct make_worker *worker = &make->workers[i];
		const struct worker *list = worker->worker->worker;

		while (worker->call < list->call_count && list->calls[worker->call] < call)
			worker->call++;
		while (worker->read < list->read_count && list->reads[worker->read] < call)
			worker->read++;
		if (worker->call < list->call_count && list->calls[worker->call] == call && !works)
			works = worker;
		if (worker->read < list->read_count && list->reads[worker->read] == call && !reads)
			reads = worker;
	}
	if (works)
		follow_work(make, works, call);
	else if (reads)
		follow_read(make, reads, call);
	else if (function->kind == PM_KIND_SYNC)
		follow_wait(make, worker_of_queue(make, item->queue), call);
	else if (function->kind == PM_KIND_EVENT)
		make_order(make, item, function->facts.role);
}

/* When the job's iterations of the worker begin with all that belongs to them, and when they end. */
static void widen(const struct make *make, const struct make_worker *worker, int64_t *from_ns, int64_t *to_ns)
{
	const struct iteration *first = used_iteration(make, worker, 0);
	const struct iteration *last = used_iteration(make, worker, make->job->iteration_count - 1);
	const struct worker *list = worker->worker->worker;
	int64_t begins_ns[] = {first->begin_ns,
		timeline_call(make->timeline, list->calls[first->first_call]).begin_ns,
		first->first_read < first->read_end
			? timeline_call(make->timeline, list->reads[first->first_read]).begin_ns
			: INT64_MAX};

	for (size_t i = 0; i < sizeof(begins_ns) / sizeof(*begins_ns); i++)
		if (begins_ns[i] < *from_ns)
			*from_ns = begins_ns[i];
	if (last->end_ns > *to_ns)
		*to_ns = last->end_ns;
	if (timeline_call(make->timeline, list->calls[last->call_end - 1]).begin_ns >= *to_ns)
		*to_ns = timeline_call(make->timeline, list->calls[last->call_end - 1]).begin_ns + 1;
}

static bool any_wait_recorded(const struct make *make)
{
	uint64_t event;

	for (uint32_t i = 0; i < make->process->operation_count; i++) {
		const struct timeline_operation *operation =
			&make->timeline->operations[make->process->first_operation + i];

		if (make->timeline->functions[operation->function].facts.role == PM_ROLE_STREAM_WAITS &&
			timeline_value(make->timeline, operation, "event", &event) && event)
			return true;
	}
	return false;
}

static void begin_process(struct make *make, uint32_t process)
{
	const struct analysis *analysis = make->job->analysis;

	make->process = &make->timeline->processes[process];
	make->recorded = any_wait_recorded(make);
	make->worker_count = 0;
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		if (worker->worker->process == process)
			make->workers[make->worker_count++] = (struct make_worker){.worker = worker,
				.number = (uint32_t)w,
				.iteration = REPLAY_NONE,
				.last_device = REPLAY_NONE,
				.last_host = REPLAY_NONE,
				.last_read = REPLAY_NONE,
				.layers = replay_layers_of(make->job, worker)};
	}
	make->threads = mem_alloc((size_t)UINT16_MAX + 1, sizeof(*make->threads));
	for (size_t i = 0; i <= UINT16_MAX; i++)
		make->threads[i] = (struct make_thread){.last = REPLAY_NONE, .polling_ns = INT64_MAX};
	for (uint32_t i = 0; i < make->timeline->queue_count; i++)
		make->queues[i].last = REPLAY_NONE;
}

static void end_process(struct make *make)
{
	for (size_t i = 0; i < make->worker_count; i++)
		free(make->workers[i].layers);
	for (size_t i = 0; i < make->timeline->queue_count; i++) {
		free(make->queues[i].history.items);
		free(make->queues[i].waits.items);
		make->queues[i] = (struct make_queue){0};
	}
	free(make->threads);
	free(make->events);
	lookup_free(&make->event_lookup);
	make->events = NULL;
	make->event_count = make->event_room = 0;
}

static void make_process(struct make *make, uint32_t process)
{
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	begin_process(make, process);
	for (size_t i = 0; i < make->worker_count; i++)
		widen(make, &make->workers[i], &from_ns, &to_ns);
	if (make->worker_count > 0) {
		for (size_t i = timeline_find(make->timeline, make->process, from_ns);
			i < make->process->call_count; i++) {
			size_t call = make->process->first_call + i;

			if (timeline_call(make->timeline, call).begin_ns >= to_ns)
				break;
			follow_call(make, (uint32_t)call);
		}
		for (size_t i = 0; i < make->worker_count; i++)
			follow_iterations(make, &make->workers[i],
				&make->threads[make->workers[i].last_thread], true, SIZE_MAX);
	}
	end_process(make);
}

static void choose_iterations(struct replay_job *job, size_t most)
{
	size_t count = replay_iterations(job->analysis);

	job->iteration_count = count < most ? count : most;
	job->first_used = (count - job->iteration_count) / 2;
	job->marks = mem_alloc(job->analysis->worker_count * job->iteration_count * 2, sizeof(*job->marks));
}

/* For most programs: a call is a task of the host and one of the device. What is too much costs nothing. */
static void reserve_tasks(struct replay_job *job)
{
	size_t calls = 0;

	for (size_t w = 0; w < job->analysis->worker_count; w++) {
		const struct analysis_worker *worker = &job->analysis->workers[w];
		const struct iteration *items = worker->iterations.items;

		calls += items[worker->used[job->first_used + job->iteration_count - 1]].call_end -
			 items[worker->used[job->first_used]].first_call;
	}
	mem_reserve((void **)&job->replay.tasks, 0, &job->replay.task_room, sizeof(*job->replay.tasks),
		2 * calls);
}

void replay_build(const struct analysis *analysis, size_t most, struct replay_job *job)
{
	const struct timeline *timeline = &analysis->timeline;
	struct make make = {.job = job, .timeline = timeline};

	memset(job, 0, sizeof(*job));
	job->analysis = analysis;
	replay_layers(job);
	choose_iterations(job, most);
	if (job->iteration_count == 0)
		return;
	reserve_tasks(job);
	make.by_interval = mem_alloc(timeline->interval_count, sizeof(*make.by_interval));
	make.by_call = mem_alloc(timeline->call_count, sizeof(*make.by_call));
	make.arrivals = mem_alloc(timeline->interval_count, sizeof(*make.arrivals));
	make.queues = mem_alloc(timeline->queue_count, sizeof(*make.queues));
	make.workers = mem_alloc(analysis->worker_count, sizeof(*make.workers));
	for (uint32_t i = 0; i < timeline->process_count; i++)
		make_process(&make, i);
	make_meetings(&make);
	job->cycle_count = replay_put_in_order(job, make.links, make.link_count);
	replay_end_parts(job);
	job->negative_count = replay_explain(&job->replay);
	free(make.by_interval);
	free(make.by_call);
	free(make.arrivals);
	free(make.queues);
	free(make.workers);
	free(make.links);
}
