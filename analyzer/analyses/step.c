/* The time of a step: see step.h. */
#include "step.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void count_ranks(const struct analysis *analysis, struct step *step)
{
	for (size_t i = 0; i < analysis->timeline.process_count; i++)
		if (analysis->timeline.processes[i].world > (int32_t)step->world)
			step->world = (size_t)analysis->timeline.processes[i].world;
	step->ranks = analysis->worker_count;
	if (step->world > 0 && step->world < step->ranks)
		step->world = step->ranks;
}

static void find_outliers(struct step *step)
{
	size_t typical = 0;

	for (size_t i = 0; i < step->used; i++) {
		step->outlier[i] =
			step->used >= STEP_LEAST && step->each_ns[i] > STEP_OUTLIER * step->median_ns;
		step->outlier_count += step->outlier[i];
	}
	if ((double)step->outlier_count > STEP_FEW * (double)step->used) {
		memset(step->outlier, 0, step->used * sizeof(*step->outlier));
		step->outlier_count = 0;
	}
	typical = step->used - step->outlier_count;
	for (size_t i = 0; i < step->used; i++)
		if (!step->outlier[i])
			step->typical_ns += step->each_ns[i] / (double)typical;
}

void step_find(const struct analysis *analysis, struct step *step)
{
	double *sorted;

	*step = (struct step){.confidence = 1};
	if (analysis->worker_count == 0)
		return;
	count_ranks(analysis, step);
	step->whole = analysis->is_whole;
	step->used = SIZE_MAX;
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		step->confidence = fmin(step->confidence, worker->iterations.confidence);
		if (worker->used_count >= step->used)
			continue;
		step->used = worker->used_count;
		step->count = worker->iterations.count;
	}
	step->each_ns = mem_alloc(step->used, sizeof(*step->each_ns));
	step->outlier = mem_alloc(step->used, sizeof(*step->outlier));
	sorted = mem_alloc(step->used, sizeof(*sorted));
	for (size_t i = 0; i < step->used; i++) {
		for (size_t w = 0; w < analysis->worker_count; w++) {
			const struct analysis_worker *worker = &analysis->workers[w];

			step->each_ns[i] += (double)worker->phases.times[worker->used[i]].iteration_ns /
					    (double)analysis->worker_count;
		}
		sorted[i] = step->each_ns[i];
	}
	statistics_sort(sorted, step->used);
	step->median_ns = statistics_median_sorted(sorted, step->used);
	step->low_ns = statistics_quantile_sorted(sorted, step->used, 0.25);
	step->high_ns = statistics_quantile_sorted(sorted, step->used, 0.75);
	step->mean_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean;
	free(sorted);
	find_outliers(step);
}

void step_free(struct step *step)
{
	free(step->each_ns);
	free(step->outlier);
	memset(step, 0, sizeof(*step));
}

double step_phase(const struct step *step, const struct analysis_worker *worker, enum phase phase)
{
	double ns = 0;

	for (size_t i = 0; i < step->used; i++)
		if (!step->outlier[i])
			ns += (double)worker->phases.times[worker->used[i]].exclusive_ns[phase];
	return ns / (double)(step->used - step->outlier_count);
}

double step_typical(const struct step *step, const double *each_ns)
{
	double ns = 0;

	for (size_t i = 0; i < step->used; i++)
		if (!step->outlier[i])
			ns += each_ns[i];
	return ns / (double)(step->used - step->outlier_count);
}
