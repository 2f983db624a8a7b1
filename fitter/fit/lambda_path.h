/*
 * The way of a model over lambda: what regularisation does to every parameter and to the error on samples
 * that were not fitted, by cross-validation (the samples are dealt into folds; each is predicted by a fit to
 * the others).
 */
#ifndef LAMBDA_PATH_H
#define LAMBDA_PATH_H

#include "pm_fit.h"

struct lambda_path_point {
	double lambda;
	struct pm_fit_model *model;   /* of all samples */
	struct pm_fit_error test;     /* on the test samples, if there are any */
	struct pm_fit_error held_out; /* mean over the folds */
	double deviation;             /* standard error of held_out.mae */
	double held_out_seeds;        /* share of the folds' fits whose seeds all agree */
};

struct lambda_path {
	size_t count;
	struct lambda_path_point *points;
	size_t best;   /* least held-out error */
	size_t simple; /* the greatest lambda within one standard error of the best */
	int interrupted;
};

/*
 * Fits at each lambda, and with each of the folds held out, which have whole configurations (strata_folds:
 * -EINVAL where there are fewer than folds); `ratio` is that of the powers' lambda to the coefficients'. Test
 * has no samples if there is no test. `progress` (may be NULL) is called as fits end, one thread at a time. 0
 * or -errno; lambda_path_free in either case.
 */
int lambda_path_run(struct lambda_path *path, const struct pm_fit_problem *problem,
	const struct pm_fit_problem *test, const struct pm_fit_parameter *parameter, const double *lambdas,
	size_t count, double ratio, size_t fold_count,
	void (*progress)(void *context, size_t done, size_t all), void *context);
void lambda_path_free(struct lambda_path *path);

#endif
