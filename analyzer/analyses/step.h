/*
 * The time of a step, as every command means it: an iteration of the job, the mean over its ranks; and which
 * iterations are typical.
 *
 * An iteration is an outlier if it takes over STEP_OUTLIER times the median, and few do (STEP_FEW): where
 * many do, as with every tenth that waits for input, they are how the program runs. Typical times are means
 * over the others, so they add up, and without outliers they are the means that tables show.
 */
#ifndef ANALYSES_STEP_H
#define ANALYSES_STEP_H

#include "reconstruct/analysis.h"

#define STEP_OUTLIER PACE_SLOW /* times the median */
#define STEP_FEW PACE_FEW      /* of the used iterations, at most */
#define STEP_LEAST PACE_LEAST  /* used iterations: of fewer none is an outlier */

struct step {
	double median_ns, low_ns, high_ns; /* and quartiles, over used iterations */
	double mean_ns, typical_ns;        /* of all used, and without outliers */
	double *each_ns;                   /* by used iteration */
	bool *outlier;                     /* by used iteration */
	size_t outlier_count;
	size_t used, count;  /* iterations, on the rank with fewest used */
	size_t ranks, world; /* world: 0 where no trace tells */
	double confidence;   /* the least of all workers' iterations */
	bool whole;          /* no iterations are known: the recording counts as one */
};

/* What a figure is of: "a step", or without iterations "the recording"; and after an amount: "a step", "of the
 * recording". */
static inline const char *step_unit(bool whole)
{
	return whole ? "the recording" : "a step";
}

static inline const char *step_each(bool whole)
{
	return whole ? "of the recording" : "a step";
}

/* All zero without workers. */
void step_find(const struct analysis *analysis, struct step *step);
void step_free(struct step *step);

/* A worker's typical exclusive time in a phase. */
double step_phase(const struct step *step, const struct analysis_worker *worker, enum phase phase);

/* Mean of values by used iteration, of typical ones. */
double step_typical(const struct step *step, const double *each_ns);

#endif
