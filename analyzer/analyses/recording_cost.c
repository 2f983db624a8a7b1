/* What the recording itself cost: see recording_cost.h. */
#include "recording_cost.h"

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

/* Calls of the used iterations of the first worker, in the mean, and their time, in the median. */
static void find_step(const struct analysis *analysis, struct recording_cost *cost)
{
	const struct timeline *timeline = &analysis->timeline;
	const struct analysis_worker *worker = analysis->workers;
	const struct timeline_process *process;
	double calls = 0;

	if (analysis->worker_count == 0 || worker->used_count == 0)
		return;
	process = &timeline->processes[worker->worker->process];
	for (size_t i = 0; i < worker->used_count; i++) {
		const struct iteration *item = &worker->iterations.items[worker->used[i]];

		calls += (double)(timeline_find(timeline, process, item->end_ns) -
				  timeline_find(timeline, process, item->begin_ns));
	}
	cost->calls = calls / (double)worker->used_count;
	cost->step_ns = analysis_iteration(worker, 1).median;
}

void recording_cost_find(const struct analysis *analysis, struct recording_cost *cost)
{
	*cost = (struct recording_cost){.calls = NAN, .step_ns = NAN, .share = NAN};
	add_up(&analysis->timeline, cost);
	if (cost->processes == 0)
		return;
	find_step(analysis, cost);
	cost->share = cost->calls * cost->call_ns / cost->step_ns;
}
