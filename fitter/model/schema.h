/*
 * The schema of the model file: for each struct of pm_fit.h the list of its numbers with their keys, from
 * which they are both written and read.
 */
#ifndef SCHEMA_H
#define SCHEMA_H

#include "pm_fit.h"

#include <cjson/cJSON.h>

#define SCHEMA_FORMAT "pmfit model"

enum schema_type {
	SCHEMA_NUMBER, /* double; null where it is none */
	SCHEMA_SIZE,   /* size_t */
	SCHEMA_SEED,   /* uint64_t, as text: a JSON number has fewer bits */
	SCHEMA_FLAG,   /* int, as true or false */
};

struct schema_field {
	const char *key; /* NULL after the last */
	size_t offset;
	enum schema_type type;
};

/* Of struct pm_fit_value, pm_fit_contrast, pm_fit_run, pm_fit_error, pm_fit_model_column,
 * pm_fit_parameter, pm_fit_model. */
extern const struct schema_field schema_value[], schema_contrast[], schema_run[], schema_error[],
	schema_column[], schema_parameter[], schema_model[];

/* All of it as a JSON Schema, which the caller deletes. */
cJSON *schema_json(void);

void schema_put(cJSON *object, const struct schema_field *fields, const void *owner);
/* What is missing stays as it is, but for numbers, which become NAN. */
void schema_get(const cJSON *object, const struct schema_field *fields, void *owner);

#endif
