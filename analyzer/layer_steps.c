/*
 * The steps of an iteration into layers. Forward: a parameter read for the first time opens a layer, so do
 * pooling, dropout, softmax; what follows belongs to the layer whose result it works on. Backward: by the
 * parameter that is read, by the parameter whose gradient is written, by the tensors of the forward call, and
 * last by the chain of gradients: what a backward call writes is the gradient of what its forward call read.
 */
#include "layer_assign.h"

#include <stdlib.h>
#include <string.h>

/* At this address lies the gradient of what a forward step wrote. The newest entry counts. */
struct chain_item {
	uint64_t address;
	uint32_t step;
};

struct chain {
	struct chain_item *items;
	size_t count, room;
};

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
		uint64_t direction = 0, device;
		bool hits = false;

		if (flow->kind != PM_KIND_COPY)
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++)
			hits |= flow_writes(&flow->accesses[j]) &&
				flow->accesses[j].address < access->address + access->bytes &&
				access->address < flow->accesses[j].address + flow->accesses[j].bytes;
		if (!hits)
			continue;
		timeline_value(assign->timeline, operation, "dir", &direction);
		if (direction == 1 || timeline_value(assign->timeline, operation, "dst_device", &device))
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

/* The layer of a parameter that the step reads; *reads: whether it reads any. */
static uint32_t owner(const struct layer_assign *assign, uint32_t step, bool *reads)
{
	const struct flow *flow = flow_of(assign, step);
	uint32_t layer = LAYER_NONE;

	*reads = false;
	for (uint32_t i = 0; i < flow->access_count && layer == LAYER_NONE; i++) {
		uint32_t p = flow->accesses[i].mode == FLOW_READ
				     ? graph_parameter(&assign->graph, flow->accesses[i].address)
				     : GRAPH_NONE;

		if (p == GRAPH_NONE)
			continue;
		*reads = true;
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

static uint32_t forward_layer(struct layer_assign *assign, uint32_t step, uint32_t current)
{
	const char *kind = layer_kind(assign, step);
	uint32_t before = layer_data_producer(assign, step), layer;
	enum layer_special special;
	bool reads, scales;

	layer = owner(assign, step, &reads);
	if (reads) {
		scales = flow_of(assign, step)->shape == FLOW_SPREAD && layer_multiplies(assign, step);
		if (layer == LAYER_NONE && !scales && adds_to_result(assign, step))
			layer = before != GRAPH_NONE ? assign->layers[before] : current;
		if (layer == LAYER_NONE)
			layer = new_layer(assign, step, scales ? LAYER_IS_SCALE : LAYER_IS_PLAIN);
		own_parameters(assign, step, layer);
		return layer;
	}
	special = layer_special(assign, step, &layer);
	if (layer != LAYER_NONE)
		return layer;
	if (special == LAYER_IS_PLAIN && !kind && compares_with_target(assign, step))
		special = LAYER_IS_LOSS;
	if (kind || special) {
		layer = layer_earlier(assign, step);
		return layer != LAYER_NONE ? layer : new_layer(assign, step, special);
	}
	/* Elementwise work and the like: with what it works on; after a junction, with the later branch. */
	layer = before != GRAPH_NONE ? assign->layers[before] : LAYER_NONE;
	for (uint32_t i = 0; i < assign->graph.steps[step].edge_count; i++) {
		uint32_t other = assign->graph.edges[assign->graph.steps[step].first_edge + i].step;

		if (is_forward(assign, other) && assign->layers[other] != LAYER_NONE &&
			(layer == LAYER_NONE || assign->layers[other] > layer))
			layer = assign->layers[other];
	}
	return layer != LAYER_NONE ? layer : current;
}

/* ---- Backward ---- */

static uint32_t written_gradient(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count; i++) {
		const struct flow_access *access = &flow->accesses[i];

		for (uint32_t p = 0; p < assign->graph.parameter_count && flow_writes(access); p++) {
			uint64_t gradient = assign->graph.parameters[p].gradient;

			if (gradient && access->address <= gradient &&
				gradient < access->address + access->bytes)
				return p;
		}
	}
	return GRAPH_NONE;
}

/* "cudnnPooling" of "cudnnPoolingForward" and "cudnnPoolingBackward". */
static size_t stem_length(const char *name)
{
	const char *forward = strstr(name, "Forward"), *backward = strstr(name, "Backward");

	if (forward)
		return (size_t)(forward - name);
	return backward ? (size_t)(backward - name) : strlen(name);
}

static bool same_family(const struct layer_assign *assign, uint32_t a, uint32_t b)
{
	const char *first = layer_function(assign, a)->name, *second = layer_function(assign, b)->name;
	size_t length = stem_length(first);

	return stem_length(second) == length && strncmp(first, second, length) == 0;
}

static const struct flow_access *labelled(const struct flow *flow, const char *label)
{
	for (uint32_t i = 0; i < flow->access_count; i++)
		if (strcmp(flow->accesses[i].label, label) == 0)
			return &flow->accesses[i];
	return NULL;
}

/* The forward call of the same family that has the same x or y. */
static uint32_t partner(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);
	const struct flow_access *x = labelled(flow, "x_ptr"), *y = labelled(flow, "y_ptr");

	if (flow->kind != PM_KIND_BACKWARD || (!x && !y))
		return GRAPH_NONE;
	for (uint32_t i = step; i-- > 0;) {
		const struct flow_access *other_x, *other_y;

		if (!is_forward(assign, i) || !same_family(assign, step, i))
			continue;
		other_x = labelled(flow_of(assign, i), "x_ptr");
		other_y = labelled(flow_of(assign, i), "y_ptr");
		if (y ? other_y && y->address == other_y->address : other_x && x->address == other_x->address)
			return i;
	}
	return GRAPH_NONE;
}

