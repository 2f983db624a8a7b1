/* Models from JSON, which may be anything: see model_write.c for what it ought to be. */
#include "model.h"
#include "base/error_message.h"
#include "base/role.h"
#include "base/text_file.h"
#include "enum_names.h"
#include "expression_model.h"
#include "schema.h"
#include "spread.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *string_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static const char *get_column(const cJSON *object, struct pm_fit_model_column *column)
{
	const cJSON *levels = cJSON_GetObjectItemCaseSensitive(object, "levels"), *level;
	int role = enum_names_find(enum_names_roles, string_of(object, "role"));

	if (!string_of(object, "name") || role < 0)
		return error_message("a column has no name or no known role");
	column->name = strdup(string_of(object, "name"));
	column->role = (enum pm_fit_role)role;
	schema_get(object, schema_column, column);
	if (!column->name)
		return error_message("out of memory");
	if (!(column->scale > 0) || !isfinite(column->scale))
		return error_message("column %s has no scale", column->name);
	if (!role_has_levels(column->role))
		return NULL;
	column->levels = calloc((size_t)cJSON_GetArraySize(levels) + 1, sizeof(*column->levels));
	cJSON_ArrayForEach (level, levels) {
		if (!column->levels || !cJSON_IsString(level) ||
			!(column->levels[column->level_count] = strdup(level->valuestring)))
			return error_message("column %s has a level without a name", column->name);
		column->level_count++;
	}
	return column->level_count ? NULL : error_message("column %s has no levels", column->name);
}

/* The layout follows from the columns; the file's values must be the same in the same order. */
static const char *get_value(const cJSON *object, const struct pm_fit_model *model,
	const struct space_item *item, struct pm_fit_value *value)
{
	const cJSON *flag;
	const char *kind = string_of(object, "kind"), *column = string_of(object, "column"),
		   *level = string_of(object, "level");
	bool levelled = item->kind == PM_FIT_KIND_LEVEL || item->kind == PM_FIT_KIND_FACTOR;

	value->name = strdup(string_of(object, "name") ? string_of(object, "name") : "");
	if (!value->name)
		return error_message("out of memory");
	if (enum_names_find(enum_names_kinds, kind) != (int)item->kind ||
		(item->column != SPACE_NO_COLUMN &&
			(!column || strcmp(column, model->columns[item->column].name) != 0)) ||
		(levelled &&
			(!level || strcmp(level, model->columns[item->column].levels[item->level]) != 0)))
		return error_message("value '%s' does not match the columns: expected a %s", value->name,
			enum_names_kinds[item->kind]);
	value->kind = item->kind;
	value->column = item->column;
	value->level = item->level;
	schema_get(object, schema_value, value);
	if (!isfinite(value->value))
		return error_message("value '%s' is not a number", value->name);
	cJSON_ArrayForEach (flag, cJSON_GetObjectItemCaseSensitive(object, "flags")) {
		int bit = enum_names_find(enum_names_flags, cJSON_GetStringValue(flag));

		if (bit >= 0)
			value->flags |= 1u << bit;
	}
	return NULL;
}

static const char *get_values(const cJSON *root, struct pm_fit_model *model)
{
	const cJSON *values = cJSON_GetObjectItemCaseSensitive(root, "values"), *item;
	const char *bad = NULL;
	struct space space;

	if (space_of_model(&space, model) < 0 ||
		!(model->values = calloc(space.count + 1, sizeof(*model->values))))
		bad = error_message("out of memory");
	else if ((size_t)cJSON_GetArraySize(values) != space.count)
		bad = error_message(
			"%d values: expected %zu by the columns", cJSON_GetArraySize(values), space.count);
	for (item = values ? values->child : NULL; item && !bad; item = item->next) {
		size_t at = model->value_count++;

		bad = get_value(item, model, &space.items[at], &model->values[at]);
	}
	space_free(&space);
	return bad;
}

static const char *get_numbers(const cJSON *array, double *numbers, size_t count)
{
	const cJSON *item = array ? array->child : NULL;

	for (size_t i = 0; i < count; i++, item = item->next) {
		if (!cJSON_IsNumber(item))
			return error_message("a run or a resample does not have one number per value");
		numbers[i] = item->valuedouble;
	}
	return NULL;
}

static const char *get_runs(const cJSON *root, struct pm_fit_model *model)
{
	const cJSON *runs = cJSON_GetObjectItemCaseSensitive(root, "runs"), *item;
	const char *bad = NULL;
	size_t at = 0;

	if (model_make_runs(model, (size_t)cJSON_GetArraySize(runs)) < 0)
		return error_message("out of memory");
	for (item = runs ? runs->child : NULL; item && !bad; item = item->next) {
		struct pm_fit_run *run = &model->runs[at++];
		int end = enum_names_find(enum_names_ends, string_of(item, "end"));

		run->end = end < 0 ? PM_FIT_END_LIMIT : (enum pm_fit_end)end;
		schema_get(item, schema_run, run);
		run->seconds = NAN;
		bad = get_numbers(
			cJSON_GetObjectItemCaseSensitive(item, "values"), run->values, model->value_count);
		if (!bad)
			bad = get_numbers(cJSON_GetObjectItemCaseSensitive(item, "scaled"), run->scaled,
				model->value_count);
	}
	if (!bad && model->best_run >= model->run_count)
		bad = error_message("the best run is %zu of %zu", model->best_run, model->run_count);
	return bad;
}

