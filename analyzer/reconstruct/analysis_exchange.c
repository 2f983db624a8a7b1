/* Runs that exchange and do not train, as benchmarks of collectives: see analysis.h. */
#include "analysis.h"
#include "sequence.h"
#include "timeline/constants.h"

#include <stdlib.h>

static bool is_computation(enum pm_kind kind)
{
	return kind == PM_KIND_FORWARD || kind == PM_KIND_BACKWARD || kind == PM_KIND_COMPUTE;
}

/* Does a call of any operation compute for a library, or update by its name? */
static bool trains(const struct timeline *timeline)
{
	bool *seen = mem_alloc(timeline->operation_count, sizeof(*seen)), found = false;

	for (size_t i = 0; i < timeline->call_count && !found; i++) {
		const uint32_t number = timeline_call(timeline, (uint32_t)i).operation;
		const struct timeline_operation *operation = &timeline->operations[number];

		if (seen[number])
			continue;
		seen[number] = true;
		found = is_computation(timeline->functions[operation->function].kind) ||
			(sequence_label(timeline, operation) & SEQUENCE_UPDATE);
	}
	free(seen);
	return found;
}

/* Are there marks of steps, or is one found? */
static bool has_steps(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->timeline.process_count; i++)
		if (analysis->timeline.processes[i].recorder)
			return true; /* other profilers' */
	for (size_t i = 0; i < analysis->worker_count; i++) {
		const struct analysis_worker *worker = &analysis->workers[i];

		if (worker->layers.is_step || worker->iterations.source == ITERATION_BY_USER ||
			worker->iterations.source == ITERATION_BY_OPTIMIZER ||
			worker->iterations.source == ITERATION_BY_STEPS)
			return true;
	}
	return false;
}

static bool mostly_exchanges(const struct timeline *timeline)
{
	double all_ns = 0, exchange_ns = 0;
	size_t exchanges = 0;

	for (size_t i = 0; i < timeline->call_count; i++) {
		const struct timeline_call call = timeline_call(timeline, (uint32_t)i);
		const double ns = timeline_device_ns(timeline, &call);

		all_ns += ns;
		if (timeline_function(timeline, &call)->kind == PM_KIND_COMM) {
			exchange_ns += ns;
			exchanges++;
		}
	}
	return exchanges >= EXCHANGE_LEAST && 2 * exchange_ns >= all_ns;
}

/* What trains is told by its first calls; the others are few. */
bool analysis_exchanges_only(const struct timeline *timeline)
{
	return !trains(timeline) && mostly_exchanges(timeline);
}

bool analysis_is_communication(const struct analysis *analysis)
{
	return analysis->only_exchanges && !has_steps(analysis);
}
