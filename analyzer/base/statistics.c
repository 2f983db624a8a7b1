/* Sorting by the library, the median by selection: see statistics.h. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

void statistics_sort(double *values, size_t count)
{
	if (count)
		qsort(values, count, sizeof(*values), compare_doubles);
}

static void swap(double *a, double *b)
{
	double kept = *a;

	*a = *b;
	*b = kept;
}

/*
 * Moves values so that the one at `rank` is where sorting would put it, those before it are not greater, and
 * those after it not less (Hoare's selection): much faster than sorting, of which there is no other use.
 */
static double select_rank(double *values, size_t count, size_t rank)
{
	size_t first = 0, last = count - 1;

	while (first < last) {
		double pivot = values[first + (last - first) / 2];
		size_t i = first, j = last;

		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&values[i++], &values[j--]);
		}
		/* Up to j none is greater than the pivot, after it none is less; j is before `last`. */
		if (rank <= j)
			last = j;
		else
			first = j + 1;
	}
	return values[rank];
}

double statistics_median(double *values, size_t count)
{
	double upper = select_rank(values, count, count / 2), lower = values[0];

	if (count % 2)
		return upper;
	for (size_t i = 1; i < count / 2; i++)
		if (values[i] > lower)
			lower = values[i];
	return (lower + upper) / 2;
}

double statistics_quantile_sorted(const double *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place;

	if (below + 1 >= count)
		return sorted[count - 1];
	return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

double statistics_median_sorted(const double *sorted, size_t count)
{
	return (sorted[count / 2] + sorted[(count - 1) / 2]) / 2;
}

void statistics_add(struct statistics_spread *spread, double value)
{
	double before = spread->mean;

	spread->count++;
	spread->mean += (value - before) / spread->count;
	spread->square += (value - before) * (value - spread->mean);
}

double statistics_deviation(const struct statistics_spread *spread)
{
	return spread->count > 1 ? sqrt(spread->square / (spread->count - 1)) : 0;
}
