/* What a labelled job would do with other durations: see slowdown.h. */
#include "slowdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts that differ by less do so by rounding: none of them is the slowest. */
#define SAME 1e-6

static int compare_numbers(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return one < other ? -1 : one > other;
}

double slowdown_run(struct slowdown *slowdown, const int64_t *work_ns)
{
	const struct labelled_graph *graph = slowdown->graph;
	struct replay replay = graph->replay;
	double sum = 0;

	if (!work_ns)
		work_ns = graph->work_ns;
	for (size_t i = 0; i < replay.task_count; i++) {
		uint32_t operation = graph->operation[i];

		replay.tasks[i].duration_ns = operation == LABELLED_NONE ? 0 : work_ns[operation];
	}
	replay_run(&replay, slowdown->begin_ns, slowdown->end_ns);
	for (size_t i = 0; i < slowdown->step_count; i++)
		slowdown->step_ns[i] = 0;
	for (size_t i = 0; i < replay.task_count; i++)
		if ((double)slowdown->end_ns[i] > slowdown->step_ns[graph->step[i]])
			slowdown->step_ns[graph->step[i]] = (double)slowdown->end_ns[i];
	for (size_t i = 0; i < slowdown->step_count; i++)
		sum += slowdown->step_ns[i];
	return sum / (double)slowdown->step_count;
}

/* The duration that each type should have. */
static void find_ideal(struct slowdown *slowdown)
{
	const struct labelled *job = slowdown->job;
	double *values = mem_alloc(job->operation_count + 1, sizeof(*values));

	for (unsigned type = 0; type < LABELLED_TYPES; type++) {
		double sum = 0, ideal;
		size_t count = 0;

		for (size_t i = 0; i < job->operation_count; i++)
			if (job->operations[i].type == type) {
				values[count] = (double)slowdown->graph->work_ns[i];
				sum += values[count++];
			}
		if (count == 0)
			continue;
		qsort(values, count, sizeof(*values), compare_numbers);
		ideal = labelled_is_communication(type) ? (values[(count - 1) / 2] + values[count / 2]) / 2
							: sum / (double)count;
		for (size_t i = 0; i < job->operation_count; i++)
			if (job->operations[i].type == type)
				slowdown->ideal_work_ns[i] = llround(ideal);
	}
	free(values);
}

/* Which operations are of a part: of the workers marked (NULL: all), of the types whose bit is set. */
struct selection {
	const bool *workers;
	unsigned types;
};

#define ALL_TYPES ((1u << LABELLED_TYPES) - 1)

static void run_part(struct slowdown *slowdown, const struct selection *selection, bool without,
	struct slowdown_part *part)
{
	const struct labelled *job = slowdown->job;
	const int64_t *measured = slowdown->graph->work_ns, *ideal = slowdown->ideal_work_ns;
	int64_t *work = mem_alloc(job->operation_count + 1, sizeof(*work));
	double total = slowdown->replayed_ns - slowdown->ideal_ns;

	for (int other = 0; other <= (without ? 1 : 0); other++) {
		double mean_ns;

		for (size_t i = 0; i < job->operation_count; i++) {
			const struct labelled_operation *operation = &job->operations[i];
			bool inside = (!selection->workers || selection->workers[operation->worker]) &&
				      (selection->types >> operation->type & 1);

			work[i] = inside == (other == 0) ? measured[i] : ideal[i];
		}
		mean_ns = slowdown_run(slowdown, work);
		if (other == 0) {
			part->slowdown = mean_ns / slowdown->ideal_ns;
		} else {
			part->without_ns = mean_ns;
			part->explained = total > 0 ? (slowdown->replayed_ns - mean_ns) / total : (double)NAN;
		}
	}
	free(work);
}

static struct slowdown_part new_part(const char *name)
{
	return (struct slowdown_part){.name = name,
		.slowdown = NAN,
		.explained = NAN,
		.without_ns = NAN,
		.compute_ns = NAN,
		.ratio = NAN};
}

