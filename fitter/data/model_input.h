/*
 * What a model is asked: the rows of a table, whose columns are found by the model's names, with a note of
 * each row that lies outside of what the model has seen. Such rows are kept: to predict them is what a model
 * is for, but nobody should believe it unawares.
 */
#ifndef MODEL_INPUT_H
#define MODEL_INPUT_H

#include "csv.h"
#include "pm_fit.h"

#include <stdbool.h>

enum {
	ASK_OUTSIDE = 1, /* a number is beyond the least or the greatest that was fitted: extrapolation */
	ASK_UNSEEN = 2,  /* a level that no fitted sample had: there is no prediction */
};

struct ask_remark {
	size_t row, column; /* of the problem, of the model */
	unsigned flag;
};

struct ask {
	struct pm_fit_problem problem; /* time is `measured`, or NULL */
	struct pm_fit_column *columns; /* as the model's; where a level is unseen, the first stands for it */
	double *numbers, *measured;    /* measured: NAN where a row has none */
	size_t *lines;                 /* of each row in the file */
	size_t *rows;                  /* in the table */
	unsigned *flags;
	struct ask_remark *remarks; /* in the order of the rows */
	size_t remark_count, skipped;
	ptrdiff_t *places; /* of the model's columns in the table, -1 for ignored ones */
	char error[512];
};

/*
 * `time` names the column of measured times (or rates), NULL: none. Rows with missing numbers end it, or with
 * `skip_bad` are left out. 0 or -errno with ask->error set; ask_free in either case. The model and the table
 * stay as long as this does.
 */
int ask_init(struct ask *ask, const struct csv *csv, const struct pm_fit_model *model, const char *time,
	bool is_rate, bool skip_bad);
void ask_free(struct ask *ask);

#endif
