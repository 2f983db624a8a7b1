/* The calls of an iteration, with their roles: see analysis.h. */
#include "analysis.h"

struct analysis_walk analysis_walk(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration)
{
	return (struct analysis_walk){.analysis = analysis,
		.worker = worker,
		.iteration = iteration,
		.next = worker->iterations.items[iteration].first_call,
		.interval = UINT32_MAX};
}

bool analysis_next(struct analysis_walk *at)
{
	const struct worker_model *model = &at->analysis->model;
	const struct worker *worker = at->worker->worker;

	if (at->next == at->worker->iterations.items[at->iteration].call_end)
		return false;
	at->number = worker->calls[at->next++];
	at->call = timeline_call(&at->analysis->timeline, at->number);
	at->role =
		phase_role(model, worker, &at->worker->layers, at->iteration, &at->gap, at->call.operation);
	at->is_shared = at->call.interval_count && at->call.interval == at->interval;
	if (at->call.interval_count)
		at->interval = at->call.interval;
	return true;
}
