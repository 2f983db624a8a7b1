/* A model asked at a point: see guide.h. */
#include "guide.h"
#include "base/csv.h"
#include "base/error_message.h"
#include "base/role.h"
#include "base/statistics.h"
#include "base/suggest.h"
#include "model/expression_model.h"
#include "model/interval.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Step of the central difference, as a factor: the model is smooth, so that this is exact to 1e-5. */
#define STEP 1.01

static const char *unknown_column(const struct pm_fit_model *model, const char *name)
{
	const char *near = NULL;
	const char **names = calloc(model->column_count + 1, sizeof(*names));

	for (size_t i = 0; names && i < model->column_count; i++)
		names[i] = model->columns[i].name;
	if (names)
		near = suggest(name, names, model->column_count);
	free(names);
	if (near)
		return error_message("the model has no column %.100s (did you mean '%.100s'?)", name, near);
	return error_message("the model has no column %.100s", name);
}

static const char *find(const struct guide *guide, const char *name, const char *usual, size_t *place)
{
	const struct pm_fit_model *model = guide->model;

	*place = GUIDE_NONE;
	for (size_t i = 0; i < model->column_count; i++) {
		if (strcmp(model->columns[i].name, name ? name : usual) != 0)
			continue;
		if (model->columns[i].role == PM_FIT_IGNORED)
			return name ? error_message("column %.100s is ignored by the model", name) : NULL;
		if (role_has_levels(model->columns[i].role))
			return error_message("column %.100s is categorical: scaling needs a numeric column",
				model->columns[i].name);
		*place = i;
		return NULL;
	}
	return name ? unknown_column(model, name) : NULL;
}

const char *guide_init(
	struct guide *guide, const struct pm_fit_model *model, const char *gpus, const char *batch)
{
	const char *bad;

	*guide = (struct guide){
		.model = model, .gpus = GUIDE_NONE, .batch = GUIDE_NONE, .unit_s = NAN, .worth = 0.5};
	guide->point = calloc(model->column_count + 1, sizeof(*guide->point));
	if (!guide->point)
		return "out of memory";
	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *column = &model->columns[i];

		if (role_has_levels(column->role))
			continue;
		if (column->least > 0)
			guide->point[i] = sqrt(column->least) * sqrt(column->greatest);
		else
			guide->point[i] = (column->least + column->greatest) / 2;
	}
	bad = find(guide, gpus, "gpus", &guide->gpus);
	if (!bad)
		bad = find(guide, batch, "batch", &guide->batch);
	/* there are no parts of GPUs and samples */
	if (!bad && guide->gpus != GUIDE_NONE)
		guide->point[guide->gpus] = fmax(1, round(guide->point[guide->gpus]));
	if (!bad && guide->batch != GUIDE_NONE)
		guide->point[guide->batch] = fmax(1, round(guide->point[guide->batch]));
	return bad;
}

void guide_free(struct guide *guide)
{
	free(guide->point);
	guide->point = NULL;
}

const char *guide_set(struct guide *guide, const char *name, const char *text)
{
	const struct pm_fit_model *model = guide->model;

	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *column = &model->columns[i];
		double number;

		if (strcmp(column->name, name) != 0)
			continue;
		if (!role_has_levels(column->role)) {
			if (csv_number(text, &number) < 0)
				return error_message(
					"%.100s=%.100s: expected a number (--at for each column)", name,
					text);
			if (number <= 0 && column->least > 0)
				return error_message(
					"%.100s=%.100s: expected a positive number, like all fitted values",
					name, text);
			guide->point[i] = number;
			return NULL;
		}
		for (size_t l = 0; l < column->level_count; l++)
			if (strcmp(column->levels[l], text) == 0) {
				guide->point[i] = (double)l;
				return NULL;
			}
		return error_message("%.100s=%.100s: the fitted rows do not contain this level", name, text);
	}
	return unknown_column(model, name);
}

const char *guide_meaning(const struct guide *guide, size_t column)
{
	if (column == guide->batch)
		return guide->is_epoch ? "-1: the iteration time does not grow with the batch; 0: "
					 "proportional to it"
				       : "1: proportional to the batch; below 1: larger batches cost less "
					 "per sample";
	if (guide->is_epoch)
		return "-1 is ideal: twice the GPUs, half the epoch time; 0: no speedup";
	if (guide->is_local)
		return "weak scaling: 0 is ideal (fixed batch per GPU); 1: no gain";
	return "strong scaling: -1 is ideal (twice the GPUs, half the time); 0: no speedup";
}

/* The problem that pm_fit_predict is asked: a column of values for each of the model's. */
static int ask(const struct guide *guide, const double *points, size_t count, double *times)
{
	const struct pm_fit_model *model = guide->model;
	size_t n = model->column_count;
	struct pm_fit_column *columns = calloc(n + 1, sizeof(*columns));
	double *values = malloc((n * count + 1) * sizeof(*values));
	struct pm_fit_value *own = malloc((model->value_count + 1) * sizeof(*own));
	struct pm_fit_model other = *model;
	struct pm_fit_problem problem = {.sample_count = count, .column_count = n, .columns = columns};
	int status = columns && values && own ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && status == 0; i++) {
		for (size_t k = 0; k < count; k++)
			values[i * count + k] = points[k * n + i];
		columns[i] = (struct pm_fit_column){model->columns[i].name, model->columns[i].role,
			values + i * count, model->columns[i].level_count,
			(const char *const *)model->columns[i].levels};
	}
	if (status == 0)
		status = pm_fit_predict(model, &problem, times);
	if (status == 0 && model->value_count)
		memcpy(own, model->values, model->value_count * sizeof(*own));
	other.values = own;
	for (size_t r = 0; r < model->resample_count && status == 0; r++) {
		for (size_t v = 0; v < model->value_count; v++)
			own[v].value = model->resamples[r * model->value_count + v];
		status = pm_fit_predict(&other, &problem, times + (r + 1) * count);
	}
	free(columns);
	free(values);
	free(own);
	return status;
}

