/* pm_fit: the runs of a fit, one for each seed, and what they say together. */
#include "fit.h"
#include "base/parallel.h"
#include "base/statistics.h"
#include "bootstrap.h"
#include "identifiability.h"
#include "model/interval.h"
#include "model/model.h"
#include "search/local.h"
#include "search/varpro.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Runs whose objectives differ by less, relatively, have found the same. */
#define SAME 1e-3
/* An error above this share of a constant's is no fit. */
#define PLATEAU 0.99
#define DEAD_SHARE 5e-4
/* With these nearly all seeds find the least cost that is known, on the sets of test_fitdata.c. */
#define EVALUATIONS_PER_PARAMETER 8000
#define VARPRO_EVALUATIONS_PER_POWER 500
/* SciPy's: 1000 generations of 15 members per parameter after the first */
#define DE_EVALUATIONS_PER_PARAMETER (15 * 1001)

struct fit {
	const struct pm_fit_problem *problem;
	const struct pm_fit_parameter *parameter;
	struct space space;
	struct plan plan;
	struct pm_fit_model *model;
	double *lower, *upper;
	double begun; /* seconds */
	pthread_mutex_t lock;
	int status;
};

/* One seed, as its thread sees it. */
struct seed_run {
	struct fit *fit;
	size_t index;
	size_t limit;
	struct cost cost;
};

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void pm_fit_defaults(struct pm_fit_parameter *parameter)
{
	*parameter = (struct pm_fit_parameter){
		.method = PM_FIT_JSO,
		.scale = PM_FIT_SCALE_ALL,
		.coefficient_upper = 1000,
		.categorical_upper = 1000,
		.constant_upper = 1000,
		.power_lower = -5,
		.power_upper = 5,
		.run_count = 10,
		.seed = 1,
		.tolerance = 0.01,
		.polish = 1,
		.confidence = 0.95,
	};
}

static bool stopped(const struct fit *fit)
{
	return fit->parameter->stop && __atomic_load_n(fit->parameter->stop, __ATOMIC_RELAXED);
}

static void evaluate(void *context, const double *x, size_t count, double *costs)
{
	struct seed_run *run = context;

	cost_evaluate(&run->cost, x, count, costs, NULL);
}

static bool report(void *context, size_t evaluations, double best_cost)
{
	struct seed_run *run = context;
	struct fit *fit = run->fit;

	if (fit->parameter->progress) {
		struct pm_fit_progress progress = {.run = run->index,
			.run_count = fit->parameter->run_count,
			.evaluations = evaluations,
			.limit = run->limit,
			.objective = best_cost * fit->space.time_scale,
			.seconds = seconds_now() - fit->begun};

		pthread_mutex_lock(&fit->lock);
		fit->parameter->progress(fit->parameter->context, &progress);
		pthread_mutex_unlock(&fit->lock);
	}
	return stopped(fit);
}

size_t fit_limit(const struct pm_fit_parameter *parameter, const struct space *space)
{
	if (parameter->evaluations)
		return parameter->evaluations;
	switch (parameter->method) {
	case PM_FIT_VARPRO:
		return VARPRO_EVALUATIONS_PER_POWER * (space->count - space->linear_count + 1);
	case PM_FIT_DE:
		return DE_EVALUATIONS_PER_PARAMETER * space->count;
	case PM_FIT_JSO:
		break;
	}
	return EVALUATIONS_PER_PARAMETER * space->count;
}

static int find(struct seed_run *run, struct search *search)
{
	switch (run->fit->parameter->method) {
	case PM_FIT_JSO:
		return jso_search(search);
	case PM_FIT_DE:
		return de_search(search);
	case PM_FIT_VARPRO:
		return varpro_search(search, &run->cost);
	}
	return -EINVAL;
}

static void note_run(struct seed_run *run, const struct search *search, struct pm_fit_run *result)
{
	struct fit *fit = run->fit;
	double scale = fit->space.time_scale, objective, error;

	cost_evaluate(&run->cost, result->scaled, 1, &objective, &error);
	result->objective = objective * scale;
	result->error = error * scale;
	result->evaluations = run->cost.evaluations;
	result->generations = search->generations;
	result->end = search->end;
	if (result->end == PM_FIT_END_CONVERGED && result->error > PLATEAU * fit->model->constant_error)
		result->end = PM_FIT_END_PLATEAU;
	space_unscale(&fit->space, result->scaled, result->values);
}

