/*
 * Which iterations of the workers are used together. Where the program numbers its steps, iterations of
 * different workers are one iteration of the job if their numbers are the same; so ranks whose recordings
 * begin at different steps are not set against each other by order. Likewise where steps have numbers since
 * not all of them were read (pace.h). Else the collectives have settled the order.
 */
#include "analysis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The numbered step that most of the iteration lies in; -1: none. */
static int64_t step_number(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration)
{
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];
	const struct timeline_step *steps = analysis->timeline.steps + process->first_step;
	const struct iteration *item = &worker->iterations.items[iteration];
	int64_t most_ns = 0, number = -1;
	size_t low = 0, high = process->step_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps[middle].end_ns <= item->begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < process->step_count && steps[low].begin_ns < item->end_ns; low++) {
		int64_t begin_ns =
			steps[low].begin_ns > item->begin_ns ? steps[low].begin_ns : item->begin_ns;
		int64_t end_ns = steps[low].end_ns < item->end_ns ? steps[low].end_ns : item->end_ns;

		if (end_ns - begin_ns > most_ns) {
			most_ns = end_ns - begin_ns;
			number = steps[low].number;
		}
	}
	return number;
}

static bool is_numbered(const struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];

	if (worker->iterations.source != ITERATION_BY_STEPS)
		return false;
	for (uint32_t i = 0; i < process->step_count; i++)
		if (analysis->timeline.steps[process->first_step + i].number < 0)
			return false;
	return process->step_count > 0;
}

int64_t analysis_number(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration)
{
	if (is_numbered(analysis, worker))
		return step_number(analysis, worker, iteration);
	if (worker->pace.count)
		return (int64_t)pace_number(&worker->pace, &analysis->timeline, worker->worker,
			&worker->iterations.items[iteration]);
	return (int64_t)iteration;
}

bool analysis_choose(struct analysis *analysis, int64_t first, int64_t last, const char **error)
{
	for (int change = 0; change < 2; change++)
		for (size_t w = 0; w < analysis->worker_count; w++) {
			struct analysis_worker *worker = &analysis->workers[w];
			size_t kept = 0;

			for (size_t i = 0; i < worker->used_count; i++) {
				int64_t number = analysis_number(analysis, worker, worker->used[i]);

				if (number < first || number > last)
					continue;
				if (change)
					worker->used[kept] = worker->used[i];
				kept++;
			}
			if (kept == 0) {
				*error = arena_format(&analysis->timeline.arena,
					"--steps: %s has no usual iteration with a number from %" PRId64
					" to %" PRId64 " (it has %" PRId64 " to %" PRId64 ")",
					analysis_worker_name(analysis, worker), first, last,
					analysis_number(analysis, worker, worker->used[0]),
					analysis_number(
						analysis, worker, worker->used[worker->used_count - 1]));
				return false;
			}
			if (change)
				worker->used_count = kept;
		}
	analysis->is_chosen = true;
	return true;
}

static int compare_numbers(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/* How many of the workers' lists of numbers have each number; by worker in `numbers`, ascending. */
static bool all_have(const struct analysis *analysis, int64_t *const *numbers, int64_t number)
{
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (!bsearch(&number, numbers[w], analysis->workers[w].used_count, sizeof(number),
			    compare_numbers))
			return false;
	return true;
}

/* All iterations are there, so that their order numbers them. */
static bool is_whole(const struct analysis *analysis, const struct analysis_worker *worker)
{
	return analysis->timeline.processes[worker->worker->process].window_count == 0;
}

void analysis_meet(struct analysis *analysis)
{
	bool any_untimed = false;
	int64_t **numbers;
	size_t common = 0;

	for (size_t w = 0; w < analysis->worker_count; w++)
		any_untimed |= analysis->workers[w].iterations.counts[ITERATION_UNTIMED] > 0;
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (!is_numbered(analysis, &analysis->workers[w]) && !analysis->workers[w].pace.count &&
			!(any_untimed && is_whole(analysis, &analysis->workers[w])))
			return;
	if (analysis->worker_count < 2)
		return;
	numbers = mem_alloc(analysis->worker_count, sizeof(*numbers));
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		numbers[w] = mem_alloc(worker->used_count, sizeof(**numbers));
		for (size_t i = 0; i < worker->used_count; i++)
			numbers[w][i] = analysis_number(analysis, worker, worker->used[i]);
		qsort(numbers[w], worker->used_count, sizeof(**numbers), compare_numbers);
	}
	for (size_t i = 0; i < analysis->workers[0].used_count; i++)
		common += all_have(analysis, numbers, numbers[0][i]);
	for (size_t w = 0; w < analysis->worker_count && common; w++) {
		struct analysis_worker *worker = &analysis->workers[w];
		size_t kept = 0;

		for (size_t i = 0; i < worker->used_count; i++)
			if (all_have(analysis, numbers, analysis_number(analysis, worker, worker->used[i])))
				worker->used[kept++] = worker->used[i];
		worker->kept = kept;
	}
	for (size_t w = 0; w < analysis->worker_count; w++) {
		if (common)
			analysis->workers[w].used_count = analysis->workers[w].kept;
		free(numbers[w]);
	}
	free(numbers);
}
