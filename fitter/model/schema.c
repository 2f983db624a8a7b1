/* The schema of the model file: see schema.h. */
#include "schema.h"
#include "model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FIELD(owner, member, type) \
	{ \
		.key = #member, .offset = offsetof(struct owner, member), type \
	}

const struct schema_field schema_value[] = {
	FIELD(pm_fit_value, value, SCHEMA_NUMBER),
	FIELD(pm_fit_value, scaled, SCHEMA_NUMBER),
	FIELD(pm_fit_value, lower, SCHEMA_NUMBER),
	FIELD(pm_fit_value, upper, SCHEMA_NUMBER),
	FIELD(pm_fit_value, mean, SCHEMA_NUMBER),
	FIELD(pm_fit_value, sd, SCHEMA_NUMBER),
	FIELD(pm_fit_value, low, SCHEMA_NUMBER),
	FIELD(pm_fit_value, high, SCHEMA_NUMBER),
	{0},
};

const struct schema_field schema_contrast[] = {
	FIELD(pm_fit_contrast, value, SCHEMA_NUMBER),
	FIELD(pm_fit_contrast, mean, SCHEMA_NUMBER),
	FIELD(pm_fit_contrast, sd, SCHEMA_NUMBER),
	FIELD(pm_fit_contrast, low, SCHEMA_NUMBER),
	FIELD(pm_fit_contrast, high, SCHEMA_NUMBER),
	{0},
};

const struct schema_field schema_run[] = {
	FIELD(pm_fit_run, seed, SCHEMA_SEED),
	FIELD(pm_fit_run, objective, SCHEMA_NUMBER),
	FIELD(pm_fit_run, error, SCHEMA_NUMBER),
	FIELD(pm_fit_run, searched, SCHEMA_NUMBER),
	FIELD(pm_fit_run, evaluations, SCHEMA_SIZE),
	FIELD(pm_fit_run, generations, SCHEMA_SIZE),
	{0},
};

const struct schema_field schema_error[] = {
	{"samples", offsetof(struct pm_fit_error, sample_count), SCHEMA_SIZE},
	FIELD(pm_fit_error, mae, SCHEMA_NUMBER),
	FIELD(pm_fit_error, mse, SCHEMA_NUMBER),
	FIELD(pm_fit_error, rmse, SCHEMA_NUMBER),
	FIELD(pm_fit_error, r2, SCHEMA_NUMBER),
	FIELD(pm_fit_error, mape, SCHEMA_NUMBER),
	FIELD(pm_fit_error, mape_predicted, SCHEMA_NUMBER),
	{0},
};

const struct schema_field schema_column[] = {
	FIELD(pm_fit_model_column, scale, SCHEMA_NUMBER),
	FIELD(pm_fit_model_column, least, SCHEMA_NUMBER),
	FIELD(pm_fit_model_column, greatest, SCHEMA_NUMBER),
	{0},
};

const struct schema_field schema_parameter[] = {
	FIELD(pm_fit_parameter, lambda_coefficients, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, lambda_powers, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, penalty_scaled, SCHEMA_FLAG),
	FIELD(pm_fit_parameter, coefficient_lower, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, coefficient_upper, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, categorical_lower, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, categorical_upper, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, constant_lower, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, constant_upper, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, power_lower, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, power_upper, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, run_count, SCHEMA_SIZE),
	FIELD(pm_fit_parameter, seed, SCHEMA_SEED),
	FIELD(pm_fit_parameter, evaluations, SCHEMA_SIZE),
	FIELD(pm_fit_parameter, population, SCHEMA_SIZE),
	FIELD(pm_fit_parameter, tolerance, SCHEMA_NUMBER),
	FIELD(pm_fit_parameter, polish, SCHEMA_FLAG),
	FIELD(pm_fit_parameter, bootstrap, SCHEMA_SIZE),
	FIELD(pm_fit_parameter, confidence, SCHEMA_NUMBER),
	{0},
};

const struct schema_field schema_model[] = {
	FIELD(pm_fit_model, time_scale, SCHEMA_NUMBER),
	FIELD(pm_fit_model, best_run, SCHEMA_SIZE),
	FIELD(pm_fit_model, runs_agreeing, SCHEMA_SIZE),
	FIELD(pm_fit_model, rank, SCHEMA_SIZE),
	FIELD(pm_fit_model, constant_error, SCHEMA_NUMBER),
	FIELD(pm_fit_model, interrupted, SCHEMA_FLAG),
	{0},
};

void schema_put(cJSON *object, const struct schema_field *fields, const void *owner)
{
	for (; fields->key; fields++) {
		const void *at = (const char *)owner + fields->offset;
		char text[32];

		switch (fields->type) {
		case SCHEMA_NUMBER:
			cJSON_AddItemToObject(object, fields->key, model_file_number(*(const double *)at));
			break;
		case SCHEMA_SIZE:
			cJSON_AddNumberToObject(object, fields->key, (double)*(const size_t *)at);
			break;
		case SCHEMA_SEED: /* all 64 bits, which a JSON number has not */
			snprintf(text, sizeof(text), "%llu", (unsigned long long)*(const uint64_t *)at);
			cJSON_AddStringToObject(object, fields->key, text);
			break;
		case SCHEMA_FLAG:
			cJSON_AddBoolToObject(object, fields->key, *(const int *)at);
			break;
		}
	}
}

void schema_get(const cJSON *object, const struct schema_field *fields, void *owner)
{
	for (; fields->key; fields++) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, fields->key);
		void *at = (char *)owner + fields->offset;

		switch (fields->type) {
		case SCHEMA_NUMBER:
			*(double *)at = cJSON_IsNumber(item) ? item->valuedouble : NAN;
			break;
		case SCHEMA_SIZE:
			if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 0x1p53)
				*(size_t *)at = (size_t)item->valuedouble;
			break;
		case SCHEMA_SEED:
			if (cJSON_IsString(item))
				*(uint64_t *)at = strtoull(item->valuestring, NULL, 10);
			break;
		case SCHEMA_FLAG:
			*(int *)at = cJSON_IsTrue(item);
			break;
		}
	}
}
