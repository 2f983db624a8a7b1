/* Processes into jobs: see timeline_job.h. What shares a communicator is put together first, and these pieces
 * then into jobs, in order of their start. */
#include "timeline_job.h"

#include <stdlib.h>
#include <string.h>

#define APART_NS \
	60000000000 /* recordings of one job are no farther apart: ranks begin at different times \
		     */
#define EPOCH_NS 100000000000000000 /* times beyond are those of a wall clock */

struct span {
	int64_t begin_ns, end_ns; /* wall clock; begin > end: not known */
};

struct sorting {
	struct timeline *timeline;
	struct span *spans; /* by process */
	uint32_t *parents;  /* by process */
	bool *connected;    /* by process: has a communicator of several ranks, of our own traces */
};

static struct span span_of(const struct timeline *timeline, const struct timeline_process *process)
{
	struct span span = {1, 0};
	int64_t offset_ns = process->recorder ? 0 : process->real_offset_ns;

	if (process->call_count == 0)
		return span;
	span = (struct span){timeline_call(timeline, process->first_call).begin_ns + offset_ns,
		timeline_call(timeline, process->first_call + process->call_count - 1).end_ns + offset_ns};
	return span.begin_ns > EPOCH_NS ? span : (struct span){1, 0};
}

static uint32_t root(uint32_t *parents, uint32_t i)
{
	while (parents[i] != i)
		i = parents[i] = parents[parents[i]];
	return i;
}

/* Is it not known that they ran at different times? */
static bool may_meet(const struct span *a, const struct span *b)
{
	if (a->begin_ns > a->end_ns || b->begin_ns > b->end_ns)
		return true;
	return a->begin_ns <= b->end_ns + APART_NS && b->begin_ns <= a->end_ns + APART_NS;
}

struct member {
	uint64_t hash;
	uint32_t process;
};

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

/* What of our own traces has a communicator of several ranks. Others' are known by names, which all jobs
 * have. */
static struct member *list_members(struct sorting *sorting, size_t *count)
{
	const struct timeline *timeline = sorting->timeline;
	struct member *members = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t o = 0; o < timeline->operation_count; o++) {
		const struct timeline_operation *operation = &timeline->operations[o];
		const struct timeline_function *function = &timeline->functions[operation->function];

		if (operation->process >= timeline->process_count ||
			timeline->processes[operation->process].recorder)
			continue;
		for (uint32_t v = 0; v < operation->value_count && v < function->label_count; v++) {
			const struct timeline_communicator *communicator;

			if (function->labels[v].type != PM_VALUE_COMMUNICATOR ||
				operation->values[v] >= timeline->communicator_count)
				continue;
			communicator = &timeline->communicators[operation->values[v]];
			if (communicator->size < 2 || communicator->hash == 0)
				continue;
			sorting->connected[operation->process] = true;
			*MEM_PUSH(members, *count, room) =
				(struct member){communicator->hash, operation->process};
		}
	}
	return members;
}

/* Do two files of labelled phases each say what the same several workers did? */
static bool same_workers(const struct timeline *timeline, size_t process, size_t other)
{
	const struct timeline_process *all = timeline->processes;
	size_t own = 0, common = 0;

	for (size_t i = 0; i < timeline->process_count; i++) {
		if (strcmp(all[i].path, all[process].path) != 0)
			continue;
		own++;
		for (size_t j = 0; j < timeline->process_count; j++)
			common += strcmp(all[j].path, all[other].path) == 0 && all[j].pid == all[i].pid;
	}
	return own > 1 && common >= own;
}

static bool same_launch(const struct timeline_process *one, const struct timeline_process *other)
{
	return trace_attempt_same_job(&one->attempt, one->host, &other->attempt, other->host);
}

static bool conflict(const struct timeline *timeline, size_t a, size_t b)
{
	const struct timeline_process *one = &timeline->processes[a], *other = &timeline->processes[b];

	if (strcmp(one->path, other->path) == 0)
		return false;
	if (same_launch(one, other) && one->attempt.restart != other->attempt.restart)
		return true;
	if (one->given_rank >= 0 && other->given_rank >= 0)
		return one->given_rank == other->given_rank;
	return one->recorder && other->recorder && strstr(one->recorder, "label") && one->pid == other->pid &&
	       same_workers(timeline, a, b);
}

/* Does no process of one piece claim what one of the other does? */
static bool pieces_agree(struct sorting *sorting, uint32_t one, uint32_t other)
{
	size_t count = sorting->timeline->process_count;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < count && root(sorting->parents, i) == one; j++)
			if (root(sorting->parents, j) == other && conflict(sorting->timeline, i, j))
				return false;
	return true;
}

/* A communicator's number can come again in another launch: what claims the same rank is not connected. */
static void connect(struct sorting *sorting)
{
	size_t count;
	struct member *members = list_members(sorting, &count);

	if (count)
		qsort(members, count, sizeof(*members), compare_members);
	for (size_t i = 1; i < count; i++) {
		uint32_t one = root(sorting->parents, members[i].process),
			 other = root(sorting->parents, members[i - 1].process);

		if (one != other && members[i].hash == members[i - 1].hash &&
			may_meet(&sorting->spans[members[i].process],
				&sorting->spans[members[i - 1].process]) &&
			pieces_agree(sorting, one, other))
			sorting->parents[one] = other;
	}
	free(members);
}

