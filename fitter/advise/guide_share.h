/*
 * How to divide a batch among GPUs that are not alike: in proportion to their speed [BG], in whole samples.
 */
#ifndef GUIDE_SHARE_H
#define GUIDE_SHARE_H

#include <stddef.h>

/*
 * Shares that add up to `batch` and make the slowest device's shares[i] / speeds[i] as small as can be: the
 * proportional shares rounded down, and each sample that remains to the device that ends first with it.
 * Speeds are samples per unit of time, positive.
 */
void guide_share(const double *speeds, size_t count, size_t batch, size_t *shares);

/* The same number for all; what remains goes to the first ones. */
void guide_share_evenly(size_t count, size_t batch, size_t *shares);

/* When the last device ends, in the speeds' unit of time. */
double guide_share_time(const double *speeds, const size_t *shares, size_t count);

#endif
