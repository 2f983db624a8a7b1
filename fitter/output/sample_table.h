/* All samples of a subject as one table, for pictures over its columns. */
#ifndef SAMPLE_TABLE_H
#define SAMPLE_TABLE_H

#include "figures.h"

struct sample_table {
	const struct pm_fit_model *model;
	size_t count;
	double **values; /* by column of the model, then sample: levels as the model's numbers */
	double *measured, *predicted;
	size_t *sets; /* of each sample: 0 fitted, 1 test */
	const char *names[2];
	size_t *order;
	size_t column; /* which is not held */
};

/* Samples without a measured time or a prediction are not in it. */
void sample_table_init(struct sample_table *t, const struct subject *subject);
void sample_table_free(struct sample_table *t);

/* Does the model look at it? */
bool sample_table_matters(const struct pm_fit_model_column *column);

#endif
