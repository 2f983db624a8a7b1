/*
 * Backward steps into layers: by the parameter that is read, by the parameter whose gradient is written, by
 * the tensors of the forward call, and last by the chain of gradients: what a backward call writes is the
 * gradient of what its forward call read.
 */
#include "layer_assign.h"

#include <stdlib.h>
#include <string.h>

static const struct flow *flow_of(const struct layer_assign *assign, uint32_t step)
{
	return graph_flow(&assign->graph, step);
}

static bool is_forward(const struct layer_assign *assign, uint32_t step)
{
	return step != GRAPH_NONE && assign->passes[step] == LAYER_FORWARD;
}

static uint32_t written_gradient(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count; i++) {
		const struct flow_access *access = &flow->accesses[i];

		for (uint32_t p = 0; p < assign->graph.parameter_count && flow_writes(access); p++) {
			uint64_t gradient = assign->graph.parameters[p].gradient;

			if (flow_holds(access, gradient))
				return p;
		}
	}
	return GRAPH_NONE;
}

/* The forward call of the same family that has the same x or y. */
static uint32_t partner(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);
	const struct flow_access *x = layer_labelled(flow, "x_ptr"), *y = layer_labelled(flow, "y_ptr");

	if (flow->kind != PM_KIND_BACKWARD || (!x && !y))
		return GRAPH_NONE;
	for (uint32_t i = step; i-- > 0;) {
		const struct flow_access *other_x, *other_y;

		if (!is_forward(assign, i) || !layer_same_family(assign, step, i))
			continue;
		other_x = layer_labelled(flow_of(assign, i), "x_ptr");
		other_y = layer_labelled(flow_of(assign, i), "y_ptr");
		if (y ? other_y && y->address == other_y->address : other_x && x->address == other_x->address)
			return i;
	}
	return GRAPH_NONE;
}

/* The backward step that wrote what `step` reads through this access. */
static uint32_t backward_writer(const struct layer_assign *assign, uint32_t step, uint32_t access)
{
	const struct graph_step *item = &assign->graph.steps[step];

	for (uint32_t i = 0; i < item->edge_count; i++) {
		const struct graph_edge *edge = &assign->graph.edges[item->first_edge + i];

		if (edge->access == access && assign->passes[edge->step] == LAYER_BACKWARD)
			return edge->step;
	}
	return GRAPH_NONE;
}

/* A step with what is known of gradients before it. */
struct going_back {
	struct layer_assign *assign;
	struct layer_gradients *gradients;
	uint32_t step, current; /* current: the layer of the step before it */
};

RULE_SEARCH(backward, uint32_t, LAYER_NONE, struct going_back, context->assign->rule)

/*
 * Of a step that adds one gradient to another, for a backward call that could not add to what was there: the
 * layer of that call, whose result nothing else reads. Where calls can add, the sum is in the call.
 */
static uint32_t by_addend(struct going_back *back)
{
	const struct layer_assign *assign = back->assign;
	const struct flow *flow = flow_of(assign, back->step);
	uint32_t last = GRAPH_NONE, count = 0;

	if (flow->kind != PM_KIND_COMPUTE || flow->shape != FLOW_ELEMENTWISE ||
		layer_multiplies(assign, back->step))
		return LAYER_NONE;
	for (uint32_t i = 0; i < flow->access_count; i++) {
		uint32_t writer;

		if (flow->accesses[i].mode == FLOW_WRITE)
			continue;
		writer = backward_writer(assign, back->step, i);
		if (writer == GRAPH_NONE)
			return LAYER_NONE;
		count++;
		if (flow->accesses[i].mode == FLOW_READ && assign->graph.steps[writer].user_count == 1 &&
			(last == GRAPH_NONE || writer > last))
			last = writer;
	}
	if (count != 2 || last == GRAPH_NONE || assign->layers[last] == LAYER_NONE)
		return LAYER_NONE;
	layer_by(back->assign, back->step, LAYER_WHY_ADDEND, GRAPH_NONE, 0);
	return assign->layers[last];
}

