/*
 * How much of the computing time the framework says phase and layer of: the strength of tables by layer,
 * which is not that of iterations.
 */
#include "layer_framework.h"
#include "timeline/constants.h"
#include "timeline/timeline_range.h"

bool layer_computes(enum pm_kind kind)
{
	return kind == PM_KIND_LAUNCH || kind == PM_KIND_COMPUTE || kind == PM_KIND_FORWARD ||
	       kind == PM_KIND_BACKWARD;
}

/* Copies are work too where they are of a pass. */
static bool is_work(const struct layer_assign *assign, uint32_t step)
{
	const enum pm_kind kind = graph_flow(&assign->graph, step)->kind;

	return layer_computes(kind) ||
	       ((kind == PM_KIND_COPY || kind == PM_KIND_SET) && assign->said && assign->said[step] &&
		       (assign->passes[step] == LAYER_FORWARD || assign->passes[step] == LAYER_BACKWARD));
}

static double time_of(const struct layer_assign *assign, uint32_t step)
{
	const struct timeline_call call = timeline_call(assign->timeline, assign->graph.steps[step].call);

	return is_work(assign, step) ? timeline_device_ns(assign->timeline, &call) : 0;
}

bool layer_is_mostly_said(const struct layer_assign *assign)
{
	double all_ns = 0, said_ns = 0;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const double ns = time_of(assign, i);

		all_ns += ns;
		said_ns += assign->said[i] ? ns : 0;
	}
	return all_ns > 0 && said_ns >= RUN_SURE * all_ns;
}

/* Is the role that a call goes by of any layer? order: in the gap. */
static bool is_of_layer(
	const struct layer_assign *assign, uint32_t operation, const struct layer_gap *gap, uint32_t order)
{
	const struct layer_role *role =
		layer_beside_role(assign->list, (uint32_t)gap->core, operation, order);

	if (!role)
		role = &assign->list->operation_roles[operation -
						      assign->timeline->processes[assign->worker->process]
							      .first_operation];
	return role->part_count > 0;
}

/* Of work of a pass, where there are layers: is it known of which it is? */
static bool has_layer(const struct layer_assign *assign, uint32_t step, struct layer_gap *gap)
{
	const uint32_t operation = assign->graph.steps[step].operation;
	const uint32_t flags = assign->model->roles[operation].flags;
	const uint32_t order = flags & WORKER_BESIDE ? layer_gap_order(gap, operation) : LAYER_ANY;

	if (assign->list->count == 0 || assign->passes[step] == LAYER_AFTER ||
		assign->passes[step] == LAYER_EVALUATION)
		return true;
	return assign->layers[step] != LAYER_NONE &&
	       ((flags & WORKER_CORE) || is_of_layer(assign, operation, gap, order));
}

void layer_note_said(struct layer_assign *assign)
{
	double all_ns = 0, ns_by[LAYER_SAID + 1] = {0};
	struct layer_gap gap = {0};

	for (uint32_t i = 0; assign->said && i < assign->graph.step_count; i++) {
		const double ns = time_of(assign, i);

		all_ns += ns;
		ns_by[has_layer(assign, i, &gap) ? assign->said[i] : LAYER_NOT_SAID] += ns;
		if (assign->model->roles[assign->graph.steps[i].operation].flags & WORKER_CORE)
			layer_gap_pass(&gap);
	}
	if (all_ns > 0) {
		assign->list->told = ns_by[LAYER_SAID] / all_ns;
		assign->list->followed = ns_by[LAYER_FOLLOWED] / all_ns;
	}
}

size_t layer_told_iteration(
	const struct layer_assign *assign, const struct iteration_list *iterations, size_t iteration)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	const struct iteration *item = &iterations->items[iteration];

	if (timeline_operators_recorded(process, item->begin_ns, item->end_ns))
		return iteration;
	for (size_t i = 0; i < iterations->count; i++) {
		item = &iterations->items[i];
		if (item->usual && timeline_operators_recorded(process, item->begin_ns, item->end_ns))
			return i;
	}
	return iteration;
}
