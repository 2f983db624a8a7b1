/*
 * The model of a training step with its placement, as `pmfit step` makes it: a committee (committee.h) for
 * each level, the columns it was made from, and its file. Times are in the table's unit.
 */
#ifndef STEP_H
#define STEP_H

#include "step_table.h"

#include <cjson/cJSON.h>

#define STEP_FORMAT "pmfit step model"
#define STEP_VERSION 2

struct step_level {
	char *name; /* "": the only one */
	size_t row_count;
	const char *why; /* NULL, or why the level has no model: a sentence's end */
	struct committee committee;
};

struct step_model {
	struct step_columns columns;
	size_t level_count;
	struct step_level *levels; /* in the order in which the table has them */
	struct arena arena;
};

/* One committee for each level of the table, of which at least one must have a model: else a sentence. The
 * columns' names are copied. step_model_free in either case. */
const char *step_model_fit(
	struct step_model *model, const struct step_columns *columns, const struct step_table *table);
void step_model_free(struct step_model *model);

/* The level of that name; NULL: not measured. */
const struct step_level *step_model_level(const struct step_model *model, const char *name);

/* Asks the row's level; an unknown one or one without a model has no answer, and says why. */
void step_model_predict(const struct step_model *model, const struct step_row *row, double confidence,
	struct committee_answer *answer);

/* The model as JSON, which the caller deletes; and back: NULL, or what is wrong with it. */
cJSON *step_model_json(const struct step_model *model);
const char *step_model_parse(struct step_model *model, const cJSON *root);

#endif
