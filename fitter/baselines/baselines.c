/* Other ways to predict: see baselines.h. */
#include "baselines.h"
#include "base/statistics.h"
#include "boost.h"
#include "feature_matrix.h"
#include "forest.h"
#include "linear.h"
#include "pmnf.h"
#include "svr.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int median_learn(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	size_t count = train->row_count;
	double *sorted = malloc((count + 1) * sizeof(*sorted)), median;

	(void)seed;
	(void)thread_count;
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, train->target, count * sizeof(*sorted));
	statistics_sort(sorted, count);
	median = statistics_median_sorted(sorted, count);
	free(sorted);
	for (size_t k = 0; k < count; k++)
		train_times[k] = median;
	for (size_t k = 0; k < test->row_count; k++)
		test_times[k] = median;
	snprintf(note, note_size, "%.5g", median);
	return 0;
}

/* Another learner on logarithms of the times, and of the columns if asked for. */
static int learn_logs(feature_matrix_learner *learner, bool columns, const struct feature_matrix *train,
	const struct feature_matrix *test, uint64_t seed, size_t thread_count, double *train_times,
	double *test_times, char *note, size_t note_size)
{
	struct feature_matrix logs, asked;
	int status = feature_matrix_copy(&logs, train), other = feature_matrix_copy(&asked, test);

	status = status < 0 || other < 0 ? -ENOMEM : feature_matrix_log_target(&logs);
	if (status == 0 && columns)
		feature_matrix_log_columns(&logs, &asked);
	if (status == 0)
		status = learner(&logs, &asked, seed, thread_count, train_times, test_times, note, note_size);
	for (size_t k = 0; k < train->row_count && status == 0; k++)
		train_times[k] = exp(train_times[k]);
	for (size_t k = 0; k < test->row_count && status == 0; k++)
		test_times[k] = exp(test_times[k]);
	feature_matrix_free(&logs);
	feature_matrix_free(&asked);
	return status;
}

static int power_law_learn(const struct feature_matrix *train, const struct feature_matrix *test,
	uint64_t seed, size_t thread_count, double *train_times, double *test_times, char *note,
	size_t note_size)
{
	return learn_logs(linear_learn, true, train, test, seed, thread_count, train_times, test_times, note,
		note_size);
}

static int forest_log_learn(const struct feature_matrix *train, const struct feature_matrix *test,
	uint64_t seed, size_t thread_count, double *train_times, double *test_times, char *note,
	size_t note_size)
{
	return learn_logs(forest_learn, false, train, test, seed, thread_count, train_times, test_times, note,
		note_size);
}

/* A row without a learner is the generic model, with this lambda (L2). */
static const struct method {
	const char *name, *what;
	feature_matrix_learner *learn;
	bool is_random;
	double lambda;
} methods[] = {
	{"median", "median of the fitted samples, for every sample", median_learn, false, 0},
	{"linear", "linear regression", linear_learn, false, 0},
	{"power-law", "linear regression of logarithms", power_law_learn, false, 0},
	{"svr-plain", "support vectors, unscaled", svr_learn_plain, false, 0},
	{"svr", "support vectors, scaled, grid", svr_learn, false, 0},
	{"forest", "random forest", forest_learn, true, 0},
	{"forest-log", "random forest of log times", forest_log_learn, true, 0},
	{"boost-plain", "gradient boosting, usual settings", boost_learn_plain, false, 0},
	{"boost", "gradient boosting, chosen", boost_learn, true, 0},
	{"pmnf", "performance model normal form", pmnf_learn, false, 0},
	{"model-l2", "generic model, L2 0.001", NULL, true, 0.001},
	{"model", "generic model, lambda 0", NULL, true, 0},
};

#define METHODS (sizeof(methods) / sizeof(*methods))

const char *const baselines_names[METHODS + 1] = {"median", "linear", "power-law", "svr-plain", "svr",
	"forest", "forest-log", "boost-plain", "boost", "pmnf", "model-l2", "model", NULL};

struct bench {
	const struct pm_fit_problem *train_problem, *test_problem;
	struct feature_matrix train, test;
	const struct pm_fit_parameter *parameter;
	double *train_times, *test_times;
};

static bool stopped(const struct bench *bench)
{
	return bench->parameter->stop && __atomic_load_n(bench->parameter->stop, __ATOMIC_RELAXED);
}

static void measure(const struct feature_matrix *features, double *times, struct pm_fit_error *error)
{
	for (size_t k = 0; k < features->row_count; k++)
		times[k] += features->offset[k];
	pm_fit_measure(features->time, times, features->row_count, error);
}

static int run_learner(struct bench *bench, const struct method *method, struct baseline *result)
{
	int status = 0;

	for (size_t i = 0; i < result->seed_count && status == 0; i++) {
		if (stopped(bench))
			return -EINTR;
		status = method->learn(&bench->train, &bench->test, bench->parameter->seed + i,
			bench->parameter->thread_count, bench->train_times, bench->test_times, result->note,
			sizeof(result->note));
		if (status < 0)
			break;
		measure(&bench->train, bench->train_times, &result->train[i]);
		measure(&bench->test, bench->test_times, &result->test[i]);
	}
	if (status == -EDOM) {
		result->skipped = true;
		snprintf(result->note, sizeof(result->note), "a time minus its offsets is not positive");
		return 0;
	}
	return status;
}

