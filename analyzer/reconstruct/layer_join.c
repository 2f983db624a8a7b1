/*
 * Who made what a forward step works on, and from it which layers have no parameters of their own to be known
 * by: sums of two branches, attention without weights; and which step does again, for another micro-batch,
 * what an earlier one did.
 */
#include "layer_assign.h"
#include "timeline/constants.h"

#include <string.h>

static const struct flow *flow_of(const struct layer_assign *assign, uint32_t step)
{
	return graph_flow(&assign->graph, step);
}

static bool is_forward(const struct layer_assign *assign, uint32_t step)
{
	return step != GRAPH_NONE && assign->passes[step] == LAYER_FORWARD;
}

uint32_t layer_producer(const struct layer_assign *assign, uint32_t step, uint32_t access)
{
	const struct graph_step *item = &assign->graph.steps[step];

	for (uint32_t i = 0; i < item->edge_count; i++) {
		const struct graph_edge *edge = &assign->graph.edges[item->first_edge + i];

		if (edge->access == access && is_forward(assign, edge->step))
			return edge->step;
	}
	return GRAPH_NONE;
}

static bool is_parameter(const struct layer_assign *assign, const struct flow_access *access)
{
	return access->type == PM_VALUE_WEIGHT ||
	       graph_parameter(&assign->graph, access->address) != GRAPH_NONE;
}

uint32_t layer_data_producer(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count; i++) {
		uint32_t found;

		if (flow->accesses[i].mode == FLOW_WRITE || is_parameter(assign, &flow->accesses[i]))
			continue;
		found = layer_producer(assign, step, i);
		if (found != GRAPH_NONE)
			return found;
	}
	return GRAPH_NONE;
}

/* Was it received, from another stage of the network? */
static bool is_received(const struct layer_assign *assign, uint32_t step, uint32_t access)
{
	const struct graph_step *item = &assign->graph.steps[step];

	for (uint32_t i = 0; i < item->edge_count; i++) {
		const struct graph_edge *edge = &assign->graph.edges[item->first_edge + i];

		if (edge->access == access && flow_of(assign, edge->step)->kind == PM_KIND_COMM)
			return layer_is_message(assign, assign->graph.steps[edge->step].operation);
	}
	return false;
}

/* Operands that other layers' forward steps made, of at least `bytes`; what was received is another layer's.
 */
static uint32_t count_branches(const struct layer_assign *assign, uint32_t step, uint64_t bytes)
{
	const struct flow *flow = flow_of(assign, step);
	uint32_t count = 0, first = LAYER_NONE;

	for (uint32_t i = 0; i < flow->access_count; i++) {
		uint32_t from;

		if (flow->accesses[i].mode == FLOW_WRITE || flow->accesses[i].bytes < bytes ||
			is_parameter(assign, &flow->accesses[i]))
			continue;
		from = layer_producer(assign, step, i);
		if (from == GRAPH_NONE) {
			count += is_received(assign, step, i);
			continue;
		}
		if (assign->layers[from] == LAYER_NONE || assign->layers[from] == first)
			continue;
		first = assign->layers[from];
		count++;
	}
	return count;
}

bool layer_multiplies(const struct layer_assign *assign, uint32_t step)
{
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	uint64_t number;

	return timeline_value(assign->timeline, operation, "op", &number) &&
	       number < assign->timeline->descriptor_count &&
	       assign->timeline->descriptors[number].kind == PM_DESCRIPTOR_OP_TENSOR &&
	       assign->timeline->descriptors[number].value_count > 0 &&
	       assign->timeline->descriptors[number].values[0] == 1; /* the vendor's number */
}

/* Element by element of two branches of the network that meet here. */
static bool is_sum(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);
	uint64_t written = 0;

	if (flow->kind != PM_KIND_COMPUTE || flow->shape != FLOW_ELEMENTWISE)
		return false;
	for (uint32_t i = 0; i < flow->access_count; i++)
		if (flow_writes(&flow->accesses[i]) && flow->accesses[i].bytes > written)
			written = flow->accesses[i].bytes;
	return count_branches(assign, step, written) >= 2;
}

/* The attention that made what the step works on, a few steps before it. */
static uint32_t attention_before(const struct layer_assign *assign, uint32_t step, unsigned depth)
{
	const struct flow *flow = flow_of(assign, step);

	for (uint32_t i = 0; i < flow->access_count && depth > 0; i++) {
		uint32_t from =
			flow->accesses[i].mode == FLOW_WRITE ? GRAPH_NONE : layer_producer(assign, step, i);
		uint32_t found;

		if (from == GRAPH_NONE || assign->layers[from] == LAYER_NONE)
			continue;
		if (assign->specials[assign->layers[from]] == LAYER_IS_ATTENTION)
			return assign->layers[from];
		if (assign->model->roles[assign->graph.steps[from].operation].flags & WORKER_READS)
			continue;
		found = attention_before(assign, from, depth - 1);
		if (found != LAYER_NONE)
			return found;
	}
	return LAYER_NONE;
}