static uint32_t chained(const struct layer_assign *assign, const struct chain *chain, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);

	for (size_t i = chain->count; i-- > 0;)
		for (uint32_t j = 0; j < flow->access_count; j++)
			if (flow->accesses[j].mode != FLOW_WRITE &&
				flow->accesses[j].address == chain->items[i].address)
				return chain->items[i].step;
	return GRAPH_NONE;
}

/* The newest forward step of a layer that reads parameters: the one that dx and dw are the gradients of. */
static uint32_t parameter_step(const struct layer_assign *assign, uint32_t layer, uint32_t step)
{
	bool reads;

	for (uint32_t i = step; i-- > 0;)
		if (is_forward(assign, i) && assign->layers[i] == layer && layer_kind(assign, i)) {
			owner(assign, i, &reads);
			if (reads && (flow_of(assign, i)->shape != FLOW_SPREAD ||
					     assign->specials[layer] == LAYER_IS_SCALE))
				return i;
		}
	return GRAPH_NONE;
}

static uint32_t last_unmatched(const struct layer_assign *assign, const bool *matched, uint32_t step)
{
	for (uint32_t i = step; i-- > 0;)
		if (is_forward(assign, i) && !matched[i] && same_family(assign, step, i))
			return i;
	return GRAPH_NONE;
}

/* Where no update tells which gradient is whose: the forward call of the same input, or of the same output's
 * gradient. */
static uint32_t by_operands(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);
	const struct flow_access *x = labelled(flow, "x_ptr"), *dy = labelled(flow, "dy_ptr");

	for (uint32_t i = step; i-- > 0;) {
		const struct flow_access *other = labelled(flow_of(assign, i), "x_ptr");

		if (x && is_forward(assign, i) && layer_kind(assign, i) && other &&
			other->address == x->address && assign->layers[i] != LAYER_NONE)
			return assign->layers[i];
	}
	for (uint32_t i = 0; i < assign->graph.step_count && dy; i++) {
		const struct flow_access *other = labelled(flow_of(assign, i), "dy_ptr");
		const struct flow_access *input = labelled(flow_of(assign, i), "x_ptr");

		if (!other || other->address != dy->address || !input || i == step ||
			!labelled(flow_of(assign, i), "dw_ptr"))
			continue;
		for (uint32_t j = i; j-- > 0;) {
			const struct flow_access *read = labelled(flow_of(assign, j), "x_ptr");

			if (is_forward(assign, j) && read && read->address == input->address)
				return assign->layers[j];
		}
	}
	return LAYER_NONE;
}

