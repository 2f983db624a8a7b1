/* From labelled events to a job: where each worker stands, which step each operation is of. See labelled.h.
 */
#include "labelled.h"
#include "base/statistics.h"
#include "base/limit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void labelled_warn(struct labelled *job, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	*MEM_PUSH(job->warnings, job->warning_count, job->warning_room) =
		arena_text(&job->arena, text, strlen(text));
}

void labelled_free(struct labelled *job)
{
	free(job->operations);
	free(job->workers);
	free(job->steps);
	free(job->warnings);
	free(job->files);
	free(job->threads);
	lookup_free(&job->thread_lookup);
	arena_free(&job->arena);
	memset(job, 0, sizeof(*job));
}

/* The place of a thread: what arguments say, else its name, its process's name, and with several files the
 * file's. */
static struct labelled_place place_of(struct labelled *job, const struct labelled_thread *thread)
{
	uint32_t process = labelled_look_up(job, thread->file, thread->process, INT64_MIN);
	struct labelled_place place = thread->place;

	if (thread->name)
		labelled_place_of(thread->name, &place);
	if (process != LABELLED_NONE && job->threads[process].name)
		labelled_place_of(job->threads[process].name, &place);
	if (job->file_count > 1) {
		const char *name = strrchr(job->files[thread->file], '/');

		labelled_place_of(name ? name + 1 : job->files[thread->file], &place);
	}
	return place;
}

/* Places by rank alone, in Megatron's order: tensor ranks adjacent, then data ranks, then stages. */
static void place_ranks(struct labelled_place *places, size_t count, int32_t stages, int32_t tensors)
{
	int32_t greatest = 0, data;

	for (size_t i = 0; i < count; i++)
		greatest = places[i].rank > greatest ? places[i].rank : greatest;
	data = (greatest + 1) / (stages * tensors);
	data = data < 1 ? 1 : data;
	for (size_t i = 0; i < count; i++) {
		int32_t rank = places[i].rank;

		places[i].tensor = rank % tensors;
		places[i].data = rank / tensors % data;
		places[i].stage = rank / tensors / data;
	}
}

static bool has_messages(const struct labelled *job)
{
	for (size_t i = 0; i < job->operation_count; i++)
		if (job->operations[i].type >= LABELLED_FORWARD_SEND &&
			job->operations[i].type <= LABELLED_BACKWARD_RECV)
			return true;
	return false;
}

/* Where the data say ranks at most, those (or processes in order) are placed. */
static int place_unknown(struct labelled *job, struct labelled_place *places, int32_t stages, int32_t tensors,
	const char **error)
{
	bool known = false, ranked = true;
	int32_t greatest = -1;

	for (size_t i = 0; i < job->thread_count; i++) {
		known = known || places[i].data >= 0 || places[i].stage >= 0;
		ranked = ranked && (places[i].rank >= 0 || job->threads[i].thread == INT64_MIN);
	}
	if (known) {
		if (stages)
			labelled_warn(job, "--pipeline is not needed: the trace gives data ranks or stages");
		return 0;
	}
	for (size_t i = 0; i < job->thread_count; i++) {
		int64_t number = ranked ? places[i].rank : job->threads[i].process;

		if (number < 0 || number > 10000000) {
			if (job->threads[i].thread == INT64_MIN)
				continue;
			*error = "the trace gives neither data ranks, pipeline stages nor process ranks";
			return -1;
		}
		places[i].rank = (int32_t)number;
		greatest = places[i].rank > greatest ? places[i].rank : greatest;
	}
	tensors = tensors ? tensors : 1;
	if (!stages) {
		stages = has_messages(job) ? (greatest + 1) / tensors : 1;
		labelled_warn(job,
			"the trace gives no data ranks and stages: its ranks are taken as %s (override "
			"with --pipeline N)",
			stages > 1 ? "stages of one pipeline" : "data ranks");
	}
	if (stages < 1 || (greatest + 1) % (stages * tensors) != 0) {
		*error = arena_format(&job->arena, "%d ranks cannot form %d stages of %d tensor ranks each",
			greatest + 1, stages, tensors);
		return -1;
	}
	place_ranks(places, job->thread_count, stages, tensors);
	return 0;
}

static int compare_workers(const void *a, const void *b)
{
	const struct labelled_worker *one = a, *other = b;

	if (one->stage != other->stage)
		return one->stage < other->stage ? -1 : 1;
	if (one->data != other->data)
		return one->data < other->data ? -1 : 1;
	return one->tensor < other->tensor ? -1 : one->tensor > other->tensor;
}

static int32_t count_of(int32_t count, int32_t number)
{
	return number + 1 > count ? number + 1 : count;
}

