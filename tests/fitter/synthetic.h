/* Problems whose truth is known, made from a formula and a seed. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "pm_fit.h"

#define SYNTHETIC_COLUMNS 6

/*
 * x and y intrinsic, kind (3 levels) and mode (2) categorical, batch and gpus extrinsic:
 *
 *     t = (3 x^0.7 + 2 y^-0.5 + kind{0, 1.5, 4} + mode{0.5, 2}) * batch^-0.8 * gpus^-0.95 + 0.6
 *
 * times e^(noise * normal). With `fine` x takes a value of its own in each sample.
 */
struct synthetic {
	struct pm_fit_problem problem;
	struct pm_fit_column columns[SYNTHETIC_COLUMNS];
	double *numbers;
	double *truth; /* times without noise */
};

void synthetic_init(struct synthetic *data, size_t sample_count, double noise, int fine, unsigned seed);
void synthetic_free(struct synthetic *data);

#endif
