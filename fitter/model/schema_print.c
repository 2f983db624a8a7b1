/*
 * The schema of the model file for others: a JSON Schema (draft 2020-12), made of the same lists that write
 * and read the files, so that it cannot say anything else.
 */
#include "schema.h"
#include "enum_names.h"

#include <stdlib.h>

static cJSON *of_type(const char *type, const char *what)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "type", type);
	if (what)
		cJSON_AddStringToObject(object, "description", what);
	return object;
}

/* A number, or null where it is none. */
static cJSON *number_or_null(void)
{
	cJSON *object = cJSON_CreateObject();
	const char *const types[] = {"number", "null"};

	cJSON_AddItemToObject(object, "type", cJSON_CreateStringArray(types, 2));
	return object;
}

static cJSON *one_of(const char *const *words, const char *what)
{
	cJSON *object = of_type("string", what);
	int count = 0;

	while (words[count])
		count++;
	cJSON_AddItemToObject(object, "enum", cJSON_CreateStringArray(words, count));
	return object;
}

static cJSON *array_of(cJSON *items, const char *what)
{
	cJSON *object = of_type("array", what);

	cJSON_AddItemToObject(object, "items", items);
	return object;
}

/* An object with these numbers; all that the program writes is required of a file but by later versions. */
static cJSON *object_of(const struct schema_field *fields, const char *what)
{
	cJSON *object = of_type("object", what), *properties = cJSON_AddObjectToObject(object, "properties");

	for (; fields && fields->key; fields++) {
		cJSON *field;

		switch (fields->type) {
		case SCHEMA_NUMBER:
			field = number_or_null();
			break;
		case SCHEMA_SIZE:
			field = of_type("integer", NULL);
			cJSON_AddNumberToObject(field, "minimum", 0);
			break;
		case SCHEMA_SEED:
			field = of_type("string", "a whole number of 64 bits");
			cJSON_AddStringToObject(field, "pattern", "^[0-9]+$");
			break;
		default:
			field = of_type("boolean", NULL);
			break;
		}
		cJSON_AddItemToObject(properties, fields->key, field);
	}
	return object;
}

static void schema_print_add(cJSON *object, const char *key, cJSON *property)
{
	cJSON_AddItemToObject(cJSON_GetObjectItemCaseSensitive(object, "properties"), key, property);
}

static cJSON *columns(void)
{
	cJSON *column = object_of(schema_column,
		"scale: geometric mean of the fitted samples, 1 where not scaled; least, greatest: "
		"their range");

	schema_print_add(column, "name", of_type("string", NULL));
	schema_print_add(column, "role", one_of(enum_names_roles, NULL));
	schema_print_add(column, "levels",
		array_of(of_type("string", NULL),
			"of categorical columns and factors; the first factor is 1"));
	return array_of(column, NULL);
}

static cJSON *values(void)
{
	cJSON *value = object_of(schema_value,
		"value: of the best run, in original units; scaled: in the units of the search, as are its "
		"bounds lower and upper; mean, sd: of value over the runs; low, high: bootstrap interval");

	schema_print_add(value, "name", of_type("string", NULL));
	schema_print_add(value, "kind", one_of(enum_names_kinds, NULL));
	schema_print_add(value, "column", of_type("string", "absent of C and the base"));
	schema_print_add(value, "level", of_type("string", "of levels and factors"));
	schema_print_add(value, "flags", array_of(one_of(enum_names_flags, NULL), "warnings about the fit"));
	return array_of(value,
		"t = (sum coefficient*column^power + levels) * product column^exponent * exp(log "
		"factors) + constant + offsets");
}

static cJSON *runs(void)
{
	cJSON *run = object_of(
		schema_run, "objective: with the penalty; error: without; searched: before the polish");

	schema_print_add(run, "end", one_of(enum_names_ends, NULL));
	schema_print_add(
		run, "values", array_of(of_type("number", NULL), "in the order of the model's values"));
	schema_print_add(
		run, "scaled", array_of(of_type("number", NULL), "the same in the units of the search"));
	return array_of(run, "one for each seed");
}

cJSON *schema_json(void)
{
	static const char *const required[] = {
		"format", "version", "time_scale", "fit", "train", "columns", "values", "runs"};
	cJSON *root = object_of(schema_model,
		      "A model as written by 'pmfit fit -o'. Keys may be added without a new version; a "
		      "reader ignores unknown keys and rejects later versions."),
	      *item;

	cJSON_AddStringToObject(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
	cJSON_AddStringToObject(root, "title", SCHEMA_FORMAT);
	item = cJSON_CreateObject();
	cJSON_AddStringToObject(item, "const", SCHEMA_FORMAT);
	schema_print_add(root, "format", item);
	item = of_type("integer", NULL);
	cJSON_AddNumberToObject(item, "minimum", 1);
	cJSON_AddNumberToObject(item, "maximum", PM_FIT_FILE_VERSION);
	schema_print_add(root, "version", item);
	schema_print_add(root, "time_unit", of_type("string", "any word; optional"));
	item = object_of(schema_parameter, "fit settings");
	schema_print_add(item, "method", one_of(enum_names_methods, NULL));
	schema_print_add(item, "scale", one_of(enum_names_scales, NULL));
	schema_print_add(item, "penalty", one_of(enum_names_penalties, NULL));
	schema_print_add(root, "fit", item);
	schema_print_add(root, "train",
		object_of(schema_error, "on the fitted samples; mape in percent of the measured time"));
	schema_print_add(root, "columns", columns());
	schema_print_add(root, "values", values());
	item = object_of(schema_contrast, NULL);
	schema_print_add(item, "name", of_type("string", NULL));
	schema_print_add(root, "contrasts",
		array_of(item, "levels as determined by the data: each minus its column's mean"));
	schema_print_add(root, "runs", runs());
	schema_print_add(root, "residuals",
		array_of(of_type("number", NULL),
			"quantiles of measured over predicted, at equal steps; optional"));
	item = object_of(NULL, "of a column or, without one, the predicted time");
	schema_print_add(item, "column", of_type("string", NULL));
	schema_print_add(item, "from",
		array_of(of_type("number", NULL), "where groups begin; levels are counted from 0"));
	schema_print_add(
		item, "below", array_of(of_type("number", NULL), "power of residuals below 1 there"));
	schema_print_add(item, "above", array_of(of_type("number", NULL), "and above"));
	schema_print_add(root, "spreads", array_of(item, "how residuals differ by groups of rows; optional"));
	schema_print_add(root, "resamples",
		array_of(array_of(of_type("number", NULL), NULL), "bootstrap values; optional"));
	cJSON_AddItemToObject(
		root, "required", cJSON_CreateStringArray(required, sizeof(required) / sizeof(*required)));
	return root;
}
