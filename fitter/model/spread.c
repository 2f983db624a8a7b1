/* How residuals differ: see spread.h. */
#include "spread.h"
#include "base/error_message.h"
#include "base/random.h"
#include "base/role.h"
#include "base/statistics.h"
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_ROWS 20 /* of a group of numbers, at least */
#define GROUPS 12     /* of a column of numbers, at most */
#define PASSES 6
#define TAIL 0.025     /* beyond what is made alike, on each side */
#define PRIOR_ROWS 10  /* weight of a factor of 1 */
#define MOST_ROWS 5000 /* that take part */
#define MOST_LEVELS 64 /* of a column: of more each has too few rows */
#define MOST_FACTOR 5  /* and its inverse the least */
#define FOLDS 5

/* The rows that take part: every step-th of the problem. */
struct fitting {
	struct pm_fit_model *model;
	size_t count, step;
	double *logs;   /* of residuals */
	double *powers; /* the product of factors so far, of the side on which the residual lies */
	double *sorted; /* for quantiles */
	size_t *groups; /* of each spread, count in a row */
	size_t fold;    /* whose rows do not count; FOLDS: all count */
};

static size_t group_of(const struct pm_fit_spread *spread, double value)
{
	size_t i = 0;

	while (i + 1 < spread->count && value >= spread->from[i + 1])
		i++;
	return i;
}

static size_t fold_of(size_t row)
{
	return random_mix(row) % FOLDS;
}

static int add_spread(struct pm_fit_model *model, size_t column, size_t most)
{
	struct pm_fit_spread *spread = &model->spreads[model->spread_count];

	*spread = (struct pm_fit_spread){.column = column,
		.from = calloc(most + 1, sizeof(*spread->from)),
		.below = calloc(most + 1, sizeof(*spread->below)),
		.above = calloc(most + 1, sizeof(*spread->above))};
	model->spread_count++;
	return spread->from && spread->below && spread->above ? 0 : -ENOMEM;
}

/* Edges between different numbers, after enough rows each. */
static void cut_numbers(struct fitting *f, struct pm_fit_spread *spread, const double *values)
{
	const size_t least = f->count / GROUPS > GROUP_ROWS ? (f->count + GROUPS - 1) / GROUPS : GROUP_ROWS;
	size_t begin = 0;

	for (size_t k = 0; k < f->count; k++)
		f->sorted[k] = values[k * f->step];
	statistics_sort(f->sorted, f->count);
	spread->from[spread->count++] = f->sorted[0];
	for (size_t k = 1; k < f->count; k++)
		if (f->sorted[k] > f->sorted[k - 1] && k - begin >= least && f->count - k >= least) {
			spread->from[spread->count++] = f->sorted[k];
			begin = k;
		}
}

static bool has_groups(const struct pm_fit_model *model, size_t column)
{
	const struct pm_fit_model_column *known = &model->columns[column];

	return column == model->column_count ||
	       (known->role != PM_FIT_IGNORED && known->role != PM_FIT_OFFSET &&
		       !(role_has_levels(known->role) && known->level_count > MOST_LEVELS));
}

/* A column's groups, or the predicted time's (which are in `values` already). */
static int make_groups(struct fitting *f, const struct pm_fit_problem *problem, size_t column, double *values)
{
	struct pm_fit_model *model = f->model;
	const bool is_time = column == model->column_count;
	const size_t levels = !is_time && role_has_levels(model->columns[column].role)
				      ? model->columns[column].level_count
				      : 0;
	struct pm_fit_spread *spread = &model->spreads[model->spread_count];
	size_t *groups = f->groups + model->spread_count * f->count;
	int status = add_spread(model, column, levels ? levels : GROUPS + 1);

	if (status == 0 && !is_time)
		status = model_column_values(model, problem, column, values);
	if (status < 0)
		return status;
	for (; spread->count < levels; spread->count++)
		spread->from[spread->count] = (double)spread->count;
	if (!levels)
		cut_numbers(f, spread, values);
	for (size_t k = 0; k < f->count; k++)
		groups[k] = group_of(spread, values[k * f->step]);
	return 0;
}

/* How far common residuals reach to one side, of all rows (groups NULL) or of a group: where all but TAIL of
 * as many and one more lie. */
static double reach_of(struct fitting *f, const size_t *groups, size_t group, double side, size_t *count)
{
	double share;

	*count = 0;
	for (size_t k = 0; k < f->count; k++)
		if ((!groups || groups[k] == group) && fold_of(k) != f->fold)
			f->sorted[(*count)++] = fmax(side * f->logs[k] / f->powers[k], 0);
	if (!*count)
		return NAN;
	statistics_sort(f->sorted, *count);
	share = fmin((1 - TAIL) * (1 + 1 / (double)*count), 1);
	return statistics_quantile_sorted(f->sorted, *count, share);
}

