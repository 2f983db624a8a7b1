/*
 * Expressions as models: what pm_fit_predict and `pmfit predict` work with, and its file.
 *
 * The file is JSON, "format": "pmfit expression", "version": 1. A reader refuses a later version and ignores
 * keys that it does not know.
 *
 *   formula     the formula as text, for people
 *   time_unit   a word, may be missing
 *   columns     array of {name, role (extrinsic: a number; factor: levels; offset), levels, least, greatest,
 *               plus_one (1 + x stands in for x), is_count (log2 may be taken)}
 *   expression  {op: leaf, sum, max, norm, harmonic; coefficient (leaf); norm (norm: the power);
 *               factors: array; parts: array of such objects}
 *               A factor is {column, power, fixed}, {column, log2: true}, {levels_of, groups, factors} or
 *               {column, levels_of, groups, powers}. groups has the group of each level from 0; where
 *               levels_of is a number, the two levels are 1 and more than 1.
 *   train       the error on the samples that were fitted
 *   residuals   quantiles of measured over predicted at equal steps
 */
#ifndef EXPRESSION_MODEL_H
#define EXPRESSION_MODEL_H

#include "expression/expression.h"

#include <cjson/cJSON.h>

#define EXPRESSION_FORMAT "pmfit expression"
#define EXPRESSION_VERSION 1

struct pm_fit_expression {
	struct expression expression;
	struct expression_terms terms; /* columns are the model's */
};

/* A model of an expression that was fitted to the problem, with its residuals and error. The caller frees
 * *model by pm_fit_free. 0 or -ENOMEM. */
int expression_model(struct pm_fit_model **model, const struct expression *e,
	const struct expression_terms *terms, const struct pm_fit_problem *problem);
void expression_model_free(struct pm_fit_expression *expression);

/* The problem has the model's columns in its order. 0 or -ENOMEM. */
int expression_model_predict(
	const struct pm_fit_expression *expression, const struct pm_fit_problem *problem, double *times);

/* The caller deletes it; NULL without memory. */
cJSON *expression_model_json(const struct pm_fit_model *model);
/* Into a model of zeros; NULL, or what is wrong, as error_message(). */
const char *expression_model_read(const cJSON *root, struct pm_fit_model *model);

/* The formula as text, which the caller frees; NULL without memory. */
char *expression_text(const struct expression *e, const struct expression_terms *terms);

#endif
