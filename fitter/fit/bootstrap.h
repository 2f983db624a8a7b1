/*
 * Intervals by resampling: the samples are drawn anew with replacement, the local search begins at the
 * solution, and the spread of what it finds says how far the data determine each value. It sees no other
 * minimum than the one it begins in.
 */
#ifndef BOOTSTRAP_H
#define BOOTSTRAP_H

#include "model/space.h"
#include "pm_fit.h"

/* Fills low and high of the model's values and contrasts, and its resamples, which must be complete
 * otherwise. 0 or -ENOMEM. */
int bootstrap(struct pm_fit_model *model, const struct pm_fit_problem *problem, const struct space *space,
	const struct pm_fit_parameter *parameter);

#endif