static void find_workers(struct labelled *job, const struct labelled_place *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->operation_count; i++) {
		const struct labelled_place *place = &places[job->operations[i].worker];
		struct labelled_worker worker = {.stage = place->stage < 0 ? 0 : place->stage,
			.data = place->data < 0 ? 0 : place->data,
			.tensor = place->tensor < 0 ? 0 : place->tensor};

		if (i > 0 && job->operations[i].worker == job->operations[i - 1].worker)
			continue;
		*MEM_PUSH(job->workers, job->worker_count, job->worker_room) = worker;
		job->stage_count = count_of(job->stage_count, worker.stage);
		job->data_count = count_of(job->data_count, worker.data);
		job->tensor_count = count_of(job->tensor_count, worker.tensor);
	}
	qsort(job->workers, job->worker_count, sizeof(*job->workers), compare_workers);
	for (size_t i = 0; i < job->worker_count; i++)
		if (i == 0 || compare_workers(&job->workers[kept - 1], &job->workers[i]) != 0)
			job->workers[kept++] = job->workers[i];
	job->worker_count = kept;
	job->lane_count = job->data_count * job->tensor_count;
	for (size_t i = 0; i < kept; i++) {
		struct labelled_worker *worker = &job->workers[i];

		worker->lane = worker->data * job->tensor_count + worker->tensor;
		worker->name = job->tensor_count > 1
				       ? arena_format(&job->arena, "dp%d/pp%d/tp%d", worker->data,
						 worker->stage, worker->tensor)
				       : arena_format(&job->arena, "dp%d/pp%d", worker->data, worker->stage);
	}
}

static void place_operations(struct labelled *job, const struct labelled_place *places)
{
	uint32_t *workers = mem_alloc(job->thread_count, sizeof(*workers));

	for (size_t i = 0; i < job->thread_count; i++) {
		struct labelled_worker key = {.stage = places[i].stage < 0 ? 0 : places[i].stage,
			.data = places[i].data < 0 ? 0 : places[i].data,
			.tensor = places[i].tensor < 0 ? 0 : places[i].tensor};
		const struct labelled_worker *found = bsearch(
			&key, job->workers, job->worker_count, sizeof(*job->workers), compare_workers);

		workers[i] = found ? (uint32_t)(found - job->workers) : 0;
	}
	for (size_t i = 0; i < job->operation_count; i++) {
		struct labelled_operation *operation = &job->operations[i];

		operation->worker = workers[operation->worker];
		job->chunk_count = count_of(job->chunk_count, operation->chunk);
	}
	job->chunk_count = job->chunk_count < 1 ? 1 : job->chunk_count;
	free(workers);
}

static int compare_times(const struct labelled_operation *one, const struct labelled_operation *other)
{
	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	if (one->sequence != other->sequence)
		return one->sequence < other->sequence ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns < other->end_ns ? -1 : 1;
	return one->type < other->type ? -1 : one->type > other->type;
}

static int compare_by_worker(const void *a, const void *b)
{
	const struct labelled_operation *one = a, *other = b;

	if (one->worker != other->worker)
		return one->worker < other->worker ? -1 : 1;
	return compare_times(one, other);
}

static int compare_by_step(const void *a, const void *b)
{
	const struct labelled_operation *one = a, *other = b;

	if (one->step != other->step)
		return one->step < other->step ? -1 : 1;
	return compare_by_worker(a, b);
}

/* Operations without a step are of the one that their worker is at; where none has one, a step ends with the
 * optimizer. Operations are in order of worker and time. */
static void fill_steps(struct labelled *job)
{
	int32_t *next = mem_alloc(job->operation_count + 1, sizeof(*next)), step = 0;
	size_t known = 0;

	for (size_t i = job->operation_count; i-- > 0;)
		next[i] = job->operations[i].step >= 0 ? job->operations[i].step : next[i + 1];
	for (size_t i = 0; i < job->operation_count; i++)
		known += job->operations[i].step >= 0;
	for (size_t i = 0; i < job->operation_count && known < job->operation_count; i++) {
		struct labelled_operation *operation = &job->operations[i];

		if (i == 0 || operation->worker != operation[-1].worker)
			step = next[i];
		if (operation->step >= 0)
			step = operation->step;
		else
			operation->step = step;
		step += known == 0 && operation->type == LABELLED_UPDATE;
	}
	free(next);
	if (known == job->operation_count)
		return;
	labelled_warn(job,
		known ? "%zu operations without a step were assigned the step of the preceding ones"
		      : "the trace does not number its steps: each of %zu operations is assigned to the "
			"step ended by its worker's next optimizer",
		job->operation_count - known);
}