/* Notes what the step's results are the gradients of: the result of forward step `of`. */
static void extend_chain(const struct layer_assign *assign, struct chain *chain, uint32_t step, uint32_t of)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count && of != GRAPH_NONE; i++)
		if (flow_writes(&flow->accesses[i]) && flow->accesses[i].type == PM_VALUE_WRITES)
			*MEM_PUSH(chain->items, chain->count, chain->room) =
				(struct chain_item){flow->accesses[i].address, of};
}

static uint32_t backward_layer(
	struct layer_assign *assign, struct chain *chain, bool *matched, uint32_t step, uint32_t current)
{
	const struct flow *flow = flow_of(assign, step);
	uint32_t p = written_gradient(assign, step), layer, forward;
	bool reads;

	layer = owner(assign, step, &reads);
	if (p != GRAPH_NONE && assign->owners[p] != LAYER_NONE) {
		layer = assign->owners[p];
		reads = reads || labelled(flow, "dx_ptr");
	}
	if (layer != LAYER_NONE) {
		forward = parameter_step(assign, layer, step);
		if (reads && forward != GRAPH_NONE)
			extend_chain(assign, chain, step, layer_data_producer(assign, forward));
		return layer;
	}
	forward = partner(assign, step);
	if (forward == GRAPH_NONE)
		forward = chained(assign, chain, step);
	if (forward == GRAPH_NONE && flow->kind == PM_KIND_BACKWARD && !labelled(flow, "db_ptr") &&
		!labelled(flow, "dw_ptr"))
		forward = last_unmatched(assign, matched, step);
	if (forward != GRAPH_NONE && assign->layers[forward] != LAYER_NONE) {
		bool own = flow->kind == PM_KIND_BACKWARD;

		/* A gradient of an elementwise step is still the gradient of that step's result, unless it
		 * says more; so is that of an activation which is part of the step. */
		if (own && labelled(flow, "db_ptr") == NULL && labelled(flow, "dw_ptr") == NULL &&
			same_family(assign, step, forward)) {
			matched[forward] = true;
			extend_chain(assign, chain, step, layer_data_producer(assign, forward));
		} else {
			extend_chain(assign, chain, step, forward);
		}
		return assign->layers[forward];
	}
	layer = by_operands(assign, step);
	if (layer != LAYER_NONE)
		return layer;
	/* The loss's gradient: made of the last result. */
	forward = layer_data_producer(assign, step);
	if (forward != GRAPH_NONE && assign->layers[forward] != LAYER_NONE) {
		layer = assign->layers[forward];
		extend_chain(assign, chain, step,
			assign->specials[layer] == LAYER_IS_LOSS ? layer_data_producer(assign, forward)
								 : forward);
		return layer;
	}
	return current;
}

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
	bool *matched = mem_alloc(graph->step_count, sizeof(*matched));
	uint32_t current = LAYER_NONE;
	struct chain chain = {0};

	for (uint32_t i = 0; i < graph->step_count; i++) {
		assign->layers[i] = LAYER_NONE;
		if (assign->passes[i] == LAYER_FORWARD) {
			assign->layers[i] = forward_layer(assign, i, current);
			if (assign->layers[i] != LAYER_NONE)
				layer_add_activation(assign, assign->layers[i], i);
		} else if (assign->passes[i] == LAYER_BACKWARD) {
			assign->layers[i] = backward_layer(assign, &chain, matched, i, current);
		} else {
			continue;
		}
		if (assign->layers[i] != LAYER_NONE)
			current = assign->layers[i];
	}
	/* What prepares the input, before any layer, is the first layer's. */
	for (uint32_t i = 0; i < graph->step_count && assign->list->count > 0; i++)
		if (assign->layers[i] == LAYER_NONE &&
			(assign->passes[i] == LAYER_FORWARD || assign->passes[i] == LAYER_BACKWARD))
			assign->layers[i] = 0;
	count_parameters(assign);
	free(matched);
	free(chain.items);
}