/* May the two processes, of different pieces, be of one job? */
static bool agree(const struct sorting *sorting, size_t a, size_t b)
{
	const struct timeline_process *one = &sorting->timeline->processes[a],
				      *other = &sorting->timeline->processes[b];

	return strcmp(one->program, other->program) == 0 &&
	       (one->world <= 0 || other->world <= 0 || one->world == other->world) &&
	       may_meet(&sorting->spans[a], &sorting->spans[b]) && !conflict(sorting->timeline, a, b);
}

/* A piece joins a job if none of its processes speaks against it. */
static bool fits(struct sorting *sorting, const uint32_t *job_of, uint32_t job, uint32_t piece)
{
	size_t count = sorting->timeline->process_count;

	for (uint32_t i = 0; i < count; i++) {
		if (root(sorting->parents, i) != piece)
			continue;
		for (uint32_t j = 0; j < count; j++)
			if (job_of[j] == job &&
				(!agree(sorting, i, j) || (sorting->connected[i] && sorting->connected[j])))
				return false;
	}
	return true;
}

/* The piece that begins first of those without a job; false: all have one. */
static bool next_piece(struct sorting *sorting, const uint32_t *job_of, uint32_t *piece)
{
	int64_t least_ns = INT64_MAX;
	bool found = false;

	for (uint32_t i = 0; i < sorting->timeline->process_count; i++) {
		int64_t begin_ns = sorting->spans[i].begin_ns;

		if (job_of[i] != UINT32_MAX || (found && begin_ns >= least_ns))
			continue;
		found = true;
		least_ns = begin_ns;
		*piece = root(sorting->parents, i);
	}
	return found;
}

static struct timeline_job *describe(struct sorting *sorting, const uint32_t *job_of, size_t count)
{
	struct timeline *timeline = sorting->timeline;
	struct timeline_job *jobs = arena_alloc(&timeline->arena, count, sizeof(*jobs));

	for (uint32_t i = 0; i < timeline->process_count; i++) {
		struct timeline_job *job = &jobs[job_of[i]];
		const struct span *span = &sorting->spans[i];

		if (job->process_count++ == 0)
			*job = (struct timeline_job){
				.program = timeline->processes[i].program, .process_count = 1, .first = i};
		if (timeline->processes[i].world > job->world)
			job->world = timeline->processes[i].world;
		if (span->begin_ns <= span->end_ns && (job->start_ns == 0 || span->begin_ns < job->start_ns))
			job->start_ns = span->begin_ns;
	}
	return jobs;
}

size_t timeline_jobs(struct timeline *timeline, uint32_t *job_of, struct timeline_job **jobs)
{
	size_t processes = timeline->process_count, count = 0;
	struct sorting sorting = {.timeline = timeline,
		.spans = mem_alloc(processes, sizeof(*sorting.spans)),
		.parents = mem_alloc(processes, sizeof(*sorting.parents)),
		.connected = mem_alloc(processes, sizeof(*sorting.connected))};
	uint32_t piece = 0;

	for (uint32_t i = 0; i < processes; i++) {
		sorting.spans[i] = span_of(timeline, &timeline->processes[i]);
		sorting.parents[i] = i;
		job_of[i] = UINT32_MAX;
	}
	connect(&sorting);
	while (next_piece(&sorting, job_of, &piece)) {
		uint32_t job = 0;

		while (job < count && !fits(&sorting, job_of, job, piece))
			job++;
		count += job == count;
		for (uint32_t i = 0; i < processes; i++)
			if (root(sorting.parents, i) == piece)
				job_of[i] = job;
	}
	*jobs = describe(&sorting, job_of, count);
	free(sorting.spans);
	free(sorting.parents);
	free(sorting.connected);
	return count;
}

/* Does some process of one job say that it is of the same launch as one of the other? */
static bool share_launch(const struct timeline *timeline, const uint32_t *job_of, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < timeline->process_count; i++)
		for (size_t k = 0; job_of[i] == a && k < timeline->process_count; k++)
			if (job_of[k] == b && same_launch(&timeline->processes[i], &timeline->processes[k]))
				return true;
	return false;
}

bool timeline_last_attempt(const struct timeline *timeline, const uint32_t *job_of,
	const struct timeline_job *jobs, size_t count, size_t *last)
{
	int most = -1;

	for (uint32_t job = 0; job < count; job++) {
		const int restart = timeline->processes[jobs[job].first].attempt.restart;

		if (job > 0 && !share_launch(timeline, job_of, job - 1, job))
			return false;
		/* Of the same number the later one: the launcher has changed how many ranks there are. */
		if (restart >= most) {
			most = restart;
			*last = job;
		}
	}
	return count > 1;
}