static uint32_t chained(
	const struct layer_assign *assign, const struct layer_gradients *gradients, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);

	for (size_t i = gradients->count; i-- > 0;)
		for (uint32_t j = 0; j < flow->access_count; j++)
			if (flow->accesses[j].mode != FLOW_WRITE &&
				flow->accesses[j].address == gradients->items[i].address)
				return gradients->items[i].step;
	return GRAPH_NONE;
}

/* The newest forward step of a layer that reads parameters: the one that dx and dw are the gradients of. */
static uint32_t parameter_step(const struct layer_assign *assign, uint32_t layer, uint32_t step)
{
	uint64_t parameter;

	for (uint32_t i = step; i-- > 0;)
		if (is_forward(assign, i) && assign->layers[i] == layer && layer_kind(assign, i)) {
			layer_owner(assign, i, &parameter);
			if (parameter && (flow_of(assign, i)->shape != FLOW_SPREAD ||
						 assign->specials[layer] == LAYER_IS_SCALE))
				return i;
		}
	return GRAPH_NONE;
}

static uint32_t last_unmatched(const struct layer_assign *assign, const bool *matched, uint32_t step)
{
	for (uint32_t i = step; i-- > 0;)
		if (is_forward(assign, i) && !matched[i] && layer_same_family(assign, step, i))
			return i;
	return GRAPH_NONE;
}

/* Notes what the step's results are the gradients of: the result of forward step `of`. */
static void extend_chain(
	const struct layer_assign *assign, struct layer_gradients *gradients, uint32_t step, uint32_t of)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count && of != GRAPH_NONE; i++)
		if (flow_writes(&flow->accesses[i]) && flow->accesses[i].type == PM_VALUE_WRITES)
			*MEM_PUSH(gradients->items, gradients->count, gradients->room) =
				(struct layer_gradient){flow->accesses[i].address, of};
}

/* Of a function that goes back to the data alone, not to weights or a bias. */
static bool is_of_data(const struct flow *flow)
{
	return flow->kind == PM_KIND_BACKWARD && !layer_labelled(flow, "db_ptr") && !layer_labelled(flow, "dw_ptr");
}

/* Each answers the layer of the step and notes why and what its results are the gradients of, or LAYER_NONE. */

static uint32_t by_parameter(struct going_back *back)
{
	struct layer_assign *assign = back->assign;
	const uint32_t step = back->step, p = written_gradient(assign, step);
	uint64_t parameter;
	uint32_t layer = layer_owner(assign, step, &parameter), forward;
	bool reads = parameter != 0;

	layer_by(assign, step, LAYER_WHY_PARAMETER, GRAPH_NONE, parameter);
	if (p != GRAPH_NONE && assign->owners[p] != LAYER_NONE) {
		layer = assign->owners[p];
		reads = reads || layer_labelled(flow_of(assign, step), "dx_ptr");
		layer_by(assign, step, LAYER_WHY_GRADIENT, GRAPH_NONE, assign->graph.parameters[p].address);
	}
	if (layer == LAYER_NONE || !reads)
		return layer;
	forward = parameter_step(assign, layer, step);
	if (forward != GRAPH_NONE)
		extend_chain(assign, back->gradients, step, layer_data_producer(assign, forward));
	return layer;
}

/* The layer of the forward step that the step belongs to, by a rule. */
static uint32_t partner_layer(struct going_back *back, uint32_t forward, enum layer_why why)
{
	static const struct backward_rule addend = {RULE_BACKWARD_ADDEND, by_addend};
	struct layer_assign *assign = back->assign;
	uint32_t layer;

	if (forward == GRAPH_NONE || assign->layers[forward] == LAYER_NONE)
		return LAYER_NONE;
	layer_by(assign, back->step, why, forward, 0);
	if (is_of_data(flow_of(assign, back->step)) && layer_same_family(assign, back->step, forward)) {
		back->gradients->matched[forward] = true;
		extend_chain(assign, back->gradients, back->step, layer_data_producer(assign, forward));
		return assign->layers[forward];
	}
	/* A gradient of an elementwise step is still the gradient of that step's result, unless it says more;
	 * so is that of an activation which is part of the step. */
	layer = backward_apply(&addend, back);
	extend_chain(assign, back->gradients, back->step, forward);
	return layer != LAYER_NONE ? layer : assign->layers[forward];
}

