/* How many iterations the whole run has had: see analysis.h. */
#include "analysis.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* The number that at least half of the values are, but for one up or down. */
static double most_frequent(double *values, size_t count)
{
	size_t best = 0, first = 0;
	double value = NAN;

	if (count > 1)
		qsort(values, count, sizeof(*values), by_number);
	for (size_t i = 0; i < count; i++) {
		while (values[i] - values[first] > 1) /* the first or last iteration is cut */
			first++;
		if (i + 1 - first > best) {
			best = i + 1 - first;
			value = values[first + (i - first) / 2];
		}
	}
	return 2 * best >= count ? value : NAN;
}

/* Calls that are missing, by the operation without addresses; the caller frees it. */
static double *missing_calls(const struct timeline *timeline, const struct timeline_process *process)
{
	double *calls = mem_alloc(process->operation_count, sizeof(*calls));

	for (uint32_t op = 0; op < process->operation_count; op++)
		calls[timeline_base(timeline, process->first_operation + op) - process->first_operation] +=
			(double)process->gap.calls[op];
	return calls;
}

double analysis_iterations(const struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];
	const double there = (double)worker->iterations.count;
	double *values, *missing, dropped = NAN;
	uint32_t *once;
	size_t count = 0;

	if (worker->pace.count)
		return (double)(worker->pace.before + worker->pace.count);
	if (!process->gap.calls)
		return there;
	once = mem_alloc(process->operation_count, sizeof(*once));
	values = mem_alloc(process->operation_count, sizeof(*values));
	missing = missing_calls(&analysis->timeline, process);
	if (pace_once(&analysis->timeline, worker->worker, &worker->iterations, once)) {
		for (uint32_t op = 0; op < process->operation_count; op++)
			if (once[op])
				values[count++] = missing[op];
		dropped = most_frequent(values, count);
	}
	free(once);
	free(values);
	free(missing);
	return there + dropped;
}
