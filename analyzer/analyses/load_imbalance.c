/* The load imbalance factor: see load_imbalance.h. */
#include "load_imbalance.h"

#include <math.h>
#include <stdlib.h>

double load_imbalance_computing(const struct analysis *analysis)
{
	double *means = mem_alloc(analysis->worker_count, sizeof(*means)), result;

	for (size_t i = 0; i < analysis->worker_count; i++)
		means[i] = analysis_compute(&analysis->workers[i], 1).mean;
	result = load_imbalance(means, analysis->worker_count);
	free(means);
	return result;
}

double load_imbalance(const double *values, size_t count)
{
	double greatest = 0, sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += values[i];
		if (values[i] > greatest)
			greatest = values[i];
	}
	return sum > 0 ? (double)count * greatest / sum : NAN;
}
