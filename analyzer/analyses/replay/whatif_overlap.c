/*
 * Communication that waits for nothing but its data: see whatif.h. The job's edges are taken apart and put
 * together again: what communication waited for in its queue is left out, and what followed it there waits
 * for the work before it.
 */
#include "replay_make.h"
#include "whatif.h"

#include <stdlib.h>
#include <string.h>

/* A communication with layers. */
struct hidden {
	uint32_t arrival, transfer;
	uint32_t queue, worker, iteration;
	int64_t ready_ns; /* when its gradients were there */
};

/* A communication of a layer's gradients. */
struct served {
	uint32_t transfer, next; /* next: place in the list, or REPLAY_NONE */
};

/* Work of a device that a hidden communication waited for, directly or after others. */
struct behind {
	uint32_t task, next; /* next: place in the list, or REPLAY_NONE */
};

struct unbinding {
	struct replay_job *job;
	uint32_t *backward; /* [iteration][worker][layer]: the task that ends last, or REPLAY_NONE */
	uint32_t *served;   /* likewise: the first in `serves` */
	struct served *serves;
	size_t serve_count, serve_room;
	struct hidden *hidden;
	size_t hidden_count, hidden_room;
	bool *is_hidden;    /* by task: arrivals and transfers */
	uint32_t *arrivals; /* by task: of a transfer */
	uint32_t *behind;   /* by task: of a hidden transfer the first in `behinds`, or REPLAY_NONE */
	struct behind *behinds;
	size_t behind_count, behind_room;
	struct replay_link *links;
	size_t link_count, link_room;
};

static size_t place_of(const struct unbinding *all, const struct replay_work *work, uint32_t layer)
{
	return (work->iteration * all->job->analysis->worker_count + work->worker) * all->job->layer_count +
	       layer;
}

static bool in_iteration(const struct replay_work *work)
{
	return work->iteration != REPLAY_NONE && work->worker != REPLAY_NONE;
}

static void find_producers(struct unbinding *all)
{
	const struct replay_job *job = all->job;

	for (uint32_t i = 0; i < job->replay.task_count; i++) {
		const struct replay_work *work = &job->works[i];

		if (work->kind != REPLAY_DEVICE || work->phase != PHASE_BACKWARD || !in_iteration(work))
			continue;
		for (uint32_t p = work->part; p != REPLAY_NONE; p = job->parts[p].next) {
			uint32_t *last = &all->backward[place_of(all, work, job->parts[p].layer)];

			if (*last == REPLAY_NONE ||
				job->replay.tasks[*last].end_ns < job->replay.tasks[i].end_ns)
				*last = i;
		}
	}
}

static uint32_t arrival_of(const struct replay_job *job, uint32_t transfer)
{
	const struct replay_task *task = &job->replay.tasks[transfer];

	for (uint32_t j = 0; j < task->edge_count; j++) {
		uint32_t before = job->replay.edges[task->first_edge + j].task;

		if (job->works[before].kind == REPLAY_ARRIVAL)
			return before;
	}
	return REPLAY_NONE;
}

/* Messages between stages are no sums of gradients. */
static bool is_message(const struct replay_job *job, uint32_t task)
{
	const struct timeline *timeline = &job->analysis->timeline;
	uint64_t peer;

	return timeline_value(timeline,
		&timeline->operations[timeline_call(timeline, job->works[task].call).operation], "peer",
		&peer);
}

