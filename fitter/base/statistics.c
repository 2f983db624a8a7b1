/* Statistics: see statistics.h. */
#include "statistics.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void statistics_sort(double *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare);
}

double statistics_quantile(const double *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double statistics_median(const double *sorted, size_t count)
{
	return (sorted[count / 2] + sorted[(count - 1) / 2]) / 2;
}