static int one_seed(struct fit *fit, struct seed_run *run, struct pm_fit_run *result)
{
	struct search search = {.size = fit->space.count,
		.lower = fit->lower,
		.upper = fit->upper,
		.evaluate = evaluate,
		.report = report,
		.context = run,
		.limit = fit_limit(fit->parameter, &fit->space),
		.population = fit->parameter->population,
		.tolerance = fit->parameter->tolerance,
		.best = result->scaled,
		.best_cost = HUGE_VAL};
	int status = cost_init(&run->cost, &fit->plan, &fit->space);

	run->limit = search.limit;
	result->seed = fit->parameter->seed + run->index;
	random_init(&search.random, result->seed, 0);
	if (status == 0)
		status = find(run, &search);
	if (status < 0)
		return status;
	result->searched = cost_of(&run->cost, result->scaled) * fit->space.time_scale;
	if (fit->parameter->polish && !stopped(fit)) {
		if (fit->parameter->method == PM_FIT_DE)
			local_lbfgs(&run->cost, result->scaled);
		else
			local_smoothed(&run->cost, result->scaled);
	}
	note_run(run, &search, result);
	return 0;
}

static void run_task(void *context, size_t index)
{
	struct fit *fit = context;
	struct seed_run run = {.fit = fit, .index = index};
	struct pm_fit_run *result = &fit->model->runs[index];
	double begun = seconds_now();
	int status = one_seed(fit, &run, result);

	result->seconds = seconds_now() - begun;
	cost_free(&run.cost);
	if (status < 0) {
		pthread_mutex_lock(&fit->lock);
		fit->status = status;
		pthread_mutex_unlock(&fit->lock);
	}
}

/* The mean distance from the median, which of all constants has the least. */
static double constant_error(const struct plan *plan, const struct space *space)
{
	size_t count = plan->kernel.sample_count;
	double *times = malloc(count * sizeof(*times)), sum = 0;

	if (!times)
		return NAN;
	memcpy(times, plan->kernel.times, count * sizeof(*times));
	statistics_sort(times, count);
	for (size_t k = 0; k < count; k++)
		sum += fabs(times[k] - times[count / 2]) / (double)count;
	free(times);
	return sum * space->time_scale;
}

static bool counts(const struct pm_fit_model *model, size_t run)
{
	return !model->interrupted || model->runs[run].end != PM_FIT_END_INTERRUPTED ||
	       run == model->best_run;
}

static void choose_best(struct pm_fit_model *model)
{
	double best;

	for (size_t i = 1; i < model->run_count; i++)
		if (model->runs[i].objective < model->runs[model->best_run].objective)
			model->best_run = i;
	best = model->runs[model->best_run].objective;
	for (size_t i = 0; i < model->run_count; i++) {
		model->runs_agreeing += model->runs[i].objective <= best * (1 + SAME);
		model->interrupted |= model->runs[i].end == PM_FIT_END_INTERRUPTED;
	}
}

static void fill_values(struct pm_fit_model *model)
{
	const struct pm_fit_run *best = &model->runs[model->best_run];

	for (size_t i = 0; i < model->value_count; i++) {
		struct pm_fit_value *value = &model->values[i];
		double room = 1e-9 * (value->upper - value->lower);
		struct statistics_spread spread = {0};

		for (size_t r = 0; r < model->run_count; r++)
			if (counts(model, r))
				statistics_add(&spread, model->runs[r].values[i]);
		value->value = best->values[i];
		value->scaled = best->scaled[i];
		value->mean = spread.mean;
		value->sd = statistics_deviation(&spread);
		if (value->scaled <= value->lower + room)
			value->flags |= PM_FIT_AT_LOWER;
		if (value->scaled >= value->upper - room)
			value->flags |= PM_FIT_AT_UPPER;
		if (value->value < value->lower || value->value > value->upper)
			value->flags |= PM_FIT_OUTSIDE;
	}
}

