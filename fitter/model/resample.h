/* A problem of some of another's samples, in any order and number. */
#ifndef RESAMPLE_H
#define RESAMPLE_H

#include "pm_fit.h"

struct resample {
	struct pm_fit_problem problem;
	struct pm_fit_column *columns;
	double *numbers;
};

/* Names, levels and unit stay the other problem's. 0 or -ENOMEM; resample_free in either case. */
int resample_init(
	struct resample *resample, const struct pm_fit_problem *problem, const size_t *samples, size_t count);
void resample_free(struct resample *resample);

#endif
