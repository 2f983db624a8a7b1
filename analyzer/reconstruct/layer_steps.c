/*
 * The steps of an iteration into layers. Forward: a parameter read for the first time opens a layer, so do
 * pooling, dropout, softmax; what follows belongs to the layer whose result it works on. Backward steps:
 * layer_backward.c.
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

bool layer_is_input(const struct layer_assign *assign, const struct flow_access *access)
{
	const struct graph *graph = &assign->graph;

	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct flow *flow = graph_flow(graph, i);
		const struct timeline_operation *operation =
			&assign->timeline->operations[graph->steps[i].operation];
		uint64_t device;
		bool hits = false;

		if (flow->kind != PM_KIND_COPY)
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++)
			hits |= flow_writes(&flow->accesses[j]) && flow_meets(&flow->accesses[j], access);
		if (!hits)
			continue;
		if (timeline_direction(assign->timeline, operation) == PM_DIRECTION_H2D ||
			timeline_value(assign->timeline, operation, "dst_device", &device))
			return true;
		for (uint32_t j = 0; j < graph->steps[i].edge_count; j++)
			if (graph_flow(graph, graph->edges[graph->steps[i].first_edge + j].step)->kind ==
				PM_KIND_COPY)
				return true;
	}
	return false;
}

static uint32_t new_layer(struct layer_assign *assign, uint32_t step, enum layer_special special)
{
	struct layer_list *list = assign->list;
	uint32_t number = (uint32_t)list->count;

	*MEM_PUSH(list->items, list->count, list->room) = (struct layer){0};
	assign->specials =
		mem_grow(assign->specials, number, &assign->special_room, sizeof(*assign->specials));
	assign->specials[number] = special;
	layer_describe(assign, number, step);
	return number;
}

uint32_t layer_new(struct layer_assign *assign, uint32_t step)
{
	return new_layer(assign, step, LAYER_IS_PLAIN);
}

static void own_parameters(struct layer_assign *assign, uint32_t step, uint32_t layer)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count; i++) {
		uint32_t p = flow->accesses[i].mode == FLOW_READ
				     ? graph_parameter(&assign->graph, flow->accesses[i].address)
				     : GRAPH_NONE;

		if (p != GRAPH_NONE && assign->owners[p] == LAYER_NONE)
			assign->owners[p] = layer;
	}
}

uint32_t layer_owner(const struct layer_assign *assign, uint32_t step, uint64_t *parameter)
{
	const struct flow *flow = flow_of(assign, step);
	uint32_t layer = LAYER_NONE;

	*parameter = 0;
	for (uint32_t i = 0; i < flow->access_count && layer == LAYER_NONE; i++) {
		uint32_t p = flow->accesses[i].mode == FLOW_READ
				     ? graph_parameter(&assign->graph, flow->accesses[i].address)
				     : GRAPH_NONE;

		if (p == GRAPH_NONE)
			continue;
		*parameter = flow->accesses[i].address;
		layer = assign->owners[p];
	}
	return layer;
}

/* A bias: added to the result of a forward step. */
static bool adds_to_result(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count; i++)
		if (flow->accesses[i].mode == FLOW_KEEP && layer_producer(assign, step, i) != GRAPH_NONE)
			return true;
	return flow->shape == FLOW_SPREAD && layer_data_producer(assign, step) != GRAPH_NONE;
}

static bool compares_with_target(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);
	bool target = false;

	if (flow->kind != PM_KIND_COMPUTE || flow->shape == FLOW_PRODUCT ||
		layer_data_producer(assign, step) == GRAPH_NONE)
		return false;
	for (uint32_t i = 0; i < flow->access_count; i++)
		target |= flow->accesses[i].mode == FLOW_READ &&
			  graph_parameter(&assign->graph, flow->accesses[i].address) == GRAPH_NONE &&
			  layer_is_input(assign, &flow->accesses[i]);
	return target;
}

/* A forward step; current: the layer of the step before it. */
struct going_forward {
	struct layer_assign *assign;
	uint32_t step, current;
};

RULE_SEARCH(forward, uint32_t, LAYER_NONE, struct going_forward, context->assign->rule)

/* Each answers the layer of a forward step and notes why, or LAYER_NONE. */

