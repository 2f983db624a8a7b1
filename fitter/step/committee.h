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
 * Interval of a run: normal about log T. Its variance is that of the residuals, plus the candidates'
 * disagreement, plus that of repeated rows about their configuration's, outside plus a part that grows with
 * the distance from the data; all that times what makes it hold 95% of the rows left out: inside by place
 * (deviations of near configurations), outside by region. A column's upper half, two thirds and three
 * quarters are left out, and its largest value; each is another extrapolation, and the worst counts, but
 * never below 1 (split conformal prediction: Vovk et al., "Algorithmic Learning in a Random World"). What is
 * left out is asked with weights that the other folds gave. Where rows are repeated, the interval of their
 * mean (of the configuration's time, which no number of repeats takes one beyond) is the same without their
 * own variance.
 */
#ifndef COMMITTEE_H
#define COMMITTEE_H

#include "residual.h"
#include "base/memory.h"

#include <stdbool.h>

/* Left-out configurations: that all are held is below 5% likely where 90% are. */
#define COMMITTEE_TELLING 29
#define COMMITTEE_CANDIDATES 16
#define COMMITTEE_FOLDS 5 /* at random; those that leave out the largest come on top */
#define COMMITTEE_CUTS 5  /* at most, where a column's largest values are left out */

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
	bool is_short;    /* one form of two or three terms, FORM_LOGARITHM: for few configurations */
	bool is_parted;   /* fitted to the measured compute part too */
	double overlap;
	unsigned without;                  /* of its forms: form.h */
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

/* How far off runs were that folds left out, by how far from the rest they were: in ascending order of reach.
 */
struct committee_tries {
	size_t count; /* 0: none; inside: 1 */
	struct committee_try {
		double reach; /* doublings to the farthest row; 0: inside */
		double error; /* mean |answer over time - 1| of this and of nearer folds: the greatest */
	} tries[COMMITTEE_CUTS];
};

struct committee_constants;

struct committee {
	const struct committee_constants *constants;
	size_t count; /* configurations, in ascending order of batch, GPUs, nodes */
	struct form_point *points;
	double *times, *compute; /* medians of their rows */
	double *rows;            /* how many each has */
	double spread;     /* greatest over least time of a configuration's rows, median; NAN: one row each */
	double *noise;     /* variance of its rows' logarithms; NAN: one row */
	double *deviation; /* root mean square of |z| of its rows when it was left out */
	size_t candidate_count;
	struct candidate candidates[COMMITTEE_CANDIDATES];
	double repeated; /* mean over configurations of 1 - 1 / rows: how much of the noise medians lack */
	double widen[COMMITTEE_REGIONS]; /* factor of the standard deviation */
	struct committee_tries tries[COMMITTEE_REGIONS];
	double common; /* mean of deviation^2 over rows */
	struct form_point least, greatest;
	size_t batches;        /* different ones */
	bool has_regime[3];    /* measured: one GPU, one node, several */
	size_t best;           /* the form that is shown: candidate */
	size_t best_form;      /* and which of its forms */
	struct form low, high; /* of its terms over the random folds */
};

struct committee_answer {
	double time, low, high;     /* of a run; NAN: no answer, see `why` */
	double mean_low, mean_high; /* of the mean of runs; NAN: no row is repeated */
	double compute, exchange;   /* of the form that is shown */
	unsigned outside;           /* bits 1 << enum committee_region */
	unsigned untried; /* not known to hold 95%: smaller, or farther than any fold; bit 0: few folds */
	const char *why;  /* NULL, or why there is no answer: "no row has several nodes" */
};

/* 0, or why these rows do not suffice: a sentence. committee_free in either case. */
const char *committee_fit(struct committee *committee, const struct committee_row *rows, size_t count);
void committee_free(struct committee *committee);

/* "1 to 8 GPUs on 1 node, 4 to 32 samples on each": what was measured. */
const char *committee_extent(const struct committee *committee, struct arena *arena);

void committee_predict(const struct committee *committee, const struct form_point *point, double confidence,
	struct committee_answer *answer);

/* The farthest try of a region whose error is below `most`, NULL: none. */
const struct committee_try *committee_tried(
	const struct committee *committee, enum committee_region region, double most);

/* The column that a region other than COMMITTEE_INSIDE lies beyond: a point's batch, GPUs or nodes. */
double committee_coordinate(const struct form_point *point, enum committee_region region);

/* How many forms a candidate is the median of. */
size_t candidate_forms(const struct candidate *candidate);

/* How much each candidate has to say where a question lies outside by these regions (bits), before that of
 * linear ones is divided by 1 + (doublings beyond the greatest GPUs / COMMITTEE_LINEAR_REACH)^4; their sum is
 * not 1. */
#define COMMITTEE_LINEAR_REACH 1.5
void committee_weights(
	const struct committee *committee, unsigned outside, double weights[COMMITTEE_CANDIDATES]);

/* For what comes from a file: room for so many configurations, which the caller fills; then their ranges;
 * and, after all else, the residuals. */
void committee_reserve(struct committee *committee, size_t count);
void committee_describe(struct committee *committee);
void committee_restore(struct committee *committee);

#endif
