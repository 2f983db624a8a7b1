/*
 * Models as JSON.
 *
 * One object with "format": "pmfit model" and "version". A reader refuses a later version; keys it does not
 * know it ignores, so keys can be added without a new version. Each struct of pm_fit.h is written from one
 * list of its numbers in schema.c, which is also what reads it: the keys there are the schema. Besides:
 *
 *   columns    array of {name, role, levels (categorical and factor), scale, least, greatest}
 *   values     array in the order of the formula: coefficients, levels, C, powers, exponents;
 *              each has kind, name, column and level (as words; absent for C), flags (array of words)
 *   contrasts  array of {name, value, mean, sd, low, high}
 *   runs       array of seeds: end (a word), values and scaled (arrays in the order of `values`)
 *   fit        how it was fitted: method, scale and penalty as words
 *   train      the error on the samples it was fitted to
 *   residuals  array: quantiles of measured over predicted at equal steps; may be missing
 *   spreads    array: column (of the predicted time: missing), from, below, above: powers of residuals by
 * groups; may be missing resamples  array of the bootstrap's solutions, each an array in the order of
 * `values`; may be missing
 *
 * pmfit fit --schema prints all of it as a JSON Schema (schema_print.c).
 * A number that is not one (an interval that was not asked for) is null.
 */
#include "enum_names.h"
#include "base/output.h"
#include "base/text.h"
#include "expression_model.h"
#include "model_file.h"
#include "schema.h"
#include "space.h"
#include "spread.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

cJSON *model_file_number(double number)
{
	return isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull();
}

cJSON *model_file_error(const struct pm_fit_error *error)
{
	cJSON *object = cJSON_CreateObject();

	if (object)
		schema_put(object, schema_error, error);
	return object;
}

static void put_columns(cJSON *root, const struct pm_fit_model *model)
{
	cJSON *array = cJSON_AddArrayToObject(root, "columns");

	for (size_t i = 0; i < model->column_count; i++) {
		const struct pm_fit_model_column *column = &model->columns[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "name", column->name);
		cJSON_AddStringToObject(object, "role", enum_names_roles[column->role]);
		if (column->levels)
			cJSON_AddItemToObject(object, "levels",
				cJSON_CreateStringArray(
					(const char *const *)column->levels, (int)column->level_count));
		schema_put(object, schema_column, column);
		cJSON_AddItemToArray(array, object);
	}
}

static void put_values(cJSON *root, const struct pm_fit_model *model)
{
	cJSON *array = cJSON_AddArrayToObject(root, "values");

	for (size_t i = 0; i < model->value_count; i++) {
		const struct pm_fit_value *value = &model->values[i];
		cJSON *object = cJSON_CreateObject(), *flags;

		cJSON_AddStringToObject(object, "name", value->name);
		cJSON_AddStringToObject(object, "kind", enum_names_kinds[value->kind]);
		if (value->column != SPACE_NO_COLUMN)
			cJSON_AddStringToObject(object, "column", model->columns[value->column].name);
		if (value->kind == PM_FIT_KIND_LEVEL || value->kind == PM_FIT_KIND_FACTOR)
			cJSON_AddStringToObject(
				object, "level", model->columns[value->column].levels[value->level]);
		schema_put(object, schema_value, value);
		flags = cJSON_AddArrayToObject(object, "flags");
		for (int bit = 0; enum_names_flags[bit]; bit++)
			if (value->flags & 1u << bit)
				cJSON_AddItemToArray(flags, cJSON_CreateString(enum_names_flags[bit]));
		cJSON_AddItemToArray(array, object);
	}
}

static void put_runs(cJSON *root, const struct pm_fit_model *model)
{
	cJSON *array = cJSON_AddArrayToObject(root, "runs");

	for (size_t i = 0; i < model->run_count; i++) {
		const struct pm_fit_run *run = &model->runs[i];
		cJSON *object = cJSON_CreateObject();

		schema_put(object, schema_run, run);
		cJSON_AddStringToObject(object, "end", enum_names_ends[run->end]);
		cJSON_AddItemToObject(
			object, "values", cJSON_CreateDoubleArray(run->values, (int)model->value_count));
		cJSON_AddItemToObject(
			object, "scaled", cJSON_CreateDoubleArray(run->scaled, (int)model->value_count));
		cJSON_AddItemToArray(array, object);
	}
}

static void put_spread(cJSON *root, const struct pm_fit_model *model)
{
	cJSON *array;

	if (model->residual_count)
		cJSON_AddItemToObject(root, "residuals",
			cJSON_CreateDoubleArray(model->residuals, (int)model->residual_count));
	if (model->spread_count)
		cJSON_AddItemToObject(root, "spreads", spread_json(model));
	if (!model->resample_count)
		return;
	array = cJSON_AddArrayToObject(root, "resamples");
	for (size_t i = 0; i < model->resample_count; i++)
		cJSON_AddItemToArray(array, cJSON_CreateDoubleArray(model->resamples + i * model->value_count,
						    (int)model->value_count));
}

cJSON *model_file_json(const struct pm_fit_model *model)
{
	cJSON *root, *object, *array;

	if (model->expression)
		return expression_model_json(model);
	root = cJSON_CreateObject();
	if (!root)
		return NULL;
	cJSON_AddStringToObject(root, "format", SCHEMA_FORMAT);
	cJSON_AddNumberToObject(root, "version", PM_FIT_FILE_VERSION);
	if (model->time_unit)
		cJSON_AddStringToObject(root, "time_unit", model->time_unit);
	schema_put(root, schema_model, model);
	object = cJSON_AddObjectToObject(root, "fit");
	cJSON_AddStringToObject(object, "method", enum_names_methods[model->parameter.method]);
	cJSON_AddStringToObject(object, "scale", enum_names_scales[model->parameter.scale]);
	cJSON_AddStringToObject(object, "penalty", enum_names_penalties[model->parameter.penalty]);
	schema_put(object, schema_parameter, &model->parameter);
	cJSON_AddItemToObject(root, "train", model_file_error(&model->train));
	put_columns(root, model);
	put_values(root, model);
	array = cJSON_AddArrayToObject(root, "contrasts");
	for (size_t i = 0; i < model->contrast_count; i++) {
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "name", model->contrasts[i].name);
		schema_put(object, schema_contrast, &model->contrasts[i]);
		cJSON_AddItemToArray(array, object);
	}
	put_runs(root, model);
	put_spread(root, model);
	return root;
}

char *pm_fit_print(const struct pm_fit_model *model)
{
	cJSON *root = model_file_json(model);
	char *text = root ? pm_text_json(cJSON_Print(root)) : NULL;

	cJSON_Delete(root);
	return text;
}

int pm_fit_save(const struct pm_fit_model *model, const char *path)
{
	char *text = pm_fit_print(model), *line = NULL;
	int length = text ? asprintf(&line, "%s\n", text) : -1;
	int status = length < 0 ? -ENOMEM : pm_output_write(path, line, (size_t)length);

	if (length >= 0)
		free(line);
	free(text);
	return status;
}