double *guide_times(const struct guide *guide, const double *points, size_t count)
{
	double *times = malloc(((1 + guide->model->resample_count) * count + 1) * sizeof(*times));

	if (times && ask(guide, points, count, times) < 0) {
		free(times);
		return NULL;
	}
	return times;
}

struct guide_number guide_interval(const struct guide *guide, double *numbers)
{
	size_t count = guide->model->resample_count, kept = 0;
	double confidence = guide->model->parameter.confidence;
	struct guide_number number = {numbers[0], NAN, NAN};

	/* a resample whose time is not positive says nothing */
	for (size_t r = 1; r <= count; r++)
		if (isfinite(numbers[r]))
			numbers[1 + kept++] = numbers[r];
	if (!kept || !(confidence > 0 && confidence < 1))
		return number;
	statistics_sort(numbers + 1, kept);
	number.low = statistics_quantile_sorted(numbers + 1, kept, (1 - confidence) / 2);
	number.high = statistics_quantile_sorted(numbers + 1, kept, (1 + confidence) / 2);
	return number;
}

/* Asks at the point with each of these values for a column. */
static double *vary(const struct guide *guide, size_t column, const double *values, size_t count)
{
	size_t n = guide->model->column_count;
	double *points = malloc((n * count + 1) * sizeof(*points)), *times;

	if (!points)
		return NULL;
	for (size_t k = 0; k < count; k++) {
		memcpy(points + k * n, guide->point, n * sizeof(*points));
		points[k * n + column] = values[k];
	}
	times = guide_times(guide, points, count);
	free(points);
	return times;
}

static double spread(const double *times, size_t count)
{
	double least = times[0], most = times[0];

	for (size_t i = 1; i < count; i++) {
		least = fmin(least, times[i]);
		most = fmax(most, times[i]);
	}
	return least > 0 ? most / least - 1 : NAN;
}

static double slope(const double *times, double ratio)
{
	return times[0] > 0 && times[1] > 0 ? log(times[1] / times[0]) / log(ratio) : NAN;
}

/* Formulas have factors for 1 and for more, and logarithms of counts: around 1 they are not smooth. */
static bool is_step(const struct guide *guide, size_t column)
{
	const struct pm_fit_expression *expression = guide->model->expression;

	if (!expression || guide->point[column] < 1 / STEP || guide->point[column] > STEP)
		return false;
	for (size_t i = 0; i < expression->terms.number_count; i++)
		if (expression->terms.numbers[i].column == column)
			return expression->terms.numbers[i].is_count;
	return false;
}

int guide_elasticity(const struct guide *guide, size_t column, struct guide_number *number)
{
	const struct pm_fit_model_column *which = &guide->model->columns[column];
	size_t rows = 1 + guide->model->resample_count,
	       count = role_has_levels(which->role) ? which->level_count : 2;
	double *values = malloc((count + 1) * sizeof(*values)), *times = NULL, ratio = STEP * STEP;

	*number = (struct guide_number){NAN, NAN, NAN};
	if (!values)
		return -ENOMEM;
	for (size_t l = 0; l < count; l++)
		values[l] = role_has_levels(which->role) ? (double)l
							 : guide->point[column] * (l ? STEP : 1 / STEP);
	if (!role_has_levels(which->role) && is_step(guide, column)) {
		values[0] = 1;
		values[1] = ratio = 2;
	}
	times = count ? vary(guide, column, values, count) : NULL;
	free(values);
	if (!times)
		return -ENOMEM;
	for (size_t r = 0; r < rows; r++)
		times[r] = role_has_levels(which->role) ? spread(times + r * count, count)
							: slope(times + r * count, ratio);
	*number = guide_interval(guide, times);
	free(times);
	return 0;
}

int guide_constant_share(const struct guide *guide, struct guide_number *number)
{
	const struct pm_fit_model *model = guide->model;
	double *times = guide_times(guide, guide->point, 1);
	size_t v = 0;

	if (!times)
		return -ENOMEM;
	while (v < model->value_count && model->values[v].kind != PM_FIT_KIND_CONSTANT)
		v++;
	for (size_t r = 0; r <= model->resample_count; r++) {
		double c = 0;

		if (v < model->value_count)
			c = r ? model->resamples[(r - 1) * model->value_count + v] : model->values[v].value;
		times[r] = times[r] > 0 && !model->expression ? c / times[r] : NAN;
	}
	*number = guide_interval(guide, times);
	free(times);
	return 0;
}

struct guide_number guide_power(const struct guide *guide, size_t column)
{
	for (size_t v = 0; v < guide->model->value_count; v++) {
		const struct pm_fit_value *value = &guide->model->values[v];

		if (value->column == column &&
			(value->kind == PM_FIT_KIND_EXTRINSIC || value->kind == PM_FIT_KIND_POWER))
			return (struct guide_number){value->value, value->low, value->high};
	}
	return (struct guide_number){NAN, NAN, NAN};
}
