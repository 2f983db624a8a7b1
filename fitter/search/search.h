/*
 * What every global optimiser takes and answers. An optimiser knows nothing of the model: it has a box, a
 * function that gives the costs of many candidates at once, and random numbers of its own, so that a run is
 * the same bit for bit whatever else runs.
 */
#ifndef SEARCH_H
#define SEARCH_H

#include "base/random.h"
#include "pm_fit.h"

#include <stdbool.h>

struct search {
	size_t size;
	const double *lower, *upper;
	/* costs of `count` candidates of `size` numbers each; never NAN */
	void (*evaluate)(void *context, const double *x, size_t count, double *costs);
	/* after each generation; true: stop. May be NULL */
	bool (*report)(void *context, size_t evaluations, double best_cost);
	void *context;
	struct random random;
	size_t limit;      /* of evaluations */
	size_t population; /* 0: the method's own */
	double tolerance;  /* of the costs' spread, relative to their mean */

	/* the answer */
	double *best; /* size numbers, the caller's */
	double best_cost;
	size_t evaluations, generations;
	enum pm_fit_end end;
};

/* Each answers 0 or -ENOMEM. */
int de_search(struct search *search);
int jso_search(struct search *search);

/* A Latin hypercube in the box: in each dimension one candidate in each of `count` equal slices. */
int search_hypercube(struct search *search, double *x, size_t count);

/* Notes that x with this cost was seen. */
void search_note(struct search *search, const double *x, double cost);

#endif