static int make_room(struct baseline *result)
{
	result->train = calloc(result->seed_count, sizeof(*result->train));
	result->test = calloc(result->seed_count, sizeof(*result->test));
	return result->train && result->test ? 0 : -ENOMEM;
}

/* Each of the seeds' solutions in turn takes the place of the best. */
static int measure_runs(struct pm_fit_model *model, const struct pm_fit_problem *train,
	const struct pm_fit_problem *test, struct baseline *result)
{
	int status = 0;

	for (size_t r = 0; r < model->run_count && status == 0; r++) {
		for (size_t v = 0; v < model->value_count; v++)
			model->values[v].value = model->runs[r].values[v];
		status = pm_fit_evaluate(model, train, &result->train[r]);
		if (status == 0 && test->sample_count)
			status = pm_fit_evaluate(model, test, &result->test[r]);
	}
	for (size_t v = 0; v < model->value_count; v++)
		model->values[v].value = model->runs[model->best_run].values[v];
	snprintf(result->note, sizeof(result->note), "%zu of %zu seeds agree", model->runs_agreeing,
		model->run_count);
	return status;
}

int baseline_of_model(struct baseline *baseline, struct pm_fit_model *model,
	const struct pm_fit_problem *train, const struct pm_fit_problem *test)
{
	int status;

	*baseline = (struct baseline){
		.name = "model", .what = "generic model", .is_random = true, .seed_count = model->run_count};
	baseline->seconds = model->seconds;
	status = make_room(baseline);
	return status < 0 ? status : measure_runs(model, train, test, baseline);
}

void baseline_free(struct baseline *baseline)
{
	free(baseline->train);
	free(baseline->test);
	*baseline = (struct baseline){0};
}

static int run_model(struct bench *bench, const struct method *method, struct baseline *result)
{
	struct pm_fit_parameter parameter = *bench->parameter;
	struct pm_fit_model *model;
	const char *bad;
	int status;

	parameter.penalty = PM_FIT_L2;
	parameter.lambda_coefficients = parameter.lambda_powers = method->lambda;
	parameter.bootstrap = 0;
	bad = pm_fit_check(bench->train_problem, &parameter);
	if (bad) {
		result->skipped = true;
		snprintf(result->note, sizeof(result->note), "%s", bad);
		return 0;
	}
	status = pm_fit(bench->train_problem, &parameter, &model);
	if (status < 0)
		return status;
	status = model->interrupted ? -EINTR
				    : measure_runs(model, bench->train_problem, bench->test_problem, result);
	pm_fit_free(model);
	return status;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int run_method(struct bench *bench, const struct method *method, struct baseline *result)
{
	double begun = seconds_now();
	int status;

	*result =
		(struct baseline){.name = method->name, .what = method->what, .is_random = method->is_random};
	result->seed_count = method->is_random ? bench->parameter->run_count : 1;
	if (make_room(result) < 0)
		return -ENOMEM;
	status = method->learn ? run_learner(bench, method, result) : run_model(bench, method, result);
	result->seconds = seconds_now() - begun;
	return status;
}

int baselines_run(struct baselines *baselines, const struct pm_fit_problem *train,
	const struct pm_fit_problem *test, const struct pm_fit_parameter *parameter, const bool *wanted,
	void (*progress)(const char *name))
{
	struct bench bench = {.train_problem = train, .test_problem = test, .parameter = parameter};
	int status = feature_matrix_init(&bench.train, train), other = feature_matrix_init(&bench.test, test);

	*baselines = (struct baselines){.results = calloc(METHODS, sizeof(*baselines->results))};
	bench.train_times = calloc(train->sample_count + 1, sizeof(double));
	bench.test_times = calloc(test->sample_count + 1, sizeof(double));
	if (status < 0 || other < 0 || !baselines->results || !bench.train_times || !bench.test_times)
		status = -ENOMEM;
	for (size_t i = 0; i < METHODS && status == 0; i++) {
		if (wanted && !wanted[i])
			continue;
		if (progress)
			progress(methods[i].name);
		status = stopped(&bench)
				 ? -EINTR
				 : run_method(&bench, &methods[i], &baselines->results[baselines->count++]);
	}
	free(bench.train_times);
	free(bench.test_times);
	feature_matrix_free(&bench.train);
	feature_matrix_free(&bench.test);
	return status;
}

void baselines_free(struct baselines *baselines)
{
	for (size_t i = 0; i < baselines->count; i++)
		baseline_free(&baselines->results[i]);
	free(baselines->results);
	*baselines = (struct baselines){0};
}

const struct baselines_figure baselines_figures[BASELINES_FIGURES] = {
	{"mape", "MAPE %", offsetof(struct pm_fit_error, mape)},
	{"mae", "MAE", offsetof(struct pm_fit_error, mae)},
	{"mse", "MSE", offsetof(struct pm_fit_error, mse)},
	{"rmse", "RMSE", offsetof(struct pm_fit_error, rmse)},
	{"r2", "R2", offsetof(struct pm_fit_error, r2)},
};

void baselines_spread(
	const struct pm_fit_error *errors, size_t count, size_t offset, double *mean, double *deviation)
{
	struct statistics_spread spread = {0};

	for (size_t i = 0; i < count; i++)
		statistics_add(&spread, *(const double *)((const char *)&errors[i] + offset));
	*mean = spread.mean;
	*deviation = statistics_deviation(&spread);
}