static int compare_numbers(const void *a, const void *b)
{
	int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;

	return one < other ? -1 : one > other;
}

static void number_steps(struct labelled *job)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->operation_count; i++)
		if (i == 0 || job->operations[i].step != job->operations[i - 1].step)
			*MEM_PUSH(job->steps, job->step_count, job->step_room) = job->operations[i].step;
	if (job->step_count)
		qsort(job->steps, job->step_count, sizeof(*job->steps), compare_numbers);
	for (size_t i = 0; i < job->step_count; i++)
		if (i == 0 || job->steps[i] != job->steps[kept - 1])
			job->steps[kept++] = job->steps[i];
	job->step_count = kept;
	for (size_t i = 0; i < job->operation_count; i++) {
		struct labelled_operation *operation = &job->operations[i];

		operation->step = (int32_t)((int32_t *)bsearch(&operation->step, job->steps, kept,
						    sizeof(*job->steps), compare_numbers) -
					    job->steps);
	}
}

/* A step of which workers are missing says nothing about waiting: it is left out, unless all are so. Also
 * collections of garbage inside another operation, whose time they are part of already. */
static void drop(struct labelled *job)
{
	uint32_t *present = mem_alloc(job->step_count, sizeof(*present)), most = 0;
	int64_t compute_end_ns = INT64_MIN;
	size_t kept = 0, lacking = 0;

	for (size_t i = 0; i < job->operation_count; i++) {
		const struct labelled_operation *operation = &job->operations[i];

		if (i == 0 || operation->worker != operation[-1].worker ||
			operation->step != operation[-1].step)
			present[operation->step]++;
	}
	for (size_t i = 0; i < job->step_count; i++)
		most = present[i] > most ? present[i] : most;
	for (size_t i = 0; i < job->operation_count; i++) {
		struct labelled_operation *operation = &job->operations[i];
		bool nested;

		if (i == 0 || operation->worker != operation[-1].worker)
			compute_end_ns = INT64_MIN;
		nested = operation->type == LABELLED_COLLECTION && operation->end_ns > operation->begin_ns &&
			 operation->end_ns <= compute_end_ns;
		if (labelled_is_compute(operation->type) && operation->end_ns > compute_end_ns)
			compute_end_ns = operation->end_ns;
		if (!nested && present[operation->step] == most)
			job->operations[kept++] = *operation;
	}
	for (size_t i = 0; i < job->step_count; i++)
		lacking += present[i] < most;
	if (lacking > 0)
		labelled_warn(job, "%zu of %zu steps lack workers that others have: left out", lacking,
			job->step_count);
	job->dropped += job->operation_count - kept;
	job->operation_count = kept;
	kept = 0;
	for (size_t i = 0; i < job->step_count; i++)
		if (present[i] == most) {
			present[i] = (uint32_t)kept;
			job->steps[kept++] = job->steps[i];
		}
	job->step_count = kept;
	for (size_t i = 0; i < job->operation_count; i++)
		job->operations[i].step = (int32_t)present[job->operations[i].step];
	free(present);
}

/* Threads of computing operations of a file; and how many of them the other file has too. */
static size_t common_threads(
	const struct labelled *job, const bool *computes, uint32_t file, uint32_t other, size_t *own)
{
	size_t common = 0;

	*own = 0;
	for (size_t i = 0; i < job->thread_count; i++) {
		if (!computes[i] || job->threads[i].file != file)
			continue;
		++*own;
		for (size_t j = 0; j < job->thread_count; j++)
			common += computes[j] && job->threads[j].file == other &&
				  job->threads[j].process == job->threads[i].process &&
				  job->threads[j].thread == job->threads[i].thread;
	}
	return common;
}

bool labelled_jobs(struct labelled *job, const char **error)
{
	bool *computes = mem_alloc(job->thread_count + 1, sizeof(*computes)), found = false;
	size_t own;

	for (size_t i = 0; i < job->operation_count; i++)
		computes[job->operations[i].worker] |= labelled_is_compute(job->operations[i].type);
	for (uint32_t other = 1; other < job->file_count && !found; other++)
		if (common_threads(job, computes, 0, other, &own) >= own && own > 1) {
			*error = arena_format(&job->arena,
				"%s and %s have the same workers: they are of different jobs, whose ranks cannot be "
				"compared; name one of them",
				job->files[0], job->files[other]);
			found = true;
		}
	free(computes);
	return found;
}