/* Communication of which layers are known, and that did not begin before their gradients were there. */
static void find_hidden(struct unbinding *all)
{
	const struct replay_job *job = all->job;
	const struct timeline *timeline = &job->analysis->timeline;

	for (uint32_t i = 0; i < job->replay.task_count; i++) {
		const struct replay_work *work = &job->works[i];
		uint32_t arrival;
		int64_t ready_ns = INT64_MIN;

		if (work->kind != REPLAY_TRANSFER)
			continue;
		arrival = all->arrivals[i] = arrival_of(job, i);
		if (arrival == REPLAY_NONE || work->phase != PHASE_COMMUNICATION || !in_iteration(work) ||
			is_message(job, i))
			continue;
		for (uint32_t p = work->part; p != REPLAY_NONE; p = job->parts[p].next) {
			uint32_t last = all->backward[place_of(all, work, job->parts[p].layer)];

			if (last != REPLAY_NONE && job->replay.tasks[last].end_ns > ready_ns)
				ready_ns = job->replay.tasks[last].end_ns;
		}
		if (ready_ns == INT64_MIN || ready_ns > job->replay.tasks[arrival].begin_ns)
			continue;
		*MEM_PUSH(all->hidden, all->hidden_count, all->hidden_room) = (struct hidden){arrival, i,
			timeline_interval(timeline, timeline_call(timeline, work->call).interval).queue,
			work->worker, work->iteration, ready_ns};
		all->is_hidden[i] = all->is_hidden[arrival] = true;
		for (uint32_t p = work->part; p != REPLAY_NONE; p = job->parts[p].next) {
			size_t place = place_of(all, work, job->parts[p].layer);

			*MEM_PUSH(all->serves, all->serve_count, all->serve_room) =
				(struct served){i, all->served[place]};
			all->served[place] = (uint32_t)(all->serve_count - 1);
		}
	}
}

static void link_to(struct unbinding *all, uint32_t task, uint32_t before, int64_t lag_ns)
{
	if (before != REPLAY_NONE && before != task)
		*MEM_PUSH(all->links, all->link_count, all->link_room) =
			(struct replay_link){task, before, lag_ns};
}

/* Work of one lane, a queue or a host's thread that stands in for one, is done in its order. */
static uint64_t lane_of(const struct replay_job *job, uint32_t task)
{
	const struct timeline *timeline = &job->analysis->timeline;
	const struct timeline_call call = timeline_call(timeline, job->works[task].call);
	uint32_t queue;

	if (call.interval_count == 0)
		return (uint64_t)(job->works[task].worker + 1) << 32 | call.thread;
	queue = timeline_interval(timeline, call.interval).queue;
	return queue ? queue : call.queue;
}

/* Of each lane the last stands for those before it. */
static void add_behind(struct unbinding *all, uint32_t transfer, uint32_t task)
{
	const uint64_t lane = lane_of(all->job, task);

	for (uint32_t b = all->behind[transfer]; b != REPLAY_NONE; b = all->behinds[b].next)
		if (lane_of(all->job, all->behinds[b].task) == lane) {
			if (all->behinds[b].task < task)
				all->behinds[b].task = task;
			return;
		}
	*MEM_PUSH(all->behinds, all->behind_count, all->behind_room) =
		(struct behind){task, all->behind[transfer]};
	all->behind[transfer] = (uint32_t)(all->behind_count - 1);
}

/* The device's work before each hidden communication, and before the one that this followed, and so on. Tasks
 * are in order: what is known of the earlier ones serves the later. */
static void find_behind(struct unbinding *all)
{
	const struct replay *replay = &all->job->replay;

	for (uint32_t i = 0; i < replay->task_count; i++) {
		const struct replay_task *arrival;
		uint32_t further = REPLAY_NONE;

		if (!all->is_hidden[i] || all->job->works[i].kind != REPLAY_TRANSFER)
			continue;
		arrival = &replay->tasks[all->arrivals[i]];
		for (uint32_t j = 0; j < arrival->edge_count; j++) {
			uint32_t before = replay->edges[arrival->first_edge + j].task;

			if (all->is_hidden[before])
				further = before;
			else if (all->job->works[before].kind == REPLAY_DEVICE)
				add_behind(all, i, before);
		}
		for (uint32_t b = further == REPLAY_NONE ? REPLAY_NONE : all->behind[further];
			b != REPLAY_NONE; b = all->behinds[b].next)
			add_behind(all, i, all->behinds[b].task);
	}
}

/* An update waits for the gradients of its layers. */
static void link_update(struct unbinding *all, uint32_t task)
{
	const struct replay_job *job = all->job;
	const struct replay_work *work = &job->works[task];

	for (uint32_t p = work->part; p != REPLAY_NONE; p = job->parts[p].next) {
		uint32_t serve = all->served[place_of(all, work, job->parts[p].layer)];

		for (; serve != REPLAY_NONE; serve = all->serves[serve].next)
			link_to(all, task, all->serves[serve].transfer, 0);
	}
}

