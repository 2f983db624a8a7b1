/*
 * A committee of candidates for the time of a step at one level (a cluster, a kind of GPU). Each candidate is
 * a physical form (form.h) with its residual process (residual.h); each has been asked for configurations
 * that it had not seen, inside and beyond the rest of the table, and has a say by how well it answered there:
 *
 *     log T = sum_c w_c (log form_c + residual_c),   w_c ~ max(e_c, 0.005)^-4
 *
 * e_c: mean |log error| over folds of the region in which the question lies (enum committee_region). A form
 * that is excellent inside the data may be useless beyond it, so the regions have weights of their own.
 *
 * Interval: normal about log T. Its variance is that of the residuals, plus the candidates' disagreement,
 * outside plus a part that grows with the distance from the data; all that times what makes it hold 95% of
 * the rows left out: inside by place (deviations of near configurations), outside by region, as the mean over
 * the folds that leave out the largest (split conformal prediction: Vovk et al., "Algorithmic Learning in a
 * Random World"; each fold is another extrapolation, and counts alike).
 */
#ifndef COMMITTEE_H
#define COMMITTEE_H

#include "residual.h"

#include <stdbool.h>

#define COMMITTEE_CANDIDATES 10
#define COMMITTEE_FOLDS 5 /* at random; those that leave out the largest come on top */

enum committee_region {
	COMMITTEE_INSIDE,
	COMMITTEE_BATCH,
	COMMITTEE_GPUS,
	COMMITTEE_NODES,
	COMMITTEE_REGIONS
};

struct candidate {
	bool is_constant; /* the same time everywhere, before the residual */
	bool is_linear;   /* one form, FORM_LINEAR, in place of FORM_EXCHANGES */
	bool is_parted;   /* fitted to the measured compute part too */
	double overlap;
	double level;                      /* the logarithm of the constant */
	struct form forms[FORM_EXCHANGES]; /* the candidate is the median of their logarithms */
	struct residual_shape shape;
	struct residual residual;
	double error[COMMITTEE_REGIONS]; /* e; NAN: no fold in that region */
};

/* A measured row. */
struct committee_row {
	struct form_point point;
	double time, compute; /* compute: without exposed exchange; NAN: not measured */
};

struct committee {
	size_t count; /* configurations, in ascending order of batch, GPUs, nodes */
	struct form_point *points;
	double *times, *compute; /* medians of their rows */
	double *rows;            /* how many each has */
	double spread;     /* greatest over least time of a configuration's rows, median; NAN: one row each */
	double *deviation; /* root mean square of |z| of its rows when it was left out */
	size_t candidate_count;
	struct candidate candidates[COMMITTEE_CANDIDATES];
	double widen[COMMITTEE_REGIONS]; /* factor of the standard deviation */
	double common;                   /* mean of deviation^2 over rows */
	struct form_point least, greatest;
	size_t batches;        /* different ones */
	bool has_regime[3];    /* measured: one GPU, one node, several */
	size_t best;           /* the form that is shown: candidate */
	size_t best_form;      /* and which of its forms */
	struct form low, high; /* of its terms over the random folds */
};

struct committee_answer {
	double time, low, high;   /* NAN: no answer, see `why` */
	double compute, exchange; /* of the form that is shown */
	unsigned outside;         /* bits 1 << enum committee_region */
	const char *why;          /* NULL, or why there is no answer: "no row has several nodes" */
};

/* 0, or why these rows do not suffice: a sentence. committee_free in either case. */
const char *committee_fit(struct committee *committee, const struct committee_row *rows, size_t count);
void committee_free(struct committee *committee);

void committee_predict(const struct committee *committee, const struct form_point *point, double confidence,
	struct committee_answer *answer);

/* For what comes from a file: room for so many configurations, which the caller fills; then their ranges;
 * and, after all else, the residuals. */
void committee_reserve(struct committee *committee, size_t count);
void committee_describe(struct committee *committee);
void committee_restore(struct committee *committee);

#endif
