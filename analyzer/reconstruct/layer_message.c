/* Messages between the stages of a pipeline, and the layers that they belong to. */
#include "layer_assign.h"

static bool has_layer(const struct layer_assign *assign, uint32_t step)
{
	return assign->layers[step] != LAYER_NONE &&
	       (assign->passes[step] == LAYER_FORWARD || assign->passes[step] == LAYER_BACKWARD);
}

/*
 * The layer at a cut of the network: what is sent was made by the layer's step before, what is received is
 * for its step after. GRAPH_NONE: a message of another iteration, known by its address alone.
 */
static uint32_t cut_layer(const struct layer_assign *assign, const struct flow *flow, uint32_t step)
{
	const struct graph *graph = &assign->graph;

	for (uint32_t n = 0; n < graph->step_count; n++) {
		bool sends = flow->access_count > 0 && !flow_writes(&flow->accesses[0]);
		uint32_t i = step == GRAPH_NONE ? n : sends ? step - 1 - n : step + 1 + n;
		const struct flow *other;

		if (i >= graph->step_count)
			break;
		other = graph_flow(graph, i);
		for (uint32_t j = 0; j < other->access_count && has_layer(assign, i); j++)
			if (flow_writes(&other->accesses[j]) == sends &&
				flow_meets(&flow->accesses[0], &other->accesses[j]))
				return assign->layers[i];
	}
	return LAYER_NONE;
}

/* A message to another rank, or from it: `step` GRAPH_NONE as above. */
struct layer_role layer_message_role(
	const struct layer_assign *assign, const struct flow *flow, uint32_t step)
{
	struct layer_role role = {
		.phase = PHASE_COMMUNICATION, .known = true, .reason = {.phase = LAYER_WHY_FUNCTION}};
	uint32_t layer = assign->followed && step != GRAPH_NONE ? assign->layers[step] : LAYER_NONE;

	/* the calls of libraries alone say so where it is not known what kernels of the program's work on */
	if (layer == LAYER_NONE)
		layer = cut_layer(assign, flow, step);

	/* What is sent may have been made in the iteration before. */
	if (layer == LAYER_NONE && step != GRAPH_NONE)
		layer = cut_layer(assign, flow, GRAPH_NONE);
	if (layer != LAYER_NONE) {
		layer_add_part(assign->list, &role, layer, 1);
		role.reason.layer = LAYER_WHY_CUT;
	}
	return role;
}

bool layer_is_message(const struct layer_assign *assign, uint32_t operation)
{
	uint64_t peer;

	return timeline_value(assign->timeline, &assign->timeline->operations[operation], "peer", &peer);
}

/* Are both the same but for addresses? */
static bool same_message(const struct timeline *timeline, uint32_t a, uint32_t b)
{
	const struct timeline_operation *first = &timeline->operations[a], *second = &timeline->operations[b];
	const struct timeline_function *function = &timeline->functions[first->function];

	if (first->function != second->function)
		return false;
	for (uint32_t i = 0; i < first->value_count; i++)
		if (function->labels[i].type != PM_VALUE_READS &&
			function->labels[i].type != PM_VALUE_WRITES && first->values[i] != second->values[i])
			return false;
	return true;
}

/* A message that the iteration does not show: as one that it does, to or from another place in memory. */
struct layer_role layer_other_message_role(const struct layer_assign *assign, uint32_t number)
{
	const struct graph *graph = &assign->graph;
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];

	for (uint32_t i = 0; i < graph->step_count; i++) {
		uint32_t other = graph->steps[i].operation;

		if (graph_flow(graph, i)->kind == PM_KIND_COMM &&
			same_message(assign->timeline, number, other))
			return assign->list->operation_roles[other - process->first_operation];
	}
	return layer_message_role(assign, &assign->model->flows[number], GRAPH_NONE);
}