/* A column's factors of one side are drawn to where each group reaches as far as all. */
static void improve(
	struct fitting *f, const size_t *groups, double *factors, size_t factor_count, double side)
{
	const double whole = reach_of(f, NULL, 0, side, &(size_t){0});

	for (size_t g = 0; g < factor_count; g++) {
		const double before = factors[g];
		size_t count;
		double reach = reach_of(f, groups, g, side, &count), weight;

		if (!count || !(whole > 0))
			continue;
		weight = (double)count / ((double)count + PRIOR_ROWS);
		factors[g] = exp(weight * log(fmax(before * reach / whole, 1.0 / MOST_FACTOR)));
		factors[g] = fmin(factors[g], MOST_FACTOR);
		for (size_t k = 0; k < f->count; k++)
			if (groups[k] == g && side * f->logs[k] > 0)
				f->powers[k] *= factors[g] / before;
	}
}

static double *factors_of(struct pm_fit_spread *spread, double side)
{
	return side < 0 ? spread->below : spread->above;
}

/* The factors of several columns have a scale in common, which nothing holds: it becomes that with which all
 * common residuals reach as far as the residuals do. */
static void hold_scale(struct fitting *f, double side, double reach)
{
	struct pm_fit_spread *last = &f->model->spreads[f->model->spread_count - 1];
	double ratio = reach_of(f, NULL, 0, side, &(size_t){0}) / reach;

	for (size_t g = 0; g < last->count && ratio > 0 && isfinite(ratio); g++)
		factors_of(last, side)[g] *= ratio;
	for (size_t k = 0; k < f->count && ratio > 0 && isfinite(ratio); k++)
		if (side * f->logs[k] > 0)
			f->powers[k] *= ratio;
}

/* All factors of one side, without the rows of a fold. */
static void find_side(struct fitting *f, double side)
{
	double reach;

	for (size_t k = 0; k < f->count; k++)
		f->powers[k] = side * f->logs[k] > 0 ? 1 : f->powers[k];
	reach = reach_of(f, NULL, 0, side, &(size_t){0});
	for (size_t i = 0; i < f->model->spread_count; i++)
		for (size_t g = 0; g < f->model->spreads[i].count; g++)
			factors_of(&f->model->spreads[i], side)[g] = 1;
	for (size_t pass = 0; pass < PASSES; pass++)
		for (size_t i = 0; i < f->model->spread_count; i++)
			improve(f, f->groups + i * f->count, factors_of(&f->model->spreads[i], side),
				f->model->spreads[i].count, side);
	hold_scale(f, side, reach);
}

static void find_factors(struct fitting *f, size_t fold)
{
	f->fold = fold;
	for (size_t k = 0; k < f->count; k++)
		f->powers[k] = 1;
	find_side(f, -1);
	find_side(f, 1);
}

/* Each residual by factors that were found without it: those of its own fit it too well. */
static void make_common(struct fitting *f, double *residuals)
{
	for (size_t fold = 0; fold < FOLDS; fold++) {
		find_factors(f, fold);
		for (size_t k = 0; k < f->count; k++)
			if (fold_of(k) == fold)
				residuals[k] = exp(f->logs[k] / f->powers[k]);
	}
	find_factors(f, FOLDS);
}

static void fitting_free(struct fitting *f)
{
	free(f->logs);
	free(f->powers);
	free(f->sorted);
	free(f->groups);
}

int spread_fit(struct pm_fit_model *model, const struct pm_fit_problem *problem, const double *times,
	double *residuals, size_t *kept)
{
	const size_t rows = problem->sample_count, step = rows / MOST_ROWS + 1,
		     count = (rows + step - 1) / step;
	struct fitting f = {.model = model,
		.count = count,
		.step = step,
		.logs = malloc((count + 1) * sizeof(double)),
		.powers = malloc((count + 1) * sizeof(double)),
		.sorted = malloc((count + 1) * sizeof(double)),
		.groups = malloc((count * (model->column_count + 1) + 1) * sizeof(size_t))};
	double *values = malloc((rows + 1) * sizeof(*values));
	int status = 0;

	if (rows < FOLDS * GROUP_ROWS) {
		fitting_free(&f);
		free(values);
		return 0;
	}
	model->spreads = calloc(model->column_count + 2, sizeof(*model->spreads));
	if (!f.logs || !f.powers || !f.sorted || !f.groups || !values || !model->spreads)
		status = -ENOMEM;
	for (size_t c = 0; c < model->column_count && status == 0; c++)
		if (has_groups(model, c))
			status = make_groups(&f, problem, c, values);
	if (status == 0) {
		memcpy(values, times, rows * sizeof(*values));
		status = make_groups(&f, problem, model->column_count, values);
	}
	for (size_t k = 0; k < count && status == 0; k++)
		f.logs[k] = log(residuals[k * step]);
	if (status == 0) {
		make_common(&f, residuals);
		*kept = count;
	}
	fitting_free(&f);
	free(values);
	return status;
}