static const char *get_spread(const cJSON *root, struct pm_fit_model *model)
{
	const cJSON *residuals = cJSON_GetObjectItemCaseSensitive(root, "residuals"), *item;
	const cJSON *resamples = cJSON_GetObjectItemCaseSensitive(root, "resamples");
	size_t count = (size_t)cJSON_GetArraySize(resamples);
	const char *bad = NULL;

	model->residuals = calloc((size_t)cJSON_GetArraySize(residuals) + 1, sizeof(*model->residuals));
	model->resamples = calloc(count * model->value_count + 1, sizeof(*model->resamples));
	if (!model->residuals || !model->resamples)
		return error_message("out of memory");
	cJSON_ArrayForEach (item, residuals) {
		double number = cJSON_IsNumber(item) ? item->valuedouble : NAN;

		if (!isfinite(number) ||
			(model->residual_count && number < model->residuals[model->residual_count - 1]))
			return error_message("the residuals are not ascending numbers");
		model->residuals[model->residual_count++] = number;
	}
	bad = spread_read(root, model);
	for (item = resamples ? resamples->child : NULL; item && !bad; item = item->next)
		bad = get_numbers(item, model->resamples + model->resample_count++ * model->value_count,
			model->value_count);
	return bad;
}

static const char *get_contrasts(const cJSON *root, struct pm_fit_model *model)
{
	const cJSON *contrasts = cJSON_GetObjectItemCaseSensitive(root, "contrasts"), *item;

	model->contrasts = calloc((size_t)cJSON_GetArraySize(contrasts) + 1, sizeof(*model->contrasts));
	if (!model->contrasts)
		return error_message("out of memory");
	cJSON_ArrayForEach (item, contrasts) {
		struct pm_fit_contrast *contrast = &model->contrasts[model->contrast_count++];

		contrast->name = strdup(string_of(item, "name") ? string_of(item, "name") : "");
		schema_get(item, schema_contrast, contrast);
		if (!contrast->name)
			return error_message("out of memory");
	}
	return NULL;
}

static const char *get_parameter(const cJSON *root, struct pm_fit_parameter *parameter)
{
	const cJSON *fit = cJSON_GetObjectItemCaseSensitive(root, "fit");
	int method = enum_names_find(enum_names_methods, string_of(fit, "method"));
	int scale = enum_names_find(enum_names_scales, string_of(fit, "scale"));
	int penalty = enum_names_find(enum_names_penalties, string_of(fit, "penalty"));

	pm_fit_defaults(parameter);
	if (method < 0 || scale < 0 || penalty < 0)
		return error_message("fit settings are missing or unknown");
	parameter->method = (enum pm_fit_method)method;
	parameter->scale = (enum pm_fit_scale)scale;
	parameter->penalty = (enum pm_fit_penalty)penalty;
	schema_get(fit, schema_parameter, parameter);
	return NULL;
}

static const char *get_model(const cJSON *root, struct pm_fit_model *model)
{
	const cJSON *columns = cJSON_GetObjectItemCaseSensitive(root, "columns"), *item;
	const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "version");
	const char *bad, *format = string_of(root, "format");

	if (format && strcmp(format, EXPRESSION_FORMAT) == 0)
		return expression_model_read(root, model);
	if (!format || strcmp(format, SCHEMA_FORMAT) != 0)
		return error_message("not a pmfit model");
	if (!cJSON_IsNumber(version) || version->valuedouble < 1 ||
		version->valuedouble > PM_FIT_FILE_VERSION)
		return error_message("version %g of the file, this pmfit reads 1 to %d: fit the table again",
			version ? version->valuedouble : 0.0, PM_FIT_FILE_VERSION);
	if (string_of(root, "time_unit") && !(model->time_unit = strdup(string_of(root, "time_unit"))))
		return error_message("out of memory");
	model->columns = calloc((size_t)cJSON_GetArraySize(columns) + 1, sizeof(*model->columns));
	if (!model->columns)
		return error_message("out of memory");
	schema_get(root, schema_model, model);
	model->seconds = NAN;
	if (!(model->time_scale > 0) || !isfinite(model->time_scale))
		return error_message("scale of the time missing");
	if ((bad = get_parameter(root, &model->parameter)))
		return bad;
	cJSON_ArrayForEach (item, columns)
		if ((bad = get_column(item, &model->columns[model->column_count++])))
			return bad;
	schema_get(cJSON_GetObjectItemCaseSensitive(root, "train"), schema_error, &model->train);
	if ((bad = get_values(root, model)) || (bad = get_contrasts(root, model)))
		return bad;
	if ((bad = get_runs(root, model)))
		return bad;
	return get_spread(root, model);
}

static const char *model_read_take(const cJSON *root, struct pm_fit_model **model)
{
	const char *bad;

	*model = calloc(1, sizeof(**model));
	bad = *model ? get_model(root, *model) : error_message("out of memory");
	if (bad) {
		pm_fit_free(*model);
		*model = NULL;
	}
	return bad;
}

const char *pm_fit_parse(const char *text, struct pm_fit_model **model)
{
	cJSON *root = cJSON_Parse(text);
	const char *bad;

	*model = NULL;
	bad = root ? model_read_take(root, model) : error_message("not valid JSON");
	cJSON_Delete(root);
	return bad;
}

const char *pm_fit_load(const char *path, struct pm_fit_model **model)
{
	const char *bad;
	char cause[256];
	cJSON *root;

	*model = NULL;
	bad = text_file_json(path, &root);
	if (bad && strstr(bad, ": byte 0: invalid JSON"))
		return error_message(
			"%s: not a model: pmfit fit, search, step or auto write one with -o", path);
	if (bad)
		return bad;
	bad = model_read_take(root, model);
	cJSON_Delete(root);
	if (bad) {
		snprintf(cause, sizeof(cause), "%s", bad);
		bad = error_message("%s: %s", path, cause);
	}
	return bad;
}