size_t labelled_warmup(const double *step_ns, size_t count)
{
	double *sorted, median;
	size_t warmup = 0;

	if (count < 5)
		return 0;
	sorted = mem_alloc(count, sizeof(*sorted));
	memcpy(sorted, step_ns, count * sizeof(*sorted));
	median = statistics_median(sorted, count);
	free(sorted);
	while (warmup < count / 2 && step_ns[warmup] > LABELLED_WARMUP * median)
		warmup++;
	return warmup;
}

/* From the first begin to the last end of each step; the caller frees them. */
static double *list_spans(const struct labelled *job)
{
	int64_t *begin_ns = mem_alloc(job->step_count, sizeof(*begin_ns));
	double *spans_ns = mem_alloc(job->step_count, sizeof(*spans_ns));

	for (size_t i = 0; i < job->step_count; i++)
		begin_ns[i] = INT64_MAX;
	for (size_t i = 0; i < job->operation_count; i++) {
		const struct labelled_operation *operation = &job->operations[i];

		if (operation->begin_ns < begin_ns[operation->step])
			begin_ns[operation->step] = operation->begin_ns;
	}
	for (size_t i = 0; i < job->operation_count; i++) {
		const struct labelled_operation *operation = &job->operations[i];

		spans_ns[operation->step] = fmax(
			spans_ns[operation->step], (double)(operation->end_ns - begin_ns[operation->step]));
	}
	free(begin_ns);
	return spans_ns;
}

/* Keeps the steps that are asked for, without warm-up. */
static void choose_steps(struct labelled *job)
{
	double *spans_ns = list_spans(job);
	bool all = !job->choose;
	size_t warmup = all && !job->keep_warmup ? labelled_warmup(spans_ns, job->step_count) : 0, kept = 0;
	int32_t *numbers = mem_alloc(job->step_count, sizeof(*numbers));
	size_t steps = 0;

	for (size_t i = 0; i < job->step_count; i++) {
		bool keep =
			i >= warmup &&
			(all || (job->steps[i] >= job->first_number && job->steps[i] <= job->last_number));

		numbers[i] = keep ? (int32_t)steps : -1;
		if (keep)
			job->steps[steps++] = job->steps[i];
	}
	for (size_t i = 0; i < job->operation_count; i++)
		if (numbers[job->operations[i].step] >= 0) {
			job->operations[kept] = job->operations[i];
			job->operations[kept].step = numbers[job->operations[i].step];
			kept++;
		}
	job->operation_count = kept;
	job->step_count = steps;
	if (warmup)
		labelled_warn(job,
			"%zu step%s at the start take%s over %.1f times the median: left out as warm-up",
			warmup, warmup == 1 ? "" : "s", warmup == 1 ? "s" : "", LABELLED_WARMUP);
	free(numbers);
	free(spans_ns);
}

/* Is the grid of stages, data and tensor ranks within the limit? */
static bool fits(const struct labelled *job, const struct labelled_place *places)
{
	double most = fmin(pm_limit_value(PM_LIMIT_RANKS), INT32_MAX / 2), stages = 1, data = 1, tensors = 1;

	for (size_t i = 0; i < job->thread_count; i++) {
		stages = fmax(stages, places[i].stage + 1.0);
		data = fmax(data, places[i].data + 1.0);
		tensors = fmax(tensors, places[i].tensor + 1.0);
	}
	return stages * data * tensors <= most;
}

int labelled_settle(struct labelled *job, int32_t stage_count, int32_t tensor_count, const char **error)
{
	struct labelled_place *places = mem_alloc(job->thread_count + 1, sizeof(*places));
	size_t compute = 0;
	int status;

	*error = NULL;
	for (size_t i = 0; i < job->operation_count; i++)
		compute += labelled_is_compute(job->operations[i].type);
	if (compute == 0)
		*error = "no operation is labelled as forward or backward compute";
	for (size_t i = 0; i < job->thread_count; i++)
		places[i] = place_of(job, &job->threads[i]);
	status = *error ? -1 : place_unknown(job, places, stage_count, tensor_count, error);
	if (status == 0 && !fits(job, places)) {
		*error = arena_format(&job->arena, "%s", pm_limit_met(PM_LIMIT_RANKS));
		status = -1;
	}
	if (status == 0) {
		find_workers(job, places);
		place_operations(job, places);
		qsort(job->operations, job->operation_count, sizeof(*job->operations), compare_by_worker);
		fill_steps(job);
		number_steps(job);
		drop(job);
		choose_steps(job);
		if (job->operation_count)
			qsort(job->operations, job->operation_count, sizeof(*job->operations),
				compare_by_step);
		else
			*error = "none of its steps has a number that --steps asks for";
		status = *error ? -1 : 0;
	}
	free(places);
	return status;
}
