/* A model's memory, and its formula. */
#ifndef MODEL_H
#define MODEL_H

#include "space.h"

/* A model of the problem's columns without a fit: values named and zero. NULL without memory. */
struct pm_fit_model *model_new(const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter,
	const struct space *space);
/* Room for so many runs. 0 or -ENOMEM. */
int model_make_runs(struct pm_fit_model *model, size_t count);

/* A column of the model of each sample, levels by the model's numbers; NAN where the problem has no such
 * column. 0 or -ENOMEM. */
int model_column_values(const struct pm_fit_model *model, const struct pm_fit_problem *problem, size_t column,
	double *values);

/* For each intrinsic and categorical column the greatest share that its term has of a prediction. 0 or
 * -ENOMEM. */
int model_shares(const struct pm_fit_model *model, const struct pm_fit_problem *problem, double *shares);

/* Contrasts from values; both in original units. See struct pm_fit_contrast. */
size_t model_contrast_count(const struct space *space);
void model_contrasts(const struct space *space, const double *values, double *contrasts);

#endif
