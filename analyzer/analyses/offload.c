/* Copies from the host that are no input: see offload.h. */
#include "offload.h"
#include "timeline/thresholds.h"

#include <math.h>

static double device_ns(const struct timeline *timeline, const struct timeline_call *call)
{
	double ns = 0;

	for (uint32_t i = 0; i < call->interval_count; i++)
		ns += (double)(timeline_interval(timeline, call->interval + i).end_ns -
			       timeline_interval(timeline, call->interval + i).begin_ns);
	return ns;
}

static void add_copy(const struct analysis *analysis, const struct timeline_call *call, bool computed,
	struct offload *offload)
{
	const struct timeline_operation *operation = &analysis->timeline.operations[call->operation];
	const double ns = device_ns(&analysis->timeline, call);
	const enum pm_direction direction = timeline_direction(&analysis->timeline, operation);
	uint64_t bytes = 0;

	if (analysis->timeline.functions[operation->function].kind != PM_KIND_COPY)
		return;
	if (direction == PM_DIRECTION_H2D) {
		timeline_value(&analysis->timeline, operation, "bytes", &bytes);
		offload->bytes += (double)bytes;
		offload->count++;
		offload->to_ns += ns;
		offload->late_ns += computed ? ns : 0;
		offload->late_count += computed;
	} else if (direction == PM_DIRECTION_D2H) {
		offload->from_ns += ns;
	}
}

static void add_iteration(const struct analysis *analysis, const struct analysis_worker *worker,
	size_t number, struct offload *offload)
{
	const struct iteration *item = &worker->iterations.items[number];
	bool computed = false;

	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call =
			TIMELINE_CALL(&analysis->timeline, worker->worker->calls[i]);

		add_copy(analysis, call, computed, offload);
		computed |= (analysis->model.roles[call->operation].flags & WORKER_CORE) != 0;
	}
}

bool offload_find(
	const struct analysis *analysis, const struct analysis_worker *worker, struct offload *offload)
{
	const double count = (double)worker->used_count;
	double step_ns, least = INFINITY, most = 0;

	*offload = (struct offload){0};
	if (worker->used_count == 0)
		return false;
	for (size_t i = 0; i < worker->used_count; i++) {
		const double before = offload->bytes;

		add_iteration(analysis, worker, worker->used[i], offload);
		least = fmin(least, offload->bytes - before);
		most = fmax(most, offload->bytes - before);
	}
	offload->bytes /= count;
	offload->count /= count;
	offload->to_ns /= count;
	offload->from_ns /= count;
	offload->late_ns /= count;
	offload->late_count /= count;
	step_ns = analysis_iteration(worker, 1).mean;
	if (offload->to_ns < FINDING_LEAST * step_ns)
		return false;
	offload->returns =
		offload->from_ns >= fmax(FINDING_LEAST * step_ns, OFFLOAD_RETURNS * offload->to_ns);
	offload->spread = offload->late_ns >= MOSTLY * offload->to_ns && offload->late_count >= OFFLOAD_MANY;
	offload->large = worker->used_count > 1 && least >= OFFLOAD_LARGE &&
			 most - least <= OFFLOAD_ALIKE * most && offload->count >= OFFLOAD_MANY;
	return offload->returns || offload->spread || offload->large;
}