static uint32_t by_parameter(struct going_forward *going)
{
	struct layer_assign *assign = going->assign;
	const uint32_t step = going->step;
	const uint32_t before = layer_data_producer(assign, step);
	uint64_t parameter;
	uint32_t layer = layer_owner(assign, step, &parameter);
	bool scales;

	if (!parameter)
		return LAYER_NONE;
	layer_by(assign, step, LAYER_WHY_PARAMETER, GRAPH_NONE, parameter);
	scales = flow_of(assign, step)->shape == FLOW_SPREAD && layer_multiplies(assign, step);
	if (layer == LAYER_NONE && !scales && adds_to_result(assign, step))
		layer = before != GRAPH_NONE ? assign->layers[before] : going->current;
	if (layer == LAYER_NONE)
		layer = new_layer(assign, step, scales ? LAYER_IS_SCALE : LAYER_IS_PLAIN);
	own_parameters(assign, step, layer);
	return layer;
}

static uint32_t by_repetition(struct going_forward *going)
{
	struct layer_assign *assign = going->assign;
	const uint32_t step = going->step;
	const uint32_t again = layer_repeated(assign, step);

	if (again == GRAPH_NONE)
		return LAYER_NONE;
	layer_by(assign, step, LAYER_WHY_SAME, again, 0);
	return assign->layers[again];
}

static uint32_t by_earlier(struct going_forward *going)
{
	const uint32_t layer = layer_earlier(going->assign, going->step);

	if (layer != LAYER_NONE)
		layer_by(going->assign, going->step, LAYER_WHY_SAME, GRAPH_NONE, 0);
	return layer;
}

/* A layer of its own, or that of the step that did the same to another micro-batch. */
static uint32_t open_layer(struct going_forward *going, enum layer_special special)
{
	static const struct forward_rule earlier = {RULE_FORWARD_EARLIER, by_earlier};
	const uint32_t layer = forward_apply(&earlier, going);

	if (layer != LAYER_NONE)
		return layer;
	layer_by(going->assign, going->step, LAYER_WHY_OPENS, GRAPH_NONE, 0);
	return new_layer(going->assign, going->step, special);
}

static uint32_t by_special(struct going_forward *going)
{
	struct layer_assign *assign = going->assign;
	const uint32_t step = going->step;
	uint32_t layer;
	const enum layer_special special = layer_special(assign, step, &layer);

	if (layer == LAYER_NONE)
		return special ? open_layer(going, special) : LAYER_NONE;
	layer_by(assign, step, LAYER_WHY_OPENS, GRAPH_NONE, 0);
	return layer;
}

static uint32_t by_kind(struct going_forward *going)
{
	return layer_kind(going->assign, going->step) ? open_layer(going, LAYER_IS_PLAIN) : LAYER_NONE;
}

static uint32_t by_target(struct going_forward *going)
{
	return compares_with_target(going->assign, going->step) ? open_layer(going, LAYER_IS_LOSS)
								: LAYER_NONE;
}

/* Elementwise work and the like: with what it works on; after a junction, with the later branch. */
static uint32_t by_source(struct going_forward *going)
{
	struct layer_assign *assign = going->assign;
	const uint32_t step = going->step;
	const uint32_t before = layer_data_producer(assign, step);
	uint32_t layer = before != GRAPH_NONE ? assign->layers[before] : LAYER_NONE;

	layer_by(assign, step, LAYER_WHY_SOURCE, before, 0);
	for (uint32_t i = 0; i < assign->graph.steps[step].edge_count; i++) {
		const uint32_t other = assign->graph.edges[assign->graph.steps[step].first_edge + i].step;

		if (is_forward(assign, other) && assign->layers[other] != LAYER_NONE &&
			(layer == LAYER_NONE || assign->layers[other] > layer)) {
			layer = assign->layers[other];
			layer_by(assign, step, LAYER_WHY_SOURCE, other, 0);
		}
	}
	return layer;
}

/* Nothing else tells. */
static uint32_t by_step_before(struct going_forward *going)
{
	layer_by(going->assign, going->step, LAYER_WHY_PREVIOUS, GRAPH_NONE, 0);
	return going->current;
}

static const struct forward_rule forward_rules[] = {
	{RULE_FORWARD_PARAMETER, by_parameter},
	{RULE_FORWARD_REPEATED, by_repetition},
	{RULE_FORWARD_SPECIAL, by_special},
	{RULE_FORWARD_KIND, by_kind},
	{RULE_FORWARD_TARGET, by_target},
	{RULE_FORWARD_SOURCE, by_source},
	{RULE_FORWARD_PREVIOUS, by_step_before},
};