int spread_of(const struct pm_fit_model *model, const struct pm_fit_problem *problem, const double *times,
	double *below, double *above)
{
	double *values = malloc((problem->sample_count + 1) * sizeof(*values));
	int status = values ? 0 : -ENOMEM;

	for (size_t k = 0; k < problem->sample_count; k++)
		below[k] = above[k] = 1;
	for (size_t i = 0; i < model->spread_count && status == 0; i++) {
		const struct pm_fit_spread *spread = &model->spreads[i];
		const bool is_time = spread->column == model->column_count;

		if (!is_time)
			status = model_column_values(model, problem, spread->column, values);
		for (size_t k = 0; k < problem->sample_count && status == 0; k++) {
			const size_t group = group_of(spread, is_time ? times[k] : values[k]);

			below[k] *= spread->below[group];
			above[k] *= spread->above[group];
		}
	}
	free(values);
	return status;
}

void spread_free(struct pm_fit_model *model)
{
	for (size_t i = 0; i < model->spread_count; i++) {
		free(model->spreads[i].from);
		free(model->spreads[i].below);
		free(model->spreads[i].above);
	}
	free(model->spreads);
	model->spreads = NULL;
	model->spread_count = 0;
}

cJSON *spread_json(const struct pm_fit_model *model)
{
	cJSON *array = model->spread_count ? cJSON_CreateArray() : NULL;

	for (size_t i = 0; array && i < model->spread_count; i++) {
		const struct pm_fit_spread *spread = &model->spreads[i];
		cJSON *object = cJSON_CreateObject();

		if (spread->column < model->column_count)
			cJSON_AddStringToObject(object, "column", model->columns[spread->column].name);
		cJSON_AddItemToObject(
			object, "from", cJSON_CreateDoubleArray(spread->from, (int)spread->count));
		cJSON_AddItemToObject(
			object, "below", cJSON_CreateDoubleArray(spread->below, (int)spread->count));
		cJSON_AddItemToObject(
			object, "above", cJSON_CreateDoubleArray(spread->above, (int)spread->count));
		cJSON_AddItemToArray(array, object);
	}
	return array;
}

/* NAN: it is none. */
static double number_of(const cJSON *item)
{
	return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : NAN;
}

static const char *read_one(const cJSON *object, struct pm_fit_model *model)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "column"));
	const cJSON *from = cJSON_GetObjectItemCaseSensitive(object, "from");
	const cJSON *below = cJSON_GetObjectItemCaseSensitive(object, "below");
	const cJSON *above = cJSON_GetObjectItemCaseSensitive(object, "above");
	const size_t count = (size_t)cJSON_GetArraySize(from);
	struct pm_fit_spread *spread = &model->spreads[model->spread_count];
	size_t column = 0;

	while (column < model->column_count && (!name || strcmp(model->columns[column].name, name) != 0))
		column++;
	if (name && !(column < model->column_count && has_groups(model, column)))
		return error_message("the residuals' spread names no column '%.60s'", name);
	if (!count || (size_t)cJSON_GetArraySize(below) != count ||
		(size_t)cJSON_GetArraySize(above) != count)
		return error_message("a spread has other numbers of edges and factors");
	if (add_spread(model, column, count) < 0)
		return error_message("out of memory");
	from = from->child;
	below = below->child;
	above = above->child;
	for (size_t i = 0; i < count; i++, from = from->next, below = below->next, above = above->next) {
		spread->from[i] = number_of(from);
		spread->below[i] = number_of(below);
		spread->above[i] = number_of(above);
		if (!(spread->below[i] > 0 && spread->above[i] > 0) || isnan(spread->from[i]) ||
			(i && spread->from[i] <= spread->from[i - 1]))
			return error_message("a spread's edges do not ascend, or a factor is not above 0");
		spread->count++;
	}
	return NULL;
}

const char *spread_read(const cJSON *root, struct pm_fit_model *model)
{
	const cJSON *spreads = cJSON_GetObjectItemCaseSensitive(root, "spreads"), *item;
	const char *bad = NULL;

	model->spreads = calloc((size_t)cJSON_GetArraySize(spreads) + 1, sizeof(*model->spreads));
	if (!model->spreads)
		return error_message("out of memory");
	for (item = spreads ? spreads->child : NULL; item && !bad; item = item->next)
		bad = read_one(item, model);
	return bad;
}
