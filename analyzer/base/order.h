/* Numbers in order: sorted, or only as far as their median needs. None may be NaN. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stddef.h>

void order_sort(double *values, size_t count); /* rising */

/* The median of at least one value, the mean of the two in the middle of an even count. Puts them in another
 * order. */
double order_median(double *values, size_t count);

#endif