/* The program's module at what tells a step's layer: the parameter that decided, or the library's call that
 * reads it; else, of a launch, the first address that was seen in a module. NULL: none is known. */
static const char *module_of(const struct layer_assign *assign, uint32_t step)
{
	const struct timeline *timeline = assign->timeline;
	const struct timeline_process *process = &timeline->processes[assign->worker->process];
	const uint64_t parameter = assign->reasons[step].address;
	const char *module = NULL;
	size_t count;
	const struct timeline_touch *touches;

	if (parameter) {
		module = timeline_module_at(process, parameter);
		return module ? module : timeline->operations[assign->graph.steps[step].operation].module;
	}
	touches = layer_touches(assign, assign->graph.steps[step].call, &count);
	for (size_t i = 0; i < count && !module; i++)
		module = timeline_module_at(process, touches[i].address);
	return module;
}

/*
 * A module may launch kernels of its own before it uses its parameters: batch normalization counts batches.
 * Where nothing but the order gave such a step the layer of another module, it is of the step after it.
 */
static void place_by_module(struct layer_assign *assign)
{
	for (uint32_t i = assign->graph.step_count; i-- > 1;) {
		const uint32_t next = i + 1;
		uint32_t told = i; /* the step whose layer was carried on to this one */
		const char *own, *others;

		if (next == assign->graph.step_count || !is_forward(assign, i) || !is_forward(assign, next) ||
			assign->reasons[i].layer != LAYER_WHY_PREVIOUS ||
			assign->reasons[next].layer != LAYER_WHY_PARAMETER)
			continue;
		while (told > 0 && assign->reasons[told].layer == LAYER_WHY_PREVIOUS)
			told--;
		own = module_of(assign, i);
		others = own ? module_of(assign, next) : NULL;
		if (!others || strcmp(own, others) != 0)
			continue;
		others = module_of(assign, told);
		if (!others || strcmp(own, others) == 0)
			continue;
		assign->layers[i] = assign->layers[next];
		layer_by(assign, i, LAYER_WHY_MODULE, next, 0);
	}
}

/* What prepares the input, before any layer, is the first layer's. */
static void place_leading(struct layer_assign *assign)
{
	for (uint32_t i = 0; i < assign->graph.step_count && assign->list->count > 0; i++)
		if (assign->layers[i] == LAYER_NONE &&
			(assign->passes[i] == LAYER_FORWARD || assign->passes[i] == LAYER_BACKWARD)) {
			assign->layers[i] = 0;
			layer_by(assign, i, LAYER_WHY_FIRST, GRAPH_NONE, 0);
		}
}

RULE_SEQUENCE(order, struct layer_assign, context->rule)

/* Of what the steps themselves have not told. */
static const struct order_rule order_rules[] = {
	{RULE_FORWARD_MODULE, place_by_module},
	{RULE_FORWARD_FIRST, place_leading},
};

static void count_parameters(struct layer_assign *assign)
{
	for (uint32_t p = 0; p < assign->graph.parameter_count; p++) {
		uint32_t layer = assign->owners[p];

		if (layer != LAYER_NONE)
			assign->list->items[layer].parameter_bytes += assign->graph.parameters[p].bytes;
	}
}

void layer_steps(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	struct layer_gradients gradients = {
		.matched = mem_alloc(graph->step_count, sizeof(*gradients.matched))};
	uint32_t current = LAYER_NONE;

	for (uint32_t i = 0; i < graph->step_count; i++) {
		assign->layers[i] = LAYER_NONE;
		if (assign->passes[i] == LAYER_FORWARD) {
			struct going_forward going = {assign, i, current};

			assign->layers[i] = forward_first(RULE_TABLE(forward_rules), &going);
			if (assign->layers[i] != LAYER_NONE)
				layer_add_activation(assign, assign->layers[i], i);
		} else if (assign->passes[i] == LAYER_BACKWARD) {
			assign->layers[i] = layer_backward(assign, &gradients, i, current);
		} else {
			layer_receive_gradient(assign, &gradients, i);
			continue;
		}
		if (assign->layers[i] != LAYER_NONE)
			current = assign->layers[i];
	}
	order_each(RULE_TABLE(order_rules), assign);
	count_parameters(assign);
	free(gradients.matched);
	free(gradients.items);
}
