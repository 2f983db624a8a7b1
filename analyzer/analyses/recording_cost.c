/* What the recording itself cost: see recording_cost.h. */
#include "recording_cost.h"
#include "step.h"

#include <math.h>
#include <stdlib.h>

static void add_up(const struct timeline *timeline, struct recording_cost *cost)
{
	double calls = 0;

	for (size_t i = 0; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];

		if (!process->own_ns || process->run_ns <= 0)
			continue;
		cost->own_ns += (double)process->own_ns;
		cost->new_ns += (double)process->new_ns;
		cost->elapsed |= process->new_ns && !process->new_on_processor;
		cost->run_ns += (double)process->run_ns;
		cost->processes++;
		calls += (double)process->own_calls;
	}
	cost->call_ns = calls > 0 ? cost->own_ns / calls : NAN;
}

/* Calls of the used iterations of the first worker, in the mean, and the time of a step as all commands have
 * it. */
static void find_step(const struct analysis *analysis, struct recording_cost *cost)
{
	const struct timeline *timeline = &analysis->timeline;
	const struct analysis_worker *worker = analysis->workers;
	const struct timeline_process *process;
	struct step step;
	double calls = 0;

	if (analysis->worker_count == 0 || worker->used_count == 0)
		return;
	process = &timeline->processes[worker->worker->process];
	for (size_t i = 0; i < worker->used_count; i++) {
		const struct iteration *item = &worker->iterations.items[worker->used[i]];

		calls += (double)(timeline_find(timeline, process, item->end_ns) -
				  timeline_find(timeline, process, item->begin_ns));
		for (size_t r = item->first_read; r < item->read_end; r++)
			calls -=
				timeline_function(timeline, TIMELINE_CALL(timeline, worker->worker->reads[r]))
					->is_range;
	}
	cost->calls = calls / (double)worker->used_count;
	step_find(analysis, &step);
	cost->step_ns = step.median_ns;
	step_free(&step);
}

static int by_value(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* The share of each pair of stretches: by how much less time a call of the program takes without recording.
 */
static size_t list_pairs(const struct timeline_process *process, double *shares)
{
	size_t count = 0;

	for (size_t i = 0; i + 1 < process->turn_count; i += 2) {
		const struct timeline_turn *with = &process->turns[i], *without = with + 1;

		if (with->is_recorded && !without->is_recorded && with->calls > 0 && without->calls > 0 &&
			with->ns > 0)
			shares[count++] = 1 - without->ns / without->calls / (with->ns / with->calls);
	}
	return count;
}

/* Over the pairs of all processes. */
static void find_measured(const struct timeline *timeline, struct recording_cost *cost)
{
	size_t room = 0;
	double *shares;

	for (size_t i = 0; i < timeline->process_count; i++)
		room += timeline->processes[i].turn_count / 2;
	shares = mem_alloc(room + 1, sizeof(*shares));
	for (size_t i = 0; i < timeline->process_count; i++)
		cost->pairs += list_pairs(&timeline->processes[i], shares + cost->pairs);
	if (cost->pairs > 0) {
		qsort(shares, cost->pairs, sizeof(*shares), by_value);
		cost->measured = shares[cost->pairs / 2];
		cost->measured_low = shares[cost->pairs / 4];
		cost->measured_high = shares[cost->pairs * 3 / 4];
	}
	free(shares);
}

void recording_cost_find(const struct analysis *analysis, struct recording_cost *cost)
{
	*cost = (struct recording_cost){.calls = NAN, .step_ns = NAN, .share = NAN};
	add_up(&analysis->timeline, cost);
	if (cost->processes == 0)
		return;
	find_step(analysis, cost);
	find_measured(&analysis->timeline, cost);
	cost->share = cost->calls * cost->call_ns / cost->step_ns;
}
