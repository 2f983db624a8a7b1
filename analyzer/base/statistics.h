/* Order statistics, means and deviations. No number may be NaN. */
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

/* Mean and squared distance from it of what is added, one by one (Welford, 1962). All zero: nothing. */
struct statistics_spread {
	double count, mean, square;
};

void statistics_add(struct statistics_spread *spread, double value);

/* The standard deviation of a sample (by count - 1); 0 of fewer than two. */
double statistics_deviation(const struct statistics_spread *spread);

#endif
