/*
 * Which parameters of two fits differ by more than their data leave open. Each fit has values for bootstrap
 * resamples of its rows; as the two sets were measured apart, every resample of one is taken with every one
 * of the other, and a parameter differs where 0 is not among the differences that are left when those at both
 * ends are cut off.
 */
#ifndef DIFFERENCES_H
#define DIFFERENCES_H

#include "pm_fit.h"

#include <stdbool.h>

struct difference {
	const char *name;      /* of the value or contrast, the first model's */
	enum pm_fit_kind kind; /* of contrasts PM_FIT_KIND_LEVEL, or PM_FIT_KIND_BASE */
	bool is_contrast;      /* see struct pm_fit_contrast: levels are compared by these */
	double first, second;  /* of the best runs */
	double low, high;      /* interval of second - first */
	bool is_clear;         /* 0 is not in it */
};

/*
 * The parameters that both have by name and that the data of both determine, bounds and dead terms left out.
 * Where the units of the times are not the same only powers, which have none. No row where a model has less
 * than 20 resamples. The caller frees *rows. 0 or -ENOMEM.
 */
int differences_find(const struct pm_fit_model *first, const struct pm_fit_model *second, double confidence,
	struct difference **rows, size_t *count);

/* The same word, or none in both. */
bool differences_same_unit(const struct pm_fit_model *first, const struct pm_fit_model *second);

#endif
