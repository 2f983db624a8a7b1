/* Copies from the host that are no input: see offload.h. */
#include "offload.h"

#include <math.h>

#define RETURNS \
	0.3 /* of the time to the device: gradients of half the size, weights that are gathered twice */
#define SPREAD 0.5 /* likewise */
#define MANY 4     /* copies in a step */
#define LARGE 1e9  /* bytes in a step */
#define ALIKE 0.01 /* of them, between steps */
#define LEAST 0.01 /* of an iteration: results that are fetched may take as long as a small batch */

enum direction { TO_DEVICE = 1, FROM_DEVICE };

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
	uint64_t direction = 0, bytes = 0;

	if (analysis->timeline.functions[operation->function].kind != PM_KIND_COPY ||
		!timeline_value(&analysis->timeline, operation, "dir", &direction))
		return;
	if (direction == TO_DEVICE) {
		timeline_value(&analysis->timeline, operation, "bytes", &bytes);
		offload->bytes += (double)bytes;
		offload->count++;
		offload->to_ns += ns;
		offload->late_ns += computed ? ns : 0;
		offload->late_count += computed;
	} else if (direction == FROM_DEVICE) {
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
	if (offload->to_ns < LEAST * step_ns)
		return false;
	offload->returns = offload->from_ns >= fmax(LEAST * step_ns, RETURNS * offload->to_ns);
	offload->spread = offload->late_ns >= SPREAD * offload->to_ns && offload->late_count >= MANY;
	offload->large = worker->used_count > 1 && least >= LARGE && most - least <= ALIKE * most &&
			 offload->count >= MANY;
	return offload->returns || offload->spread || offload->large;
}
