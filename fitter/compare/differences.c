/* Differences of two fits: see differences.h. */
#include "differences.h"
#include "base/statistics.h"
#include "model/interval.h"
#include "model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES_LEAST 20
/* Their pairs are sorted. */
#define RESAMPLES_MOST 300

/* A model's numbers in one row: values, then contrasts; the best run's and each resample's. */
struct side {
	const struct pm_fit_model *model;
	struct space space;
	size_t width, resample_count;
	double *best, *resamples;
};

static int side_init(struct side *side, const struct pm_fit_model *model)
{
	*side = (struct side){.model = model, .width = model->value_count + model->contrast_count};
	if (space_of_model(&side->space, model) < 0)
		return -ENOMEM;
	side->resample_count =
		model->resample_count < RESAMPLES_MOST ? model->resample_count : RESAMPLES_MOST;
	side->best = calloc(side->width + 1, sizeof(double));
	side->resamples = calloc(side->resample_count * side->width + 1, sizeof(double));
	if (!side->best || !side->resamples)
		return -ENOMEM;
	for (size_t i = 0; i < model->value_count; i++)
		side->best[i] = model->values[i].value;
	model_contrasts(&side->space, side->best, side->best + model->value_count);
	for (size_t r = 0; r < side->resample_count; r++) {
		double *row = side->resamples + r * side->width;

		memcpy(row, model->resamples + r * model->value_count, model->value_count * sizeof(*row));
		model_contrasts(&side->space, row, row + model->value_count);
	}
	return 0;
}

static void side_free(struct side *side)
{
	space_free(&side->space);
	free(side->best);
	free(side->resamples);
}

bool differences_same_unit(const struct pm_fit_model *first, const struct pm_fit_model *second)
{
	const char *a = first->time_unit, *b = second->time_unit;

	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static bool is_exponent(enum pm_fit_kind kind)
{
	return kind == PM_FIT_KIND_POWER || kind == PM_FIT_KIND_EXTRINSIC || kind == PM_FIT_KIND_FACTOR;
}

/* Whether the number says something by itself; at a bound resamples do not spread as they should. */
static bool stands_alone(const struct pm_fit_value *value)
{
	return !(value->flags & (PM_FIT_UNDETERMINED | PM_FIT_DEAD | PM_FIT_AT_LOWER | PM_FIT_AT_UPPER));
}

/* The base is what the intrinsic terms leave: where they are not determined it is not. */
static bool base_stands(const struct pm_fit_model *model)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (model->values[i].kind == PM_FIT_KIND_COEFFICIENT &&
			(model->values[i].flags & PM_FIT_UNDETERMINED))
			return false;
	return true;
}

/* Place i of the first's row, place j of the second's. */
static void measure(const struct side *first, const struct side *second, size_t i, size_t j,
	double confidence, double *pairs, struct difference *row)
{
	size_t count = 0;

	row->first = first->best[i];
	row->second = second->best[j];
	for (size_t r = 0; r < first->resample_count; r++)
		for (size_t s = 0; s < second->resample_count; s++)
			pairs[count++] = second->resamples[s * second->width + j] -
					 first->resamples[r * first->width + i];
	statistics_sort(pairs, count);
	row->low = statistics_quantile_sorted(pairs, count, (1 - confidence) / 2);
	row->high = statistics_quantile_sorted(pairs, count, (1 + confidence) / 2);
	row->is_clear = row->low > 0 || row->high < 0;
}

static size_t find_value(const struct pm_fit_model *model, const struct pm_fit_value *like)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (model->values[i].kind == like->kind && strcmp(model->values[i].name, like->name) == 0)
			return i;
	return SIZE_MAX;
}

static size_t find_contrast(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->contrast_count; i++)
		if (strcmp(model->contrasts[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

/* Else "less the column's mean" is not the same in both. */
static bool same_levels(const struct pm_fit_model *one, const struct pm_fit_model *other)
{
	if (one->contrast_count != other->contrast_count)
		return false;
	for (size_t i = 0; i < one->contrast_count; i++)
		if (find_contrast(other, one->contrasts[i].name) == SIZE_MAX)
			return false;
	return true;
}

static size_t fill(const struct side *first, const struct side *second, double confidence, double *pairs,
	struct difference *rows)
{
	const struct pm_fit_model *one = first->model, *other = second->model;
	bool same_unit = differences_same_unit(one, other);
	size_t count = 0;

	for (size_t i = 0; i < one->value_count; i++) {
		const struct pm_fit_value *value = &one->values[i];
		size_t j = find_value(other, value);

		if (j == SIZE_MAX || value->kind == PM_FIT_KIND_LEVEL || value->kind == PM_FIT_KIND_BASE ||
			!stands_alone(value) || !stands_alone(&other->values[j]) ||
			(!same_unit && !is_exponent(value->kind)))
			continue;
		rows[count] = (struct difference){.name = value->name, .kind = value->kind};
		measure(first, second, i, j, confidence, pairs, &rows[count++]);
	}
	for (size_t i = 0; i < one->contrast_count && same_unit && same_levels(one, other); i++) {
		size_t j = find_contrast(other, one->contrasts[i].name);

		if (i == 0 && (!base_stands(one) || !base_stands(other)))
			continue;
		rows[count] = (struct difference){.name = one->contrasts[i].name,
			.kind = i == 0 ? PM_FIT_KIND_BASE : PM_FIT_KIND_LEVEL,
			.is_contrast = true};
		measure(first, second, one->value_count + i, other->value_count + j, confidence, pairs,
			&rows[count++]);
	}
	return count;
}

int differences_find(const struct pm_fit_model *first, const struct pm_fit_model *second, double confidence,
	struct difference **rows, size_t *count)
{
	struct side one = {0}, other = {0};
	double *pairs = NULL;
	int status = 0;

	*rows = NULL;
	*count = 0;
	if (first->resample_count < RESAMPLES_LEAST || second->resample_count < RESAMPLES_LEAST)
		return 0;
	if (side_init(&one, first) < 0 || side_init(&other, second) < 0)
		status = -ENOMEM;
	else
		pairs = malloc(one.resample_count * other.resample_count * sizeof(*pairs));
	if (pairs)
		*rows = calloc(one.width + 1, sizeof(**rows));
	if (*rows)
		*count = fill(&one, &other, confidence, pairs, *rows);
	else
		status = -ENOMEM;
	free(pairs);
	side_free(&one);
	side_free(&other);
	return status;
}
