/* Lambda's path: see lambda_path.h. */
#include "lambda_path.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/strata.h"
#include "model/resample.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FOLD_STREAM 88

struct work {
	struct lambda_path *path;
	const struct pm_fit_problem *problem, *test;
	const struct pm_fit_parameter *parameter;
	double ratio;
	size_t fold_count, done;
	size_t *order, *fold;        /* of the samples */
	struct pm_fit_error *errors; /* by lambda and fold */
	bool *agreed;
	void (*progress)(void *context, size_t done, size_t all);
	void *context;
	pthread_mutex_t lock;
	int status;
};

static bool stopped(const struct work *work)
{
	return work->parameter->stop && __atomic_load_n(work->parameter->stop, __ATOMIC_RELAXED);
}

static struct pm_fit_parameter parameter_at(const struct work *work, double lambda)
{
	struct pm_fit_parameter parameter = *work->parameter;

	parameter.lambda_coefficients = lambda;
	parameter.lambda_powers = lambda * work->ratio;
	if (parameter.penalty == PM_FIT_NO_PENALTY)
		parameter.penalty = PM_FIT_L2;
	/* the fits are what runs side by side */
	parameter.thread_count = 1;
	parameter.bootstrap = 0;
	parameter.progress = NULL;
	return parameter;
}

static int fit_whole(struct work *work, struct lambda_path_point *point)
{
	struct pm_fit_parameter parameter = parameter_at(work, point->lambda);
	int status = pm_fit(work->problem, &parameter, &point->model);

	if (status == 0 && work->test->sample_count)
		status = pm_fit_evaluate(point->model, work->test, &point->test);
	return status;
}

static int fit_fold(struct work *work, double lambda, size_t fold, struct pm_fit_error *error, bool *agreed)
{
	struct pm_fit_parameter parameter = parameter_at(work, lambda);
	size_t count = work->problem->sample_count, fitted = 0, held = 0;
	size_t *samples = malloc(count * sizeof(*samples));
	struct resample some = {0}, others = {0};
	struct pm_fit_model *model = NULL;
	int status = -ENOMEM;

	if (!samples)
		return status;
	for (size_t i = 0; i < count; i++)
		if (work->fold[work->order[i]] == fold)
			samples[count - ++held] = work->order[i];
		else
			samples[fitted++] = work->order[i];
	status = resample_init(&some, work->problem, samples, fitted);
	if (status == 0)
		status = resample_init(&others, work->problem, samples + fitted, held);
	if (status == 0)
		status = pm_fit(&some.problem, &parameter, &model);
	if (status == 0) {
		*agreed = model->runs_agreeing == model->run_count;
		status = pm_fit_evaluate(model, &others.problem, error);
	}
	pm_fit_free(model);
	resample_free(&some);
	resample_free(&others);
	free(samples);
	return status;
}

static void one_fit(void *context, size_t index)
{
	struct work *work = context;
	size_t each = work->fold_count + 1, lambda = index / each, fold = index % each;
	struct lambda_path_point *point = &work->path->points[lambda];
	int status = 0;

	if (!stopped(work)) {
		if (fold == work->fold_count)
			status = fit_whole(work, point);
		else
			status = fit_fold(work, point->lambda, fold,
				&work->errors[lambda * work->fold_count + fold],
				&work->agreed[lambda * work->fold_count + fold]);
	}
	pthread_mutex_lock(&work->lock);
	if (status < 0)
		work->status = status;
	if (work->progress)
		work->progress(work->context, ++work->done, work->path->count * each);
	pthread_mutex_unlock(&work->lock);
}

static void average(struct work *work, size_t lambda)
{
	struct lambda_path_point *point = &work->path->points[lambda];
	struct pm_fit_error *mean = &point->held_out;
	double n = (double)work->fold_count, square = 0;

	for (size_t f = 0; f < work->fold_count; f++) {
		const struct pm_fit_error *error = &work->errors[lambda * work->fold_count + f];

		mean->sample_count += error->sample_count;
		mean->mae += error->mae / n;
		mean->mse += error->mse / n;
		mean->rmse += error->rmse / n;
		mean->r2 += error->r2 / n;
		mean->mape += error->mape / n;
		mean->mape_predicted += error->mape_predicted / n;
		point->held_out_seeds += work->agreed[lambda * work->fold_count + f] / n;
	}
	for (size_t f = 0; f < work->fold_count; f++)
		square += pow(work->errors[lambda * work->fold_count + f].mae - mean->mae, 2);
	point->deviation = sqrt(square / (n - 1) / n);
}

static void choose(struct lambda_path *path)
{
	const struct lambda_path_point *best;

	for (size_t i = 1; i < path->count; i++)
		if (path->points[i].held_out.mae < path->points[path->best].held_out.mae)
			path->best = i;
	best = &path->points[path->best];
	path->simple = path->best;
	for (size_t i = 0; i < path->count; i++)
		if (path->points[i].lambda > path->points[path->simple].lambda &&
			path->points[i].held_out.mae <= best->held_out.mae + best->deviation)
			path->simple = i;
}

int lambda_path_run(struct lambda_path *path, const struct pm_fit_problem *problem,
	const struct pm_fit_problem *test, const struct pm_fit_parameter *parameter, const double *lambdas,
	size_t count, double ratio, size_t fold_count,
	void (*progress)(void *context, size_t done, size_t all), void *context)
{
	struct work work = {.path = path,
		.problem = problem,
		.test = test,
		.parameter = parameter,
		.ratio = ratio,
		.fold_count = fold_count,
		.progress = progress,
		.context = context};
	struct random random;

	*path = (struct lambda_path){.points = calloc(count + 1, sizeof(*path->points))};
	work.order = calloc(problem->sample_count + 1, sizeof(*work.order));
	work.fold = calloc(problem->sample_count + 1, sizeof(*work.fold));
	work.errors = calloc(count * fold_count + 1, sizeof(*work.errors));
	work.agreed = calloc(count * fold_count + 1, sizeof(*work.agreed));
	pthread_mutex_init(&work.lock, NULL);
	if (!path->points || !work.order || !work.fold || !work.errors || !work.agreed) {
		work.status = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		path->points[path->count++].lambda = lambdas[i];
	for (size_t k = 0; k < problem->sample_count; k++)
		work.order[k] = k;
	random_init(&random, parameter->seed, FOLD_STREAM);
	random_shuffle(&random, work.order, problem->sample_count);
	work.status = strata_sort(problem, work.order, problem->sample_count);
	if (work.status >= 0)
		work.status = strata_folds(problem, work.order, fold_count, work.fold);
	if (work.status < 0)
		goto out;
	parallel_each(count * (fold_count + 1), parameter->thread_count, one_fit, &work);
	path->interrupted = stopped(&work);
	if (work.status == 0 && !path->interrupted) {
		for (size_t i = 0; i < count; i++)
			average(&work, i);
		choose(path);
	}
out:
	pthread_mutex_destroy(&work.lock);
	free(work.order);
	free(work.fold);
	free(work.errors);
	free(work.agreed);
	return work.status;
}

void lambda_path_free(struct lambda_path *path)
{
	for (size_t i = 0; i < path->count; i++)
		pm_fit_free(path->points[i].model);
	free(path->points);
	*path = (struct lambda_path){0};
}