/* A product of data by data. */
static bool is_attention(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);
	uint32_t made = 0;

	for (uint32_t i = 0; i < flow->access_count; i++)
		made += flow->accesses[i].mode == FLOW_READ && layer_producer(assign, step, i) != GRAPH_NONE;
	return flow->kind == PM_KIND_COMPUTE && flow->shape == FLOW_PRODUCT && made >= 2;
}

enum layer_special layer_special(const struct layer_assign *assign, uint32_t step, uint32_t *layer)
{
	*layer = LAYER_NONE;
	if (is_attention(assign, step)) {
		*layer = attention_before(assign, step, NEAR_CALLS);
		return LAYER_IS_ATTENTION;
	}
	if (layer_function(assign, step)->facts.role == PM_ROLE_SOFTMAX) {
		*layer = attention_before(assign, step, NEAR_CALLS / 2);
		return *layer == LAYER_NONE ? LAYER_IS_PLAIN : LAYER_IS_ATTENTION;
	}
	return is_sum(assign, step) ? LAYER_IS_SUM : LAYER_IS_PLAIN;
}

bool layer_same_description(const struct layer_assign *assign, uint32_t a, uint32_t b)
{
	const struct timeline_operation
		*first = &assign->timeline->operations[assign->graph.steps[a].operation],
		*second = &assign->timeline->operations[assign->graph.steps[b].operation];
	const struct timeline_function *function = &assign->timeline->functions[first->function];

	if (first->function != second->function)
		return false;
	for (uint32_t i = 0; i < first->value_count; i++)
		if ((function->labels[i].type == PM_VALUE_DESCRIPTOR ||
			    function->labels[i].type == PM_VALUE_INT) &&
			first->values[i] != second->values[i])
			return false;
	return true;
}

/* Does `b` work on what other executions of the same layers made as `a` does? */
static bool same_sources(const struct layer_assign *assign, uint32_t a, uint32_t b)
{
	const struct flow *first = flow_of(assign, a), *second = flow_of(assign, b);
	bool again = false, writes_same = false;

	if (first->access_count != second->access_count)
		return false;
	for (uint32_t i = 0; i < first->access_count; i++) {
		const struct flow_access *one = &first->accesses[i], *two = &second->accesses[i];
		uint32_t from, other;

		writes_same |= flow_writes(one) && one->address == two->address;
		if (one->mode == FLOW_WRITE)
			continue;
		from = layer_producer(assign, a, i);
		other = layer_producer(assign, b, i);
		if ((from == GRAPH_NONE) != (other == GRAPH_NONE))
			return false;
		if (from == GRAPH_NONE) {
			again |= one->address != two->address;
			continue;
		}
		if (assign->layers[from] != assign->layers[other])
			return false;
		again |= from != other;
	}
	return again || writes_same;
}

uint32_t layer_earlier(const struct layer_assign *assign, uint32_t step)
{
	for (uint32_t i = step; i-- > 0;)
		if (is_forward(assign, i) && assign->layers[i] != LAYER_NONE &&
			layer_same_description(assign, i, step) && same_sources(assign, i, step))
			return assign->layers[i];
	return LAYER_NONE;
}

bool layer_same_family(const struct layer_assign *assign, uint32_t a, uint32_t b)
{
	const struct timeline_function *first = layer_function(assign, a),
				       *second = layer_function(assign, b);

	return first == second ||
	       (first->facts.role != PM_ROLE_NONE && first->facts.role == second->facts.role &&
		       (first->kind != PM_KIND_COMPUTE || second->kind != PM_KIND_COMPUTE));
}

const struct flow_access *layer_labelled(const struct flow *flow, const char *label)
{
	for (uint32_t i = 0; i < flow->access_count; i++)
		if (strcmp(flow->accesses[i].label, label) == 0)
			return &flow->accesses[i];
	return NULL;
}

uint32_t layer_repeated(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = flow_of(assign, step);
	const struct flow_access *dy = layer_labelled(flow, "dy_ptr"), *dx = layer_labelled(flow, "dx_ptr");

	if (flow->kind != PM_KIND_BACKWARD || !dy || !dx)
		return GRAPH_NONE;
	for (uint32_t i = step; i-- > 0;) {
		const struct flow_access *x, *y;

		if (!is_forward(assign, i) || !layer_same_family(assign, step, i))
			continue;
		x = layer_labelled(flow_of(assign, i), "x_ptr");
		y = layer_labelled(flow_of(assign, i), "y_ptr");
		if (x && y && x->address == dy->address && y->address == dx->address)
			return i;
	}
	return GRAPH_NONE;
}