static int fill_contrasts(struct fit *fit)
{
	struct pm_fit_model *model = fit->model;
	size_t count = model_contrast_count(&fit->space), begin = fit->space.intrinsic_count;
	double *numbers = calloc(count + 1, sizeof(*numbers));
	struct statistics_spread *spreads = calloc(count + 1, sizeof(*spreads));
	int status = -ENOMEM;

	model->contrasts = calloc(count + 1, sizeof(*model->contrasts));
	if (!numbers || !spreads || !model->contrasts)
		goto out;
	for (size_t r = 0; r < model->run_count; r++) {
		if (!counts(model, r))
			continue;
		model_contrasts(&fit->space, model->runs[r].values, numbers);
		for (size_t i = 0; i < count; i++)
			statistics_add(&spreads[i], numbers[i]);
	}
	model_contrasts(&fit->space, model->runs[model->best_run].values, numbers);
	for (size_t i = 0; i < count; i++) {
		struct pm_fit_contrast *contrast = &model->contrasts[i];

		*contrast = (struct pm_fit_contrast){.value = numbers[i],
			.mean = spreads[i].mean,
			.sd = statistics_deviation(&spreads[i]),
			.low = NAN,
			.high = NAN};
		contrast->name = strdup(i == 0 ? "base" : model->values[begin + i - 1].name);
		model->contrast_count++;
		if (!contrast->name)
			goto out;
	}
	status = 0;
out:
	free(numbers);
	free(spreads);
	return status;
}

static int mark_values(struct fit *fit)
{
	struct pm_fit_model *model = fit->model;
	bool *undetermined = calloc(model->value_count, sizeof(*undetermined));
	double *shares = calloc(model->column_count + 1, sizeof(*shares));
	struct cost cost = {0};
	int status = -ENOMEM;

	if (!undetermined || !shares || cost_init(&cost, &fit->plan, &fit->space) < 0)
		goto out;
	model->rank = identifiability_rank(&cost, model->runs[model->best_run].scaled, undetermined);
	status = model_shares(model, fit->problem, shares);
	for (size_t i = 0; i < model->value_count && status == 0; i++) {
		struct pm_fit_value *value = &model->values[i];
		bool term = value->kind == PM_FIT_KIND_COEFFICIENT || value->kind == PM_FIT_KIND_POWER ||
			    value->kind == PM_FIT_KIND_LEVEL;

		if (undetermined[i])
			value->flags |= PM_FIT_UNDETERMINED;
		if (term && shares[value->column] < DEAD_SHARE)
			value->flags |= PM_FIT_DEAD;
	}
out:
	cost_free(&cost);
	free(undetermined);
	free(shares);
	return status;
}

static int conclude(struct fit *fit)
{
	int status;

	choose_best(fit->model);
	fill_values(fit->model);
	status = fill_contrasts(fit);
	if (status == 0)
		status = mark_values(fit);
	if (status == 0)
		status = pm_fit_evaluate(fit->model, fit->problem, &fit->model->train);
	if (status == 0)
		status = interval_residuals(fit->model, fit->problem);
	if (status == 0 && fit->parameter->bootstrap && !stopped(fit))
		status = bootstrap(fit->model, fit->problem, &fit->space, fit->parameter);
	fit->model->interrupted |= stopped(fit);
	fit->model->seconds = seconds_now() - fit->begun;
	return status;
}

static int prepare(struct fit *fit)
{
	int status = space_init(&fit->space, fit->problem, fit->parameter);

	if (status == 0)
		status = plan_init(&fit->plan, fit->problem, &fit->space, fit->parameter);
	if (status < 0)
		return status;
	fit->lower = calloc(fit->space.count, sizeof(*fit->lower));
	fit->upper = calloc(fit->space.count, sizeof(*fit->upper));
	fit->model = model_new(fit->problem, fit->parameter, &fit->space);
	if (!fit->lower || !fit->upper || !fit->model)
		return -ENOMEM;
	for (size_t i = 0; i < fit->space.count; i++) {
		fit->lower[i] = fit->space.items[i].lower;
		fit->upper[i] = fit->space.items[i].upper;
	}
	fit->model->constant_error = constant_error(&fit->plan, &fit->space);
	return model_make_runs(fit->model, fit->parameter->run_count);
}

int pm_fit(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	struct pm_fit_model **model)
{
	struct fit fit = {.problem = problem, .parameter = parameter, .begun = seconds_now()};

	*model = NULL;
	if (pm_fit_check(problem, parameter))
		return -EINVAL;
	pthread_mutex_init(&fit.lock, NULL);
	fit.status = prepare(&fit);
	if (fit.status == 0)
		parallel_each(parameter->run_count, parameter->thread_count, run_task, &fit);
	if (fit.status == 0)
		fit.status = conclude(&fit);
	pthread_mutex_destroy(&fit.lock);
	plan_free(&fit.plan);
	space_free(&fit.space);
	free(fit.lower);
	free(fit.upper);
	if (fit.status < 0) {
		pm_fit_free(fit.model);
		return fit.status;
	}
	*model = fit.model;
	return 0;
}
