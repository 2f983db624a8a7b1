/*
 * Predictions of a fitted or found formula beyond its data. A formula that fits well between 1 and 4 GPUs may
 * say anything about 64: so such a row is predicted at the edge of the data, and the growth from there is
 * held within what steps are known to do, by powers h of the ratio x / edge:
 *
 *     batch    0 .. 1          from no work at all to work alone
 *     GPUs     0 .. 0.35       an exchange that grows slowly
 *     nodes    -0.35 .. 0.35
 *
 *     others   0 .. 1          or 1.15 times the formula's own slope at the edge: a square goes on as a
 * square, but a cube that a constant hid between the measured values does not begin beyond them
 *
 * Lower bounds give way to the formula's own mean slope over the data, so that times of an epoch, which fall
 * with GPUs, go on falling as fast as they did. Batch, GPUs and nodes are known by their columns' names
 * (step_table.h). Intervals widen with the doublings beyond, and by half
 * of what was held back.
 */
#ifndef BEYOND_H
#define BEYOND_H

#include "pm_fit.h"

#include <stdbool.h>

struct beyond {
	double *times, *low, *high; /* of each sample; low and high NAN where the model has no residuals */
	size_t outside;             /* samples beyond the data */
	size_t held;                /* of these, whose growth was changed by more than a percent */
	enum pm_fit_interval interval;
};

/* As pm_fit_predict and pm_fit_predict_interval otherwise. 0 or -ENOMEM; beyond_free in either case. */
int beyond_predict(struct beyond *beyond, const struct pm_fit_model *model,
	const struct pm_fit_problem *problem, double confidence);
void beyond_free(struct beyond *beyond);

/* Within which powers the growth of a column of a model is held: from the least of `lower` and the formula's
 * mean slope to `upper`; where `steeper` is not 0 both also give way to so many times the slope from `near`
 * to the greatest value. */
struct beyond_growth {
	double lower, upper;
	double steeper, near;
};

/* False: it is not held. */
bool beyond_growth(const struct pm_fit_model_column *column, struct beyond_growth *growth);

#endif
