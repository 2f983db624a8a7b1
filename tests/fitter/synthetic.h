/* Problems whose truth is known, made from a formula and a seed. */
#ifndef MADE_H
#define MADE_H

#include "pm_fit.h"

#define MADE_COLUMNS 6

/*
 * x and y intrinsic, kind (3 levels) and mode (2) categorical, batch and gpus extrinsic:
 *
 *     t = (3 x^0.7 + 2 y^-0.5 + kind{0, 1.5, 4} + mode{0.5, 2}) * batch^-0.8 * gpus^-0.95 + 0.6
 *
 * times e^(noise * normal). With `fine` x takes a value of its own in each sample.
 */
struct made {
	struct pm_fit_problem problem;
	struct pm_fit_column columns[MADE_COLUMNS];
	double *numbers;
	double *truth; /* times without noise */
};

void made_init(struct made *made, size_t sample_count, double noise, int fine, unsigned seed);
void made_free(struct made *made);

#endif
