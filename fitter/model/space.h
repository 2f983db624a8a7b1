/*
 * The space that is searched: which number of a candidate means what, its bounds, and the way between the
 * units of the search and those of the data.
 *
 * A candidate x holds, in this order: the intrinsic coefficients a, the levels' coefficients (or the one
 * base, where no column is in the sum), the constant C, then the powers p and the exponents q and factors. So
 * all that enters the model linearly comes first. In scaled units the time is t / T and an input I / g, with
 * T and g geometric means:
 *
 *     a = a' T g^-p H,  level = level' T H,  C = C' T,  H = prod_j g_j^-q_j
 */
#ifndef SPACE_H
#define SPACE_H

#include "pm_fit.h"

#define SPACE_NO_COLUMN SIZE_MAX

struct space_item {
	enum pm_fit_kind kind;
	size_t column, level;
	double log_scale; /* of the column, 0 for levels */
	double lower, upper;
};

struct space {
	size_t intrinsic_count, level_count, exponent_count;
	size_t linear_count, count;
	struct space_item *items;
	double time_scale;
};

/* The scales are those of the problem's samples. 0 or -ENOMEM; space_free in either case. */
int space_init(
	struct space *space, const struct pm_fit_problem *problem, const struct pm_fit_parameter *parameter);
/* The same space without samples, of a model. */
int space_of_model(struct space *space, const struct pm_fit_model *model);
void space_free(struct space *space);

/* From scaled units to those of the data, and back. The arrays may be the same. */
void space_unscale(const struct space *space, const double *scaled, double *values);
void space_scale(const struct space *space, const double *values, double *scaled);

/* The geometric mean of positive numbers; 1 if there is none. */
double space_geometric_mean(const double *numbers, size_t count);

#endif
