/* Order statistics. No number may be NaN. */
#ifndef BASE_STATISTICS_H
#define BASE_STATISTICS_H

#include <stddef.h>

/* Into ascending order. */
void statistics_sort(double *values, size_t count);

/* The median of at least one value, the mean of the two in the middle of an even count. Puts them in another
 * order, in linear time. */
double statistics_median(double *values, size_t count);

/* Of `count` ascending values, at least one: the place `share` (0 to 1) of the way from the first to the
 * last, between two of them in proportion (definition 7 of Hyndman and Fan, 1996); the median, as above. */
double statistics_quantile_sorted(const double *sorted, size_t count, double share);
double statistics_median_sorted(const double *sorted, size_t count);

#endif
