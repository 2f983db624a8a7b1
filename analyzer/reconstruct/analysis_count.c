/* How many iterations the whole run has had: see analysis.h. */
#include "analysis.h"

#include <math.h>
#include <stdlib.h>

#define LOOKED_AT 8   /* of the last iterations */
#define SAME 1        /* numbers that differ by so much are one: the first or last iteration was cut */
#define AGREEMENT 0.5 /* share of the operations */

/* How often each operation of the process is called in an iteration. */
static void count_calls(const struct analysis *analysis, const struct worker *worker,
	const struct iteration *iteration, uint32_t *counts)
{
	const struct timeline *timeline = &analysis->timeline;
	const uint32_t first = timeline->processes[worker->process].first_operation;

	for (size_t i = iteration->first_call; i < iteration->call_end; i++)
		counts[timeline_call(timeline, worker->calls[i]).operation - first]++;
}

/* Marks the operations that each of the last usual iterations has once; false: there are no such iterations.
 */
static bool find_once(const struct analysis *analysis, const struct analysis_worker *worker, uint32_t *once)
{
	const uint32_t operations = analysis->timeline.processes[worker->worker->process].operation_count;
	const struct iteration_list *list = &worker->iterations;
	uint32_t *counts = mem_alloc(operations, sizeof(*counts));
	size_t looked_at = 0;

	for (size_t i = list->count; i > 0 && looked_at < LOOKED_AT; i--) {
		if (!list->items[i - 1].usual)
			continue;
		looked_at++;
		memset(counts, 0, operations * sizeof(*counts));
		count_calls(analysis, worker->worker, &list->items[i - 1], counts);
		for (uint32_t op = 0; op < operations; op++)
			once[op] += counts[op] == 1;
	}
	for (uint32_t op = 0; op < operations; op++)
		once[op] = looked_at > 0 && once[op] == looked_at;
	free(counts);
	return looked_at > 0;
}

static int by_number(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* The number that most of the values are, but for one up or down. */
static double most_frequent(double *values, size_t count)
{
	size_t best = 0, first = 0;
	double value = NAN;

	if (count > 1)
		qsort(values, count, sizeof(*values), by_number);
	for (size_t i = 0; i < count; i++) {
		while (values[i] - values[first] > SAME)
			first++;
		if (i + 1 - first > best) {
			best = i + 1 - first;
			value = values[first + (i - first) / 2];
		}
	}
	return (double)best >= AGREEMENT * (double)count ? value : NAN;
}

double analysis_iterations(const struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];
	const double there = (double)worker->iterations.count;
	double *values, dropped = NAN;
	uint32_t *once;
	size_t count = 0;

	if (!process->gap.calls)
		return there;
	once = mem_alloc(process->operation_count, sizeof(*once));
	values = mem_alloc(process->operation_count, sizeof(*values));
	if (find_once(analysis, worker, once)) {
		for (uint32_t op = 0; op < process->operation_count; op++)
			if (once[op])
				values[count++] = (double)process->gap.calls[op];
		dropped = most_frequent(values, count);
	}
	free(once);
	free(values);
	return there + dropped;
}