static uint32_t by_partner(struct going_back *back)
{
	return partner_layer(back, partner(back->assign, back->step), LAYER_WHY_PARTNER);
}

static uint32_t by_chain(struct going_back *back)
{
	return partner_layer(back, chained(back->assign, back->gradients, back->step), LAYER_WHY_CHAIN);
}

static uint32_t by_family(struct going_back *back)
{
	if (!is_of_data(flow_of(back->assign, back->step)))
		return LAYER_NONE;
	return partner_layer(
		back, last_unmatched(back->assign, back->gradients->matched, back->step), LAYER_WHY_PARTNER);
}

/* The loss's gradient: made of the last result. */
static uint32_t by_result(struct going_back *back)
{
	struct layer_assign *assign = back->assign;
	const uint32_t forward = layer_data_producer(assign, back->step);
	const uint32_t layer = forward != GRAPH_NONE ? assign->layers[forward] : LAYER_NONE;

	if (layer == LAYER_NONE)
		return LAYER_NONE;
	layer_by(assign, back->step, LAYER_WHY_SOURCE, forward, 0);
	extend_chain(assign, back->gradients, back->step,
		assign->specials[layer] == LAYER_IS_LOSS ? layer_data_producer(assign, forward) : forward);
	return layer;
}

/* Nothing else tells. */
static uint32_t by_step_before(struct going_back *back)
{
	layer_by(back->assign, back->step, LAYER_WHY_PREVIOUS, GRAPH_NONE, 0);
	return back->current;
}

static const struct backward_rule backward_rules[] = {
	{RULE_BACKWARD_PARAMETER, by_parameter},
	{RULE_BACKWARD_PARTNER, by_partner},
	{RULE_BACKWARD_CHAIN, by_chain},
	{RULE_BACKWARD_LOSS, by_result},
	{RULE_BACKWARD_UNMATCHED, by_family},
	{RULE_BACKWARD_PREVIOUS, by_step_before},
};

uint32_t layer_backward(
	struct layer_assign *assign, struct layer_gradients *gradients, uint32_t step, uint32_t current)
{
	struct going_back back = {assign, gradients, step, current};

	return backward_first(RULE_TABLE(backward_rules), &back);
}

/* The forward step that made what was sent last to the rank that this message comes from. */
static uint32_t sent_before(const struct layer_assign *assign, uint32_t step, uint64_t bytes)
{
	const struct timeline *timeline = assign->timeline;
	const struct graph_step *steps = assign->graph.steps;
	uint64_t from, to;

	if (!timeline_value(timeline, &timeline->operations[steps[step].operation], "peer", &from))
		return GRAPH_NONE;
	for (uint32_t i = step; i-- > 0;) {
		const struct flow *flow = flow_of(assign, i);

		if (flow->kind == PM_KIND_COMM && flow->access_count == 1 &&
			flow->accesses[0].mode == FLOW_READ && flow->accesses[0].bytes == bytes &&
			timeline_value(timeline, &timeline->operations[steps[i].operation], "peer", &to) &&
			to == from && layer_producer(assign, i, 0) != GRAPH_NONE)
			return layer_producer(assign, i, 0);
	}
	return GRAPH_NONE;
}

void layer_receive_gradient(
	const struct layer_assign *assign, struct layer_gradients *gradients, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);

	if (flow->kind != PM_KIND_COMM || flow->access_count != 1 || !flow_writes(&flow->accesses[0]))
		return;
	extend_chain(assign, gradients, step, sent_before(assign, step, flow->accesses[0].bytes));
}
