/*
 * Several data sets, or models that were fitted to them, side by side: what `pmfit compare` prints. Each
 * table is fitted twice, without penalty and with; one of the two is the one that is shown.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include "baselines/baselines.h"
#include "cmds/options.h"
#include "difference.h"

struct compare_set {
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

struct compare_pair {
	size_t first, second; /* sets */
	struct difference *rows;
	size_t count;
};

struct comparison {
	size_t count, pair_count;
	struct compare_set *sets;
	struct compare_pair *pairs;
	double lambda, confidence; /* lambda of `bound` */
	bool is_bound_shown, is_l1;
	bool *wanted; /* of baselines_names */
};

/*
 * A set is `[NAME=]FILE[,DESCRIPTION]`: a table, with the columns of the options and, on top, of its own
 * description, or a model file (a name in .json). Ends the program with a sentence if one cannot be had;
 * `show` (may be NULL) is told what is being done.
 */
void compare_run(struct comparison *comparison, const struct options *options, char **arguments, size_t count,
	void (*show)(const char *what));
void compare_free(struct comparison *comparison);

/* A row of errors by place: the two models, then the black boxes that were asked for; NULL behind the last.
 */
const struct baseline *compare_row(const struct compare_set *set, size_t place);

/* What a person reads. */
void compare_print(const struct comparison *comparison);

#endif
