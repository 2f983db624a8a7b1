/*
 * What a model is to predict: the rows of a table, whose columns are found by the model's names, with a
 * remark for each value outside of what was fitted. Such rows are kept: to predict them is what a model is
 * for, but nobody should believe it unawares.
 */
#ifndef MODEL_INPUT_H
#define MODEL_INPUT_H

#include "base/csv.h"
#include "pm_fit.h"

#include <stdbool.h>

enum {
	MODEL_INPUT_OUTSIDE =
		1, /* a number is beyond the least or the greatest that was fitted: extrapolation */
	MODEL_INPUT_UNSEEN = 2, /* a level that no fitted sample had: there is no prediction */
};

struct model_input_remark {
	size_t row, column; /* of the problem, of the model */
	unsigned flag;
};

struct model_input {
	struct pm_fit_problem problem; /* time is `measured`, or NULL */
	struct pm_fit_column *columns; /* as the model's; where a level is unseen, the first stands for it */
	double *numbers, *measured;    /* measured: NAN where a row has none */
	size_t *lines;                 /* of each row in the file */
	size_t *rows;                  /* in the table */
	unsigned *flags;
	struct model_input_remark *remarks; /* in the order of the rows */
	size_t remark_count, skipped;
	ptrdiff_t *places; /* of the model's columns in the table, -1 for ignored ones */
	char error[512];
};

/*
 * `time` names the column of measured times (or rates), NULL: none. Rows with missing numbers end it, or with
 * `skip_bad` are left out. 0 or -errno with input->error set; model_input_free in either case. The model and
 * the table stay as long as this does.
 */
int model_input_init(struct model_input *input, const struct csv *csv, const struct pm_fit_model *model,
	const char *time, bool is_rate, bool skip_bad);
void model_input_free(struct model_input *input);

#endif
