/*
 * How residuals differ from one configuration to another: of one cluster, of large batches, of long times
 * they may be wider than of others, to one side or to both. A residual (measured over predicted) is one of
 * the model's common residuals to the power s, and s is a product of factors, one by each column's group of
 * the row and one by the predicted time's, of those below 1 or of those above.
 *
 * Groups are a column's levels, or its numbers from one edge to the next, with a twelfth of the rows or 20 at
 * least. The factors are such that in each group 2.5% of the rows lie beyond the common interval on either
 * side: found column by column, over and over, each drawn towards 1 by as much as 10 rows weigh.
 */
#ifndef SPREAD_H
#define SPREAD_H

#include "pm_fit.h"

#include <cjson/cJSON.h>

/*
 * Fills the model's spreads from the predicted times of the problem's samples, all of them above 0, and their
 * residuals. These become *kept common ones, each by factors that were found without it: in their own groups
 * residuals fit too well. Of fewer than 100 samples nothing is told. 0 or -ENOMEM.
 */
int spread_fit(struct pm_fit_model *model, const struct pm_fit_problem *problem, const double *times,
	double *residuals, size_t *kept);

/* Writes the powers s of each sample, of which `times` are predicted, for residuals below 1 and above; 1
 * where the model has no spreads. 0 or -ENOMEM. */
int spread_of(const struct pm_fit_model *model, const struct pm_fit_problem *problem, const double *times,
	double *below, double *above);

void spread_free(struct pm_fit_model *model);

/* Of the model's file: an array, NULL where there are none or memory is out; and what is wrong with it. */
cJSON *spread_json(const struct pm_fit_model *model);
const char *spread_read(const cJSON *root, struct pm_fit_model *model);

#endif
