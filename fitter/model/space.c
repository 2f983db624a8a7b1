/* The search space: see space.h. */
#include "space.h"
#include "base/role.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

double space_geometric_mean(const double *numbers, size_t count)
{
	double sum = 0;
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (numbers[i] > 0) {
			sum += log(numbers[i]);
			used++;
		}
	return used ? exp(sum / (double)used) : 1;
}

/* What the layout needs of a column, from a problem or from a model. */
struct source {
	enum pm_fit_role role;
	size_t level_count;
	double log_scale;
};

static void space_add(struct space *space, const struct pm_fit_parameter *parameter, enum pm_fit_kind kind,
	size_t column, size_t level, double log_scale)
{
	struct space_item *item = &space->items[space->count++];

	*item = (struct space_item){
		kind, column, level, log_scale, parameter->power_lower, parameter->power_upper};
	if (kind == PM_FIT_KIND_COEFFICIENT || kind == PM_FIT_KIND_BASE) {
		item->lower = parameter->coefficient_lower;
		item->upper = parameter->coefficient_upper;
	} else if (kind == PM_FIT_KIND_LEVEL) {
		item->lower = parameter->categorical_lower;
		item->upper = parameter->categorical_upper;
	} else if (kind == PM_FIT_KIND_CONSTANT) {
		item->lower = parameter->constant_lower;
		item->upper = parameter->constant_upper;
	}
}

static void add_columns(struct space *space, const struct pm_fit_parameter *parameter,
	const struct source *sources, size_t count, enum pm_fit_role role, enum pm_fit_kind kind)
{
	bool levels = role_has_levels(role);

	for (size_t i = 0; i < count; i++) {
		if (sources[i].role != role)
			continue;
		if (!levels)
			space_add(space, parameter, kind, i, 0, sources[i].log_scale);
		/* a factor's first level is 1: the others are relative to it */
		for (size_t l = role == PM_FIT_FACTOR; levels && l < sources[i].level_count; l++)
			space_add(space, parameter, kind, i, l, 0);
	}
}

static int lay_out(struct space *space, const struct pm_fit_parameter *parameter,
	const struct source *sources, size_t count)
{
	size_t room = 2;

	for (size_t i = 0; i < count; i++)
		room += 2 + sources[i].level_count;
	space->items = calloc(room, sizeof(*space->items));
	if (!space->items)
		return -ENOMEM;
	add_columns(space, parameter, sources, count, PM_FIT_INTRINSIC, PM_FIT_KIND_COEFFICIENT);
	space->intrinsic_count = space->count;
	add_columns(space, parameter, sources, count, PM_FIT_CATEGORICAL, PM_FIT_KIND_LEVEL);
	if (space->count == 0)
		space_add(space, parameter, PM_FIT_KIND_BASE, SPACE_NO_COLUMN, 0, 0);
	space->level_count = space->count - space->intrinsic_count;
	space_add(space, parameter, PM_FIT_KIND_CONSTANT, SPACE_NO_COLUMN, 0, 0);
	space->linear_count = space->count;
	add_columns(space, parameter, sources, count, PM_FIT_INTRINSIC, PM_FIT_KIND_POWER);
	add_columns(space, parameter, sources, count, PM_FIT_EXTRINSIC, PM_FIT_KIND_EXTRINSIC);
	add_columns(space, parameter, sources, count, PM_FIT_FACTOR, PM_FIT_KIND_FACTOR);
	space->exponent_count = space->count - space->linear_count - space->intrinsic_count;
	return 0;
}

int space_init(
	struct space *space, const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter)
{
	struct source *sources = calloc(problem->column_count + 1, sizeof(*sources));
	int status;

	*space = (struct space){.time_scale = 1};
	if (!sources)
		return -ENOMEM;
	for (size_t i = 0; i < problem->column_count; i++) {
		const struct pm_fit_column *column = &problem->columns[i];

		sources[i].role = column->role;
		sources[i].level_count = column->level_count;
		if (parameter->scale != PM_FIT_SCALE_NONE &&
			(column->role == PM_FIT_INTRINSIC || column->role == PM_FIT_EXTRINSIC))
			sources[i].log_scale =
				log(space_geometric_mean(column->values, problem->sample_count));
	}
	if (parameter->scale == PM_FIT_SCALE_ALL)
		space->time_scale = space_geometric_mean(problem->time, problem->sample_count);
	status = lay_out(space, parameter, sources, problem->column_count);
	free(sources);
	return status;
}

int space_of_model(struct space *space, const struct pm_fit_model *model)
{
	struct source *sources = calloc(model->column_count + 1, sizeof(*sources));
	int status;

	*space = (struct space){.time_scale = model->time_scale};
	if (!sources)
		return -ENOMEM;
	for (size_t i = 0; i < model->column_count; i++)
		sources[i] = (struct source){
			model->columns[i].role, model->columns[i].level_count, log(model->columns[i].scale)};
	status = lay_out(space, &model->parameter, sources, model->column_count);
	free(sources);
	return status;
}

void space_free(struct space *space)
{
	free(space->items);
	space->items = NULL;
}

/* Adds `sign` times the logarithm of each coefficient's unit; see the formulas in space.h. */
static void change_units(const struct space *space, const double *from, double *to, double sign)
{
	size_t exponent = space->linear_count + space->intrinsic_count;
	double log_product = 0;

	for (size_t j = exponent; j < space->count; j++)
		log_product -= from[j] * space->items[j].log_scale;
	for (size_t i = 0; i < space->count; i++) {
		double log_unit = log(space->time_scale);

		if (i >= space->linear_count)
			log_unit = 0;
		else if (space->items[i].kind != PM_FIT_KIND_CONSTANT)
			log_unit += log_product;
		if (i < space->intrinsic_count)
			log_unit -= from[space->linear_count + i] * space->items[i].log_scale;
		to[i] = from[i] * exp(sign * log_unit);
	}
}

void space_unscale(const struct space *space, const double *scaled, double *values)
{
	change_units(space, scaled, values, 1);
}

void space_scale(const struct space *space, const double *values, double *scaled)
{
	change_units(space, values, scaled, -1);
}
