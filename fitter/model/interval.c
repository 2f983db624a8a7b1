/* Intervals: see interval.h. */
#include "interval.h"
#include "base/statistics.h"
#include "base/student.h"
#include "expression_model.h"
#include "spread.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Samples at a time: what the resamples say of these is held in memory. */
#define SLICE 1024
/* Halvings of the range in which an end lies. */
#define HALVINGS 50
/* Confidence at which residuals of few rows are as wide as Student's t has them, and degrees that are normal.
 */
#define USUAL 0.95
#define NORMAL_DEGREES 1e6

/* Common residuals in place of predicted times; of those alone that have a share. */
static int residuals_of(
	struct pm_fit_model *model, const struct pm_fit_problem *problem, double *times, size_t *kept)
{
	double *residuals = malloc((problem->sample_count + 1) * sizeof(*residuals));
	bool positive = true;
	int status = residuals ? 0 : -ENOMEM;

	for (size_t k = 0; k < problem->sample_count; k++)
		positive &= times[k] > 0;
	for (size_t k = 0; k < problem->sample_count && residuals; k++)
		if (times[k] > 0)
			residuals[(*kept)++] = problem->time[k] / times[k];
	if (residuals && positive)
		status = spread_fit(model, problem, times, residuals, kept);
	if (residuals)
		memcpy(times, residuals, *kept * sizeof(*times));
	free(residuals);
	return status;
}

/*
 * The power that makes residuals of `count` rows, to which so many parameters were fitted, those of new rows.
 * By what least squares have (Student's t times sqrt(1 + p/n), over a deviation by n - p), where these
 * residuals are smaller (by sqrt(1 - p/n)) and the quantile of few (between the order statistics, Blom's
 * place) is not as far out. A bootstrap has the parameters' doubt itself.
 */
static double power_of_new(const struct pm_fit_model *model, size_t count)
{
	double n = (double)count,
	       p = (double)(model->expression ? model->expression->expression.constant_count : model->rank);
	double degrees = fmax(n - p, 1), doubt = model->parameter.bootstrap ? 0 : p;
	double place = (1 + (n - 1) * (1 - USUAL) / 2 - 0.375) / (n + 0.25);

	return fmax(1, sqrt((n + doubt) / degrees) * student_quantile(USUAL, degrees) /
			       student_quantile(1 - 2 * place, NORMAL_DEGREES));
}

int interval_residuals(struct pm_fit_model *model, const struct pm_fit_problem *problem)
{
	size_t count = problem->sample_count, kept = 0;
	size_t quantiles = count < INTERVAL_QUANTILES ? count : INTERVAL_QUANTILES;
	double power;
	double *times = malloc((count + 1) * sizeof(*times));
	int status = times ? pm_fit_predict(model, problem, times) : -ENOMEM;

	model->residuals = calloc(quantiles + 1, sizeof(*model->residuals));
	if (!model->residuals)
		status = -ENOMEM;
	/* a prediction that is not positive has no share */
	status = status == 0 ? residuals_of(model, problem, times, &kept) : status;
	if (status == 0 && kept) {
		statistics_sort(times, kept);
		power = power_of_new(model, kept);
		model->residual_count = kept < quantiles ? kept : quantiles;
		for (size_t i = 0; i < model->residual_count; i++)
			model->residuals[i] = statistics_quantile_sorted(times, kept,
				model->residual_count > 1 ? (double)i / (double)(model->residual_count - 1)
							  : 0.5);
		for (size_t i = 0; i < model->residual_count; i++)
			model->residuals[i] = pow(model->residuals[i], power);
	}
	free(times);
	return status;
}

/* The share of residuals up to x. */
static double share_below(const struct pm_fit_model *model, double x)
{
	const double *r = model->residuals;
	size_t low = 0, high = model->residual_count - 1;

	if (x < r[0])
		return 0;
	if (x >= r[high])
		return 1;
	while (low + 1 < high) {
		size_t middle = (low + high) / 2;

		if (r[middle] <= x)
			low = middle;
		else
			high = middle;
	}
	return ((double)low + (x - r[low]) / (r[high] - r[low])) / (double)(model->residual_count - 1);
}

/* Of residuals below 1, and of those above. */
struct powers {
	double below, above;
};

static double power_of(double residual, struct powers powers)
{
	return pow(residual, residual < 1 ? powers.below : powers.above);
}

/* Where the share of all products of a prediction and a residual, to its power, is `share`. `times` are
 * `stride` apart. */
