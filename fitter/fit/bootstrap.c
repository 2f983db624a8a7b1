/* Intervals by resampling: see bootstrap.h. */
#include "bootstrap.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/statistics.h"
#include "model/interval.h"
#include "model/model.h"
#include "model/resample.h"
#include "search/local.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Apart from the streams of the runs, which are 0. */
#define STREAM 1000

struct bootstrap {
	const struct pm_fit_model *model;
	const struct pm_fit_problem *problem;
	const struct space *space;
	const struct pm_fit_parameter *parameter;
	size_t width;    /* values and contrasts */
	double *results; /* a row for each resample */
	bool *failed;
};

static bool stopped(const struct bootstrap *b)
{
	return b->parameter->stop && __atomic_load_n(b->parameter->stop, __ATOMIC_RELAXED);
}

static bool refit(struct bootstrap *b, const struct pm_fit_problem *problem, double *result)
{
	size_t count = b->space->count;
	double *x = malloc(count * sizeof(*x));
	struct plan plan = {0};
	struct cost cost = {0};
	bool done = false;

	if (x && plan_init(&plan, problem, b->space, b->parameter) == 0 &&
		cost_init(&cost, &plan, b->space) == 0) {
		memcpy(x, b->model->runs[b->model->best_run].scaled, count * sizeof(*x));
		done = isfinite(local_smoothed(&cost, x));
		space_unscale(b->space, x, result);
		model_contrasts(b->space, result, result + count);
	}
	cost_free(&cost);
	plan_free(&plan);
	free(x);
	return done;
}

static void one_resample(void *context, size_t index)
{
	struct bootstrap *b = context;
	size_t count = b->problem->sample_count, *samples = malloc(count * sizeof(*samples));
	struct resample resample = {0};
	struct random random;

	b->failed[index] = true;
	if (!samples || stopped(b))
		goto out;
	random_init(&random, b->parameter->seed, STREAM + index);
	for (size_t k = 0; k < count; k++)
		samples[k] = random_below(&random, count);
	if (resample_init(&resample, b->problem, samples, count) == 0)
		b->failed[index] = !refit(b, &resample.problem, b->results + index * b->width);
out:
	resample_free(&resample);
	free(samples);
}

static void take_interval(const struct bootstrap *b, size_t column, double *sorted, double *low, double *high)
{
	size_t count = 0;

	for (size_t i = 0; i < b->parameter->bootstrap; i++)
		if (!b->failed[i])
			sorted[count++] = b->results[i * b->width + column];
	if (count < 2)
		return;
	statistics_sort(sorted, count);
	*low = statistics_quantile_sorted(sorted, count, (1 - b->parameter->confidence) / 2);
	*high = statistics_quantile_sorted(sorted, count, (1 + b->parameter->confidence) / 2);
}

/* What predictions take their intervals from. */
static int keep_resamples(struct pm_fit_model *model, const struct bootstrap *b)
{
	model->resamples = calloc(b->parameter->bootstrap * model->value_count + 1, sizeof(double));
	if (!model->resamples)
		return -ENOMEM;
	for (size_t i = 0; i < b->parameter->bootstrap; i++)
		if (!b->failed[i])
			memcpy(model->resamples + model->resample_count++ * model->value_count,
				b->results + i * b->width, model->value_count * sizeof(double));
	return 0;
}

int bootstrap(struct pm_fit_model *model, const struct pm_fit_problem *problem, const struct space *space,
	const struct pm_fit_parameter *parameter)
{
	size_t count = parameter->bootstrap;
	struct bootstrap b = {.model = model,
		.problem = problem,
		.space = space,
		.parameter = parameter,
		.width = model->value_count + model->contrast_count};
	double *sorted = malloc((count + 1) * sizeof(*sorted));
	int status = -ENOMEM;

	b.results = calloc(count + 1, b.width * sizeof(*b.results));
	b.failed = calloc(count + 1, sizeof(*b.failed));
	if (!sorted || !b.results || !b.failed)
		goto out;
	parallel_each(count, parameter->thread_count, one_resample, &b);
	/* what a signal has cut short is no sample of anything */
	for (size_t i = 0; i < model->value_count && !stopped(&b); i++)
		take_interval(&b, i, sorted, &model->values[i].low, &model->values[i].high);
	for (size_t i = 0; i < model->contrast_count && !stopped(&b); i++)
		take_interval(&b, model->value_count + i, sorted, &model->contrasts[i].low,
			&model->contrasts[i].high);
	status = stopped(&b) ? 0 : keep_resamples(model, &b);
out:
	free(sorted);
	free(b.results);
	free(b.failed);
	return status;
}
