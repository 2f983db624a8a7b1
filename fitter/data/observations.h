/*
 * Observations: a CSV table and the description of its columns become the problem to fit and the problem to
 * test on. Levels are those of the samples to fit, in the order in which they come.
 */
#ifndef OBSERVATIONS_H
#define OBSERVATIONS_H

#include "base/csv.h"
#include "description.h"
#include "pm_fit.h"

struct column_names {
	char *name;
	char **levels;
	size_t level_count;
};

struct observations {
	struct pm_fit_problem train, test; /* test has no samples if there is no split */
	size_t skipped;
	char error[512];
	/* what the problems point into */
	struct pm_fit_column *train_columns, *test_columns;
	double *numbers;
	struct column_names *names;
	size_t column_count;
	char *unit;
};

/* 0 or -errno with observations->error set; observations_free in either case. The table may go afterwards. */
int observations_init(
	struct observations *observations, const struct csv *csv, const struct description *description);
void observations_free(struct observations *observations);

#endif