static double product_quantile(const struct pm_fit_model *model, const double *times, size_t count,
	size_t stride, struct powers powers, double share)
{
	const double *r = model->residuals;
	const double least = power_of(r[0], powers),
		     greatest = power_of(r[model->residual_count - 1], powers);
	const struct powers inverse = {1 / powers.below, 1 / powers.above};
	double low = HUGE_VAL, high = -HUGE_VAL;

	for (size_t i = 0; i < count; i++) {
		double time = times[i * stride];

		low = fmin(low, fmin(time * least, time * greatest));
		high = fmax(high, fmax(time * least, time * greatest));
	}
	for (int step = 0; step < HALVINGS && low < high; step++) {
		double middle = low + (high - low) / 2, below = 0;

		for (size_t i = 0; i < count; i++) {
			double time = times[i * stride];

			below += time > 0 ? share_below(model, power_of(middle / time, inverse))
					  : (double)(time <= middle);
		}
		if (below < share * (double)count)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

/* The same samples, some of them; columns has room for as many as the problem has. */
static struct pm_fit_problem slice_of(
	const struct pm_fit_problem *problem, size_t begin, struct pm_fit_column *columns)
{
	struct pm_fit_problem slice = *problem;

	slice.sample_count = problem->sample_count - begin < SLICE ? problem->sample_count - begin : SLICE;
	slice.columns = columns;
	slice.time = NULL;
	for (size_t i = 0; i < problem->column_count; i++) {
		columns[i] = problem->columns[i];
		if (columns[i].values)
			columns[i].values += begin;
	}
	return slice;
}

/* What each resample says of a slice, a row of SLICE for each; what the model says where there are none. */
static int predict_slice(const struct pm_fit_model *model, const struct pm_fit_problem *slice, double *times)
{
	struct pm_fit_model other = *model;
	int status = 0;

	if (!model->resample_count)
		return pm_fit_predict(model, slice, times);
	other.values = malloc((model->value_count + 1) * sizeof(*other.values));
	if (!other.values)
		return -ENOMEM;
	memcpy(other.values, model->values, model->value_count * sizeof(*other.values));
	for (size_t r = 0; r < model->resample_count && status == 0; r++) {
		for (size_t v = 0; v < model->value_count; v++)
			other.values[v].value = model->resamples[r * model->value_count + v];
		status = pm_fit_predict(&other, slice, times + r * SLICE);
	}
	free(other.values);
	return status;
}

int pm_fit_predict_interval(const struct pm_fit_model *model, const struct pm_fit_problem *problem,
	double confidence, double *low, double *high)
{
	size_t rows = model->resample_count ? model->resample_count : 1;
	struct pm_fit_column *columns = NULL;
	double *times = NULL, *own = NULL; /* own: the model's, not a resample's */
	double below[SLICE], above[SLICE];
	int status = 0;

	for (size_t k = 0; k < problem->sample_count; k++)
		low[k] = high[k] = NAN;
	if (!model->residual_count)
		return PM_FIT_INTERVAL_NONE;
	columns = calloc(problem->column_count + 1, sizeof(*columns));
	times = malloc(rows * SLICE * sizeof(*times));
	own = malloc(SLICE * sizeof(*own));
	if (!columns || !times || !own)
		status = -ENOMEM;
	for (size_t begin = 0; begin < problem->sample_count && status == 0; begin += SLICE) {
		struct pm_fit_problem slice = slice_of(problem, begin, columns);

		status = predict_slice(model, &slice, times);
		if (status == 0)
			status = pm_fit_predict(model, &slice, own);
		if (status == 0)
			status = spread_of(model, &slice, own, below, above);
		for (size_t k = 0; k < slice.sample_count && status == 0; k++) {
			const struct powers powers = {below[k], above[k]};

			low[begin + k] =
				product_quantile(model, times + k, rows, SLICE, powers, (1 - confidence) / 2);
			high[begin + k] =
				product_quantile(model, times + k, rows, SLICE, powers, (1 + confidence) / 2);
		}
	}
	free(columns);
	free(times);
	free(own);
	if (status < 0)
		return status;
	return model->resample_count ? PM_FIT_INTERVAL_BOOTSTRAP : PM_FIT_INTERVAL_RESIDUALS;
}

/* The ends of what the resamples say of a slice. */
static void mean_ends(const double *times, size_t rows, size_t count, double confidence, double *sorted,
	double *low, double *high)
{
	for (size_t k = 0; k < count; k++) {
		for (size_t r = 0; r < rows; r++)
			sorted[r] = times[r * SLICE + k];
		statistics_sort(sorted, rows);
		low[k] = statistics_quantile_sorted(sorted, rows, (1 - confidence) / 2);
		high[k] = statistics_quantile_sorted(sorted, rows, (1 + confidence) / 2);
	}
}

int pm_fit_predict_mean(const struct pm_fit_model *model, const struct pm_fit_problem *problem,
	double confidence, double *low, double *high)
{
	size_t rows = model->resample_count;
	struct pm_fit_column *columns = calloc(problem->column_count + 1, sizeof(*columns));
	double *times = malloc((rows * SLICE + rows + 1) * sizeof(*times));
	int status = columns && times ? 0 : -ENOMEM;

	for (size_t k = 0; k < problem->sample_count; k++)
		low[k] = high[k] = NAN;
	for (size_t begin = 0; begin < problem->sample_count && status == 0 && rows; begin += SLICE) {
		struct pm_fit_problem slice = slice_of(problem, begin, columns);

		status = predict_slice(model, &slice, times);
		if (status == 0)
			mean_ends(times, rows, slice.sample_count, confidence, times + rows * SLICE,
				low + begin, high + begin);
	}
	free(columns);
	free(times);
	return status < 0 ? status : rows ? PM_FIT_INTERVAL_BOOTSTRAP : PM_FIT_INTERVAL_NONE;
}