static void find_types(struct slowdown *slowdown)
{
	static const struct {
		const char *name;
		unsigned types;
	} pairs[] = {{"forward-pp-comm", 1u << LABELLED_FORWARD_SEND | 1u << LABELLED_FORWARD_RECV},
		{"backward-pp-comm", 1u << LABELLED_BACKWARD_SEND | 1u << LABELLED_BACKWARD_RECV}};
	const struct labelled *job = slowdown->job;
	unsigned present = 0;

	for (size_t i = 0; i < job->operation_count; i++)
		present |= 1u << job->operations[i].type;
	slowdown->types = mem_alloc(LABELLED_TYPES, sizeof(*slowdown->types));
	for (unsigned type = 0; type < LABELLED_TYPES; type++) {
		unsigned types = 1u << type;
		const char *name = labelled_type_name(type);

		for (int i = 0; i < 2; i++)
			if (pairs[i].types & types) {
				types = pairs[i].types & present;
				name = pairs[i].name;
			}
		/* The first of a pair that is there stands for both. */
		if (!(present & types) || (present & types & ((1u << type) - 1)) || !(present >> type & 1))
			continue;
		slowdown->types[slowdown->type_count] = new_part(name);
		run_part(slowdown, &(struct selection){NULL, types}, true,
			&slowdown->types[slowdown->type_count++]);
	}
}

/* Forward and backward computing of each worker in each step: workers x steps. */
static double *compute_sums(const struct slowdown *slowdown)
{
	const struct labelled *job = slowdown->job;
	double *sums = mem_alloc(job->worker_count * job->step_count + 1, sizeof(*sums));

	for (size_t i = 0; i < job->operation_count; i++) {
		const struct labelled_operation *operation = &job->operations[i];

		if (labelled_is_compute(operation->type))
			sums[operation->worker * job->step_count + (size_t)operation->step] +=
				(double)slowdown->graph->work_ns[i];
	}
	return sums;
}

/* How much the parts compute, and in how many steps each is the slowest. `part_of` of each worker. */
static void count_compute(struct slowdown *slowdown, struct slowdown_part *parts, size_t part_count,
	const size_t *part_of, const double *sums)
{
	const struct labelled *job = slowdown->job;
	double *means = mem_alloc(part_count * (job->step_count + 1) + 1, sizeof(*means)), all = 0;
	size_t *workers = mem_alloc(part_count, sizeof(*workers));

	for (size_t i = 0; i < job->worker_count; i++)
		workers[part_of[i]]++;
	for (size_t i = 0; i < job->worker_count; i++)
		for (size_t j = 0; j < job->step_count; j++)
			means[part_of[i] * job->step_count + j] +=
				sums[i * job->step_count + j] / (double)workers[part_of[i]];
	for (size_t i = 0; i < part_count; i++) {
		parts[i].compute_ns = 0;
		for (size_t j = 0; j < job->step_count; j++)
			parts[i].compute_ns += means[i * job->step_count + j] / (double)job->step_count;
		all += parts[i].compute_ns / (double)part_count;
	}
	for (size_t i = 0; i < part_count; i++)
		parts[i].ratio = parts[i].compute_ns / all;
	for (size_t j = 0; j < job->step_count; j++) {
		double most = 0, second = 0;
		size_t slowest = 0;

		for (size_t i = 0; i < part_count; i++) {
			double sum = means[i * job->step_count + j];

			second = sum > most ? most : fmax(second, sum);
			slowest = sum > most ? i : slowest;
			most = fmax(most, sum);
		}
		parts[slowest].slowest += most > second * (1 + SAME);
	}
	free(means);
	free(workers);
}

static int compare_slowest(const void *a, const void *b)
{
	const struct slowdown_part *one = *(const struct slowdown_part *const *)a,
				   *other = *(const struct slowdown_part *const *)b;

	if (one->compute_ns != other->compute_ns)
		return one->compute_ns > other->compute_ns ? -1 : 1;
	return one < other ? -1 : one > other;
}

