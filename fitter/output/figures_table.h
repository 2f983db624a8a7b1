/* All samples of a subject as one table, for pictures over its columns. */
#ifndef FIGURES_TABLE_H
#define FIGURES_TABLE_H

#include "figures.h"

struct table {
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
void table_init(struct table *t, const struct subject *subject);
void table_free(struct table *t);

/* Does the model look at it? */
bool table_matters(const struct pm_fit_model_column *column);
/* Zeroed memory, or the program ends. */
void *table_room(size_t count, size_t size);

#endif
