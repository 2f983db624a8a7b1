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

/* The numbers of the worker's used iterations, ascending; the caller frees them. */
static int64_t *list_numbers(const struct analysis *analysis, const struct analysis_worker *worker)
{
	int64_t *numbers = mem_alloc(worker->used_count, sizeof(*numbers));

	for (size_t i = 0; i < worker->used_count; i++)
		numbers[i] = analysis_number(analysis, worker, worker->used[i]);
	qsort(numbers, worker->used_count, sizeof(*numbers), compare_numbers);
	return numbers;
}

/* Those that all workers have, ascending: `count` of them, which the caller frees. */
static int64_t *list_common(const struct analysis *analysis, size_t *count)
{
	int64_t *common = list_numbers(analysis, &analysis->workers[0]);

	*count = analysis->workers[0].used_count;
	for (size_t w = 1; w < analysis->worker_count; w++) {
		const size_t number_count = analysis->workers[w].used_count, before = *count;
		int64_t *numbers = list_numbers(analysis, &analysis->workers[w]);

		*count = 0;
		for (size_t i = 0, at = 0; i < before; i++) {
			while (at < number_count && numbers[at] < common[i])
				at++;
			if (at < number_count && numbers[at] == common[i])
				common[(*count)++] = common[i];
		}
		free(numbers);
	}
	return common;
}

/* All iterations are there, so that their order numbers them. */
static bool is_whole(const struct analysis *analysis, const struct analysis_worker *worker)
{
	return analysis->timeline.processes[worker->worker->process].window_count == 0;
}

void analysis_meet(struct analysis *analysis)
{
	bool any_untimed = false;
	int64_t *common;
	size_t common_count;

	for (size_t w = 0; w < analysis->worker_count; w++)
		any_untimed |= analysis->workers[w].iterations.counts[ITERATION_UNTIMED] > 0;
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (!is_numbered(analysis, &analysis->workers[w]) && !analysis->workers[w].pace.count &&
			!(any_untimed && is_whole(analysis, &analysis->workers[w])))
			return;
	if (analysis->worker_count < 2)
		return;
	common = list_common(analysis, &common_count);
	for (size_t w = 0; w < analysis->worker_count && common_count; w++) {
		struct analysis_worker *worker = &analysis->workers[w];
		size_t kept = 0;

		for (size_t i = 0; i < worker->used_count; i++) {
			const int64_t number = analysis_number(analysis, worker, worker->used[i]);

			if (bsearch(&number, common, common_count, sizeof(number), compare_numbers))
				worker->used[kept++] = worker->used[i];
		}
		worker->used_count = kept;
	}
	free(common);
}
