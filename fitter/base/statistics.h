/* Order statistics. */
#ifndef STATISTICS_H
#define STATISTICS_H

#include <stddef.h>

/* Into ascending order. */
void statistics_sort(double *numbers, size_t count);

/* Of `count` ascending numbers, at least one: the place `share` (0 to 1) of the way from the first to the
 * last, between two of them in proportion; the middle, or the mean of the two in the middle. */
double statistics_quantile(const double *sorted, size_t count, double share);
double statistics_median(const double *sorted, size_t count);

#endif
