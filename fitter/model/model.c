/* A model's memory, and the contrasts of its values: see model.h. */
#include "model.h"
#include "spread.h"
#include "base/role.h"
#include "expression_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int copy_column(struct pm_fit_model_column *to, const struct pm_fit_column *from, size_t sample_count)
{
	to->role = from->role;
	to->scale = 1;
	to->name = strdup(from->name ? from->name : "");
	if (!to->name)
		return -ENOMEM;
	if (from->role == PM_FIT_IGNORED)
		return 0;
	to->least = HUGE_VAL;
	to->greatest = -HUGE_VAL;
	for (size_t k = 0; k < sample_count; k++) {
		to->least = fmin(to->least, from->values[k]);
		to->greatest = fmax(to->greatest, from->values[k]);
	}
	if (!role_has_levels(from->role))
		return 0;
	to->levels = calloc(from->level_count, sizeof(*to->levels));
	if (!to->levels)
		return -ENOMEM;
	for (size_t l = 0; l < from->level_count; l++) {
		char number[32];

		snprintf(number, sizeof(number), "%zu", l);
		to->levels[l] = strdup(from->levels ? from->levels[l] : number);
		if (!to->levels[l])
			return -ENOMEM;
		to->level_count++;
	}
	return 0;
}

static char *name_of(const struct pm_fit_model *model, const struct space_item *item)
{
	static const char *const forms[] = {[PM_FIT_KIND_COEFFICIENT] = "a %s",
		[PM_FIT_KIND_LEVEL] = "%s=%s",
		[PM_FIT_KIND_BASE] = "base",
		[PM_FIT_KIND_CONSTANT] = "C",
		[PM_FIT_KIND_POWER] = "p %s",
		[PM_FIT_KIND_EXTRINSIC] = "q %s",
		[PM_FIT_KIND_FACTOR] = "log factor %s=%s"};
	const struct pm_fit_model_column *column =
		item->column == SPACE_NO_COLUMN ? NULL : &model->columns[item->column];
	bool level = item->kind == PM_FIT_KIND_LEVEL || item->kind == PM_FIT_KIND_FACTOR;
	char *name;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	if (asprintf(&name, forms[item->kind], column ? column->name : "",
		    level ? column->levels[item->level] : "") < 0)
		return NULL;
#pragma GCC diagnostic pop
	return name;
}

struct pm_fit_model *model_new(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	const struct space *space)
{
	struct pm_fit_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->columns = calloc(problem->column_count + 1, sizeof(*model->columns));
	model->values = calloc(space->count, sizeof(*model->values));
	if (!model->columns || !model->values)
		goto fail;
	if (problem->time_unit && !(model->time_unit = strdup(problem->time_unit)))
		goto fail;
	for (size_t i = 0; i < problem->column_count; i++) {
		model->column_count++;
		if (copy_column(&model->columns[i], &problem->columns[i], problem->sample_count) < 0)
			goto fail;
	}
	for (size_t i = 0; i < space->count; i++) {
		const struct space_item *item = &space->items[i];
		struct pm_fit_value *value = &model->values[i];

		*value = (struct pm_fit_value){.kind = item->kind,
			.column = item->column,
			.level = item->level,
			.lower = item->lower,
			.upper = item->upper,
			.low = NAN,
			.high = NAN,
			.name = name_of(model, item)};
		model->value_count++;
		if (!value->name)
			goto fail;
		if (item->column != SPACE_NO_COLUMN)
			model->columns[item->column].scale = exp(item->log_scale);
	}
	model->time_scale = space->time_scale;
	model->parameter = *parameter;
	model->parameter.progress = NULL;
	model->parameter.context = NULL;
	model->parameter.stop = NULL;
	return model;
fail:
	pm_fit_free(model);
	return NULL;
}

int model_make_runs(struct pm_fit_model *model, size_t count)
{
	model->runs = calloc(count + 1, sizeof(*model->runs));
	if (!model->runs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		model->run_count++;
		model->runs[i].values = calloc(model->value_count, sizeof(double));
		model->runs[i].scaled = calloc(model->value_count, sizeof(double));
		if (!model->runs[i].values || !model->runs[i].scaled)
			return -ENOMEM;
	}
	return 0;
}

void pm_fit_free(struct pm_fit_model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->column_count; i++) {
		for (size_t l = 0; l < model->columns[i].level_count && model->columns[i].levels; l++)
			free(model->columns[i].levels[l]);
		free(model->columns[i].levels);
		free(model->columns[i].name);
	}
	for (size_t i = 0; i < model->value_count; i++)
		free(model->values[i].name);
	for (size_t i = 0; i < model->contrast_count; i++)
		free(model->contrasts[i].name);
	for (size_t i = 0; i < model->run_count; i++) {
		free(model->runs[i].values);
		free(model->runs[i].scaled);
	}
	free(model->columns);
	free(model->values);
	free(model->contrasts);
	free(model->runs);
	free(model->time_unit);
	free(model->residuals);
	spread_free(model);
	free(model->resamples);
	expression_model_free(model->expression);
	free(model);
}

/* One base, where there is anything to take it from, and each level. */
size_t model_contrast_count(const struct space *space)
{
	size_t count = 0;

	for (size_t i = space->intrinsic_count; i + 1 < space->linear_count; i++)
		count += space->items[i].kind == PM_FIT_KIND_LEVEL;
	return count ? count + 1 : 0;
}

void model_contrasts(const struct space *space, const double *values, double *contrasts)
{
	size_t begin = space->intrinsic_count, end = space->linear_count - 1;

	if (!model_contrast_count(space))
		return;
	contrasts[0] = 0;
	for (size_t i = begin; i < end;) {
		size_t column = space->items[i].column, j;
		double mean = 0;

		for (j = i; j < end && space->items[j].column == column; j++)
			mean += values[j];
		mean /= (double)(j - i);
		contrasts[0] += mean;
		for (; i < j; i++)
			contrasts[1 + i - begin] = values[i] - mean;
	}
}