static void link_behind(struct unbinding *all, uint32_t task, uint32_t transfer)
{
	for (uint32_t b = all->behind[transfer]; b != REPLAY_NONE; b = all->behinds[b].next)
		link_to(all, task, all->behinds[b].task, 0);
}

static void link_tasks(struct unbinding *all)
{
	const struct replay_job *job = all->job;

	for (uint32_t i = 0; i < job->replay.task_count; i++) {
		const struct replay_task *task = &job->replay.tasks[i];
		const struct replay_work *work = &job->works[i];
		bool update =
			work->kind == REPLAY_DEVICE && work->phase == PHASE_UPDATE && in_iteration(work);

		if (work->kind == REPLAY_ARRIVAL && all->is_hidden[i])
			continue;
		if (update)
			link_update(all, i);
		for (uint32_t j = 0; j < task->edge_count; j++) {
			const struct replay_edge *edge = &job->replay.edges[task->first_edge + j];

			if (work->kind == REPLAY_DEVICE && all->is_hidden[edge->task])
				link_behind(all, i, edge->task);
			if (work->kind != REPLAY_DEVICE || !all->is_hidden[edge->task] ||
				(update && work->part == REPLAY_NONE))
				link_to(all, i, edge->task, edge->lag_ns);
		}
	}
}

static int compare_hidden(const void *left, const void *right)
{
	const struct hidden *a = left, *b = right;

	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	if (a->queue != b->queue)
		return a->queue < b->queue ? -1 : 1;
	if (a->ready_ns != b->ready_ns)
		return a->ready_ns < b->ready_ns ? -1 : 1;
	return a->arrival < b->arrival ? -1 : a->arrival > b->arrival;
}

/* What is hidden waits for its gradients and, in its queue, for what had its gradients earlier. */
static void link_hidden(struct unbinding *all)
{
	const struct replay_job *job = all->job;

	qsort(all->hidden, all->hidden_count, sizeof(*all->hidden), compare_hidden);
	for (size_t i = 0; i < all->hidden_count; i++) {
		const struct hidden *item = &all->hidden[i];
		const struct replay_work *work = &job->works[item->transfer];

		for (uint32_t p = work->part; p != REPLAY_NONE; p = job->parts[p].next)
			link_to(all, item->arrival, all->backward[place_of(all, work, job->parts[p].layer)],
				0);
		if (i > 0 && item[-1].worker == item->worker && item[-1].queue == item->queue)
			link_to(all, item->arrival, item[-1].transfer, 0);
	}
}

void whatif_overlap(struct replay_job *job)
{
	size_t places = job->iteration_count * job->analysis->worker_count * job->layer_count;
	struct unbinding all = {.job = job,
		.backward = mem_alloc(places, sizeof(uint32_t)),
		.served = mem_alloc(places, sizeof(uint32_t)),
		.is_hidden = mem_alloc(job->replay.task_count, sizeof(bool)),
		.arrivals = mem_alloc(job->replay.task_count, sizeof(uint32_t)),
		.behind = mem_alloc(job->replay.task_count, sizeof(uint32_t))};

	memset(all.backward, 0xff, places * sizeof(uint32_t));
	memset(all.served, 0xff, places * sizeof(uint32_t));
	memset(all.behind, 0xff, job->replay.task_count * sizeof(uint32_t));
	find_producers(&all);
	find_hidden(&all);
	if (all.hidden_count > 0) {
		link_hidden(&all);
		find_behind(&all);
		link_tasks(&all);
		for (size_t i = 0; i < job->replay.task_count; i++)
			if (all.is_hidden[i] && job->works[i].kind == REPLAY_ARRIVAL)
				job->replay.tasks[i].earliest_ns = INT64_MIN;
		job->cycle_count += replay_put_in_order(job, all.links, all.link_count);
	}
	free(all.backward);
	free(all.served);
	free(all.serves);
	free(all.hidden);
	free(all.is_hidden);
	free(all.arrivals);
	free(all.behind);
	free(all.behinds);
	free(all.links);
}