/* Marks the SLOWDOWN_EXACT that compute longest. Each costs two runs of all that the job did. */
static void mark_slowest(const struct slowdown_part *parts, size_t count, bool *slowest)
{
	const struct slowdown_part **sorted = mem_alloc(count, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &parts[i];
	qsort(sorted, count, sizeof(*sorted), compare_slowest);
	for (size_t i = 0; i < count && i < SLOWDOWN_EXACT; i++)
		slowest[sorted[i] - parts] = true;
	free(sorted);
}

/* Parts that are workers of one stage, or of one data rank. */
static struct slowdown_part *find_rows(
	struct slowdown *slowdown, bool stages, size_t count, const double *sums)
{
	const struct labelled *job = slowdown->job;
	struct slowdown_part *parts = mem_alloc(count, sizeof(*parts));
	size_t *part_of = mem_alloc(job->worker_count, sizeof(*part_of));
	bool *marked = mem_alloc(job->worker_count, sizeof(*marked)),
	     *slowest = mem_alloc(count, sizeof(*slowest));

	for (size_t i = 0; i < job->worker_count; i++)
		part_of[i] = (size_t)(stages ? job->workers[i].stage : job->workers[i].data);
	for (size_t part = 0; part < count; part++)
		parts[part] = new_part(
			arena_format(&slowdown->arena, stages ? "stage %zu" : "data rank %zu", part));
	count_compute(slowdown, parts, count, part_of, sums);
	mark_slowest(parts, count, slowest);
	for (size_t part = 0; part < count; part++) {
		if (!slowest[part])
			continue;
		for (size_t i = 0; i < job->worker_count; i++)
			marked[i] = part_of[i] == part;
		run_part(slowdown, &(struct selection){marked, ALL_TYPES}, true, &parts[part]);
	}
	free(part_of);
	free(marked);
	free(slowest);
	return parts;
}

static void find_workers(struct slowdown *slowdown, const double *sums)
{
	const struct labelled *job = slowdown->job;
	size_t *part_of = mem_alloc(job->worker_count, sizeof(*part_of));
	bool *marked = mem_alloc(job->worker_count, sizeof(*marked));

	slowdown->worker_count = job->worker_count;
	slowdown->workers = mem_alloc(job->worker_count, sizeof(*slowdown->workers));
	slowdown->exact = job->worker_count <= SLOWDOWN_EXACT;
	for (size_t i = 0; i < job->worker_count; i++) {
		struct slowdown_part *part = &slowdown->workers[i];

		part_of[i] = i;
		*part = new_part(job->workers[i].name);
		if (slowdown->exact) {
			memset(marked, 0, job->worker_count * sizeof(*marked));
			marked[i] = true;
			run_part(slowdown, &(struct selection){marked, ALL_TYPES}, true, part);
		} else if (isfinite(slowdown->data[job->workers[i].data].slowdown)) {
			part->slowdown = fmin(slowdown->stages[job->workers[i].stage].slowdown,
				slowdown->data[job->workers[i].data].slowdown);
		}
	}
	count_compute(slowdown, slowdown->workers, job->worker_count, part_of, sums);
	free(part_of);
	free(marked);
}

/* M_W: what the few worst workers explain together. */
static void find_worst(struct slowdown *slowdown)
{
	size_t count = slowdown->worker_count, chosen = (count * SLOWDOWN_WORST + 99) / 100;
	bool *marked = mem_alloc(count, sizeof(*marked));
	struct slowdown_part together = new_part("");

	slowdown->worst_count = chosen;
	for (size_t n = 0; n < chosen; n++) {
		size_t worst = count;

		for (size_t i = 0; i < count; i++)
			if (!marked[i] &&
				(worst == count || !isfinite(slowdown->workers[worst].slowdown) ||
					slowdown->workers[i].slowdown > slowdown->workers[worst].slowdown))
				worst = i;
		marked[worst] = true;
		if (n == 0)
			slowdown->worst = worst;
	}
	run_part(slowdown, &(struct selection){marked, ALL_TYPES}, true, &together);
	slowdown->worst_explained = together.explained;
	free(marked);
}

static void find_steps(struct slowdown *slowdown)
{
	const struct labelled *job = slowdown->job;
	int64_t *begin_ns = mem_alloc(job->step_count, sizeof(*begin_ns));
	int64_t *end_ns = mem_alloc(job->step_count, sizeof(*end_ns));

	for (size_t i = 0; i < job->step_count; i++) {
		begin_ns[i] = INT64_MAX;
		end_ns[i] = INT64_MIN;
	}
	for (size_t i = 0; i < job->operation_count; i++) {
		const struct labelled_operation *operation = &job->operations[i];

		if (operation->begin_ns < begin_ns[operation->step])
			begin_ns[operation->step] = operation->begin_ns;
		if (operation->end_ns > end_ns[operation->step])
			end_ns[operation->step] = operation->end_ns;
	}
	for (size_t i = 0; i < job->step_count; i++) {
		slowdown->steps[i].number = job->steps[i];
		slowdown->steps[i].measured_ns = (double)(end_ns[i] - begin_ns[i]);
		slowdown->measured_ns += slowdown->steps[i].measured_ns / (double)job->step_count;
	}
	free(begin_ns);
	free(end_ns);
}

void slowdown_find(struct slowdown *slowdown, const struct labelled *job, const struct labelled_graph *graph,
	double least)
{
	size_t tasks = graph->replay.task_count;
	double *sums;

	*slowdown = (struct slowdown){.job = job, .graph = graph, .least = least, .cause = -1};
	slowdown->step_count = job->step_count;
	slowdown->steps = mem_alloc(job->step_count, sizeof(*slowdown->steps));
	slowdown->step_ns = mem_alloc(job->step_count, sizeof(*slowdown->step_ns));
	slowdown->begin_ns = mem_alloc(tasks + 1, sizeof(*slowdown->begin_ns));
	slowdown->end_ns = mem_alloc(tasks + 1, sizeof(*slowdown->end_ns));
	slowdown->ideal_work_ns = mem_alloc(job->operation_count + 1, sizeof(*slowdown->ideal_work_ns));
	find_steps(slowdown);
	find_ideal(slowdown);
	slowdown->replayed_ns = slowdown_run(slowdown, NULL);
	for (size_t i = 0; i < job->step_count; i++)
		slowdown->steps[i].replayed_ns = slowdown->step_ns[i];
	slowdown->ideal_ns = slowdown_run(slowdown, slowdown->ideal_work_ns);
	for (size_t i = 0; i < job->step_count; i++)
		slowdown->steps[i].ideal_ns = slowdown->step_ns[i];
	slowdown->slowdown = slowdown->replayed_ns / slowdown->ideal_ns;
	slowdown->launch_slowdown = slowdown->measured_ns / slowdown->replayed_ns;
	sums = compute_sums(slowdown);
	find_types(slowdown);
	slowdown->stage_count = (size_t)job->stage_count;
	slowdown->stages = find_rows(slowdown, true, slowdown->stage_count, sums);
	slowdown->data_count = (size_t)job->data_count;
	slowdown->data = find_rows(slowdown, false, slowdown->data_count, sums);
	find_workers(slowdown, sums);
	find_worst(slowdown);
	slowdown->last_explained = slowdown->stage_count > 1
					   ? slowdown->stages[slowdown->stage_count - 1].explained
					   : (double)NAN;
	slowdown_find_cause(slowdown);
	free(sums);
}

void slowdown_free(struct slowdown *slowdown)
{
	free(slowdown->steps);
	free(slowdown->step_ns);
	free(slowdown->types);
	free(slowdown->stages);
	free(slowdown->data);
	free(slowdown->workers);
	free(slowdown->begin_ns);
	free(slowdown->end_ns);
	free(slowdown->ideal_work_ns);
	arena_free(&slowdown->arena);
	memset(slowdown, 0, sizeof(*slowdown));
}
