/*
 * Several data sets, or models that were fitted to them, side by side: what `pmfit compare` prints. Each
 * table is fitted twice, without penalty and with; one of the two is the one that is shown.
 */
#ifndef COMPARISON_H
#define COMPARISON_H

#include "baselines/baselines.h"
#include "data/observations.h"
#include "differences.h"

struct comparison_set {
	char *name;
	const char *path;
	struct observations observations; /* no samples where the set is a model file */
	struct pm_fit_model *shown;       /* with bootstrap values */
	struct pm_fit_model *free,
		*bound;                /* without penalty and with; NULL for a model file; one is `shown` */
	struct baseline model_rows[2]; /* of free and bound */
	struct baselines others;       /* black boxes */
	double typical;                /* geometric mean of the fitted times, NAN where it is not known */
};

struct comparison_pair {
	size_t first, second; /* sets */
	struct difference *rows;
	size_t count;
};

struct comparison {
	size_t count, pair_count;
	struct comparison_set *sets;
	struct comparison_pair *pairs;
	double lambda, confidence; /* lambda of `bound` */
	bool is_bound_shown, is_l1;
	bool *wanted; /* of baselines_names */
};

/*
 * Fits what is a table and no model yet, and compares each set with each. Ends the program with a sentence if
 * a fit fails; `show` (may be NULL) is called with the name of what is being fitted.
 */
void comparison_run(struct comparison *comparison, const struct pm_fit_parameter *parameter,
	void (*show)(const char *what));
void comparison_free(struct comparison *comparison);

/* A row of errors by place: the two models, then the black boxes that were asked for; NULL after the last.
 */
const struct baseline *comparison_row(const struct comparison_set *set, size_t place);

#endif
