/*
 * The workers of a run: see worker.h. What a call is, its operation says; so the calls are walked but twice,
 * to see which devices compute, and to hand the calls out.
 */
#include "worker_list.h"

#include <stdlib.h>

bool worker_is_core(enum pm_kind kind)
{
	return kind == PM_KIND_FORWARD || kind == PM_KIND_BACKWARD || kind == PM_KIND_COMPUTE ||
	       kind == PM_KIND_LAUNCH;
}

static struct worker *find_worker(struct worker_model *model, uint32_t process, int32_t device)
{
	for (size_t i = model->worker_count; i > 0 && model->workers[i - 1].process == process; i--)
		if (model->workers[i - 1].device == device)
			return &model->workers[i - 1];
	return NULL;
}

static int compare_workers(const void *left, const void *right)
{
	const struct worker *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->device < b->device ? -1 : a->device > b->device;
}

#define MOST_DEVICES 64 /* of one process: more is damage */

/* What is asked of each call, and the same for all calls of an operation. */
struct what {
	bool core, work, copies, reads;
	int64_t end_device; /* that a copy ends on, + 1; 0: it says none */
};

/* By operation of the process. */
static struct what *list_what(const struct timeline *timeline, const struct timeline_process *process)
{
	struct what *list = mem_alloc(process->operation_count, sizeof(*list));

	for (uint32_t i = 0; i < process->operation_count; i++) {
		const struct timeline_operation *operation =
			&timeline->operations[process->first_operation + i];
		const struct timeline_function *function = &timeline->functions[operation->function];
		struct what *what = &list[i];
		uint64_t device;

		what->core = worker_is_core(function->kind) || timeline_is_launch(function);
		what->work = timeline_is_device_kind(function->kind) &&
			     (function->kind != PM_KIND_GRAPH || timeline_is_launch(function));
		what->copies = function->kind == PM_KIND_COPY;
		what->reads = function->kind == PM_KIND_READ;
		if (what->work && timeline_value(timeline, operation, "dst_device", &device))
			what->end_device = (int64_t)(int32_t)device + 1;
	}
	return list;
}

/* The devices of the queues that computations, or graphs of them, are on. */
static void list_workers(struct worker_model *model, uint32_t number, const struct what *list)
{
	const struct timeline *timeline = model->timeline;
	const struct timeline_process *process = &timeline->processes[number];
	size_t first = model->worker_count;
	uint32_t last_queue = UINT32_MAX;

	for (size_t i = 0; i < process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, process->first_call + i);
		int32_t device;

		if (call->queue == last_queue || !list[call->operation - process->first_operation].core)
			continue;
		last_queue = call->queue;
		device = timeline->queues[call->queue].device;
		if (find_worker(model, number, device) || model->worker_count - first >= MOST_DEVICES)
			continue;
		*MEM_PUSH(model->workers, model->worker_count, model->worker_room) =
			(struct worker){.process = number, .device = device};
	}
	if (model->worker_count > first)
		qsort(model->workers + first, model->worker_count - first, sizeof(*model->workers),
			compare_workers);
}

/* The device that a thread serves: its number + 1; 0 none yet; -1 several. */
static void set_thread_device(int64_t *thread, int32_t device)
{
	if (*thread == 0)
		*thread = (int64_t)device + 1;
	else if (*thread != (int64_t)device + 1)
		*thread = -1;
}

static void add_call(struct worker *worker, uint32_t call)
{
	*MEM_PUSH(worker->calls, worker->call_count, worker->call_room) = call;
}

/* Does one thread alone read? */
static bool is_read_by_one(const struct worker_model *model, const uint32_t *reads, size_t read_count)
{
	for (size_t i = 1; i < read_count; i++)
		if (timeline_call(model->timeline, reads[i]).thread !=
			timeline_call(model->timeline, reads[0]).thread)
			return false;
	return true;
}

/*
 * A thread that serves one device reads for it, where others read too; else it reads for all. Of a loader in
 * a thread that computes nothing is not known whether those that do wait for it, except where the framework's
 * operations on devices wait for it.
 */
static void give_reads(struct worker_model *model, uint32_t number, const int64_t *threads,
	const uint32_t *reads, size_t read_count)
{
	const bool one = is_read_by_one(model, reads, read_count);

	for (size_t i = 0; i < read_count; i++) {
		const struct timeline_call *read = TIMELINE_CALL(model->timeline, reads[i]);
		const struct timeline_function *function = timeline_function(model->timeline, read);
		int64_t thread = function->is_awaited ? -1 : threads[read->thread];

		if (thread == 0 && function->is_range)
			continue;

		for (size_t w = model->worker_count; w > 0 && model->workers[w - 1].process == number; w--) {
			struct worker *worker = &model->workers[w - 1];

			if (one || thread <= 0 || thread == (int64_t)worker->device + 1)
				*MEM_PUSH(worker->reads, worker->read_count, worker->read_room) = reads[i];
		}
	}
}

static void fill_workers(struct worker_model *model, uint32_t number, const struct what *list)
{
	const struct timeline *timeline = model->timeline;
	const struct timeline_process *process = &timeline->processes[number];
	int64_t *threads = mem_alloc(process->thread_count, sizeof(*threads));
	uint32_t *reads = NULL, last_queue = UINT32_MAX;
	size_t read_count = 0, read_room = 0;
	struct worker *worker = NULL;
	int32_t device = 0;

	for (size_t i = 0; i < process->call_count; i++) {
		uint32_t place = (uint32_t)(process->first_call + i);
		const struct timeline_call *call = TIMELINE_CALL(timeline, place);
		const struct what *what = &list[call->operation - process->first_operation];

		if (what->reads && call->result >= 0)
			*MEM_PUSH(reads, read_count, read_room) = place;
		if (!what->work || call->result != 0 || (call->flags & PM_FLAG_CAPTURED))
			continue;
		if (call->queue != last_queue) {
			last_queue = call->queue;
			device = timeline->queues[call->queue].device;
			worker = find_worker(model, number, device);
		}
		if (worker)
			add_call(worker, place);
		if (!what->copies)
			set_thread_device(&threads[call->thread], device);
		/* A copy between devices is work of both. */
		if (what->end_device && what->end_device != (int64_t)device + 1) {
			struct worker *other = find_worker(model, number, (int32_t)(what->end_device - 1));

			if (other)
				add_call(other, place);
		}
	}
	give_reads(model, number, threads, reads, read_count);
	free(threads);
	free(reads);
}

void worker_list(struct worker_model *model)
{
	const struct timeline *timeline = model->timeline;

	for (uint32_t i = 0; i < timeline->process_count; i++) {
		struct what *list = list_what(timeline, &timeline->processes[i]);

		list_workers(model, i, list);
		fill_workers(model, i, list);
		free(list);
	}
}
