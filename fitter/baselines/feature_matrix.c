/* The matrix that black boxes learn from: see feature_matrix.h. */
#include "feature_matrix.h"
#include "base/role.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t width_of(const struct pm_fit_column *column)
{
	if (column->role == PM_FIT_IGNORED || column->role == PM_FIT_OFFSET)
		return 0;
	return role_has_levels(column->role) ? column->level_count : 1;
}

static void fill(struct feature_matrix *features, const struct pm_fit_column *column, size_t at)
{
	for (size_t k = 0; k < features->row_count; k++) {
		double *row = features->values + k * features->column_count + at;

		if (column->role == PM_FIT_OFFSET)
			features->offset[k] += column->values[k];
		else if (role_has_levels(column->role))
			row[(size_t)column->values[k]] = 1;
		else if (column->role != PM_FIT_IGNORED)
			*row = column->values[k];
	}
}

int feature_matrix_init(struct feature_matrix *features, const struct pm_fit_problem *problem)
{
	size_t count = problem->sample_count, at = 0;

	*features = (struct feature_matrix){.row_count = count, .time = problem->time};
	for (size_t i = 0; i < problem->column_count; i++)
		features->column_count += width_of(&problem->columns[i]);
	features->values = calloc(count * features->column_count + 1, sizeof(double));
	features->target = calloc(count + 1, sizeof(double));
	features->offset = calloc(count + 1, sizeof(double));
	if (!features->values || !features->target || !features->offset)
		return -ENOMEM;
	for (size_t i = 0; i < problem->column_count; i++) {
		fill(features, &problem->columns[i], at);
		at += width_of(&problem->columns[i]);
	}
	for (size_t k = 0; k < count; k++)
		features->target[k] = problem->time[k] - features->offset[k];
	return 0;
}

int feature_matrix_copy(struct feature_matrix *copy, const struct feature_matrix *features)
{
	size_t rows = features->row_count, cells = rows * features->column_count;

	*copy = *features;
	copy->values = malloc((cells + 1) * sizeof(double));
	copy->target = malloc((rows + 1) * sizeof(double));
	copy->offset = malloc((rows + 1) * sizeof(double));
	if (!copy->values || !copy->target || !copy->offset)
		return -ENOMEM;
	memcpy(copy->values, features->values, cells * sizeof(double));
	memcpy(copy->target, features->target, rows * sizeof(double));
	memcpy(copy->offset, features->offset, rows * sizeof(double));
	return 0;
}

static bool is_positive(const struct feature_matrix *features, size_t column)
{
	for (size_t k = 0; k < features->row_count; k++)
		if (!(features->values[k * features->column_count + column] > 0))
			return false;
	return true;
}

static void log_column(struct feature_matrix *features, size_t column)
{
	for (size_t k = 0; k < features->row_count; k++) {
		double *value = &features->values[k * features->column_count + column];

		*value = log(*value);
	}
}

void feature_matrix_log_columns(struct feature_matrix *train, struct feature_matrix *test)
{
	for (size_t column = 0; column < train->column_count; column++)
		if (is_positive(train, column) && is_positive(test, column)) {
			log_column(train, column);
			log_column(test, column);
		}
}

int feature_matrix_log_target(struct feature_matrix *features)
{
	for (size_t k = 0; k < features->row_count; k++)
		if (!(features->target[k] > 0))
			return -EDOM;
	for (size_t k = 0; k < features->row_count; k++)
		features->target[k] = log(features->target[k]);
	return 0;
}

void feature_matrix_free(struct feature_matrix *features)
{
	free(features->values);
	free(features->target);
	free(features->offset);
	*features = (struct feature_matrix){0};
}
