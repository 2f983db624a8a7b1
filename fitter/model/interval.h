/*
 * How far a prediction is to be trusted: a measured time is the prediction times a residual, and residuals
 * are those of the samples that were fitted. Relative, since times vary by a share of themselves. With a
 * bootstrap each resample's prediction takes part, which widens the interval where the data say little. How
 * much wider they are of some rows than of others is in spread.h.
 */
#ifndef INTERVAL_H
#define INTERVAL_H

#include "pm_fit.h"

/* Of the residuals that a model keeps, when there are as many samples. */
#define INTERVAL_QUANTILES 201

/* Fills the model's residuals from the samples that it was fitted to. 0 or -ENOMEM. */
int interval_residuals(struct pm_fit_model *model, const struct pm_fit_problem *problem);

#endif
