/*
 * Forward or backward. Many calls say it themselves: cuDNN's by their function, products by the parameter
 * they read for the first time (forward) or the gradient they write (backward). The calls between two of the
 * same kind are of that kind; what lies between the last forward and the first backward one is decided by who
 * uses its result. Where the thread of the backward pass is known it tells all but what the calls say
 * themselves.
 */
#include "layer_assign.h"
#include "rule.h"
#include "trace/trace.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

/* How a step reads a parameter: through which operand, transposed or not. */
struct manner {
	bool seen;
	uint32_t access;
	uint64_t transposed;
};

static uint64_t transposition(const struct layer_assign *assign, uint32_t step)
{
	return flow_manner(
		assign->timeline, &assign->timeline->operations[assign->graph.steps[step].operation]);
}

static bool writes_gradient(const struct layer_assign *assign, uint32_t step)
{
	const struct flow *flow = graph_flow(&assign->graph, step);

	for (uint32_t i = 0; i < flow->access_count; i++) {
		const struct flow_access *access = &flow->accesses[i];

		if (!flow_writes(access))
			continue;
		for (size_t p = 0; p < assign->graph.parameter_count; p++) {
			uint64_t gradient = assign->graph.parameters[p].gradient;

			if (flow_holds(access, gradient))
				return true;
		}
	}
	return false;
}

static void set_anchor(struct layer_assign *assign, uint32_t step, enum layer_pass pass, enum layer_rule rule)
{
	assign->passes[step] = pass;
	layer_pass_by(assign, step, rule);
	assign->anchors[step] = true;
}

/* Is what the step works on made by a backward step? Elementwise steps between say nothing of their own. */
static bool follows_backward(const struct layer_assign *assign, uint32_t step, unsigned depth)
{
	const struct graph *graph = &assign->graph;

	for (uint32_t i = 0; i < graph->steps[step].edge_count && depth > 0; i++) {
		uint32_t before = graph->edges[graph->steps[step].first_edge + i].step;

		if (graph->steps[before].update)
			continue;
		if (assign->anchors[before]) {
			if (assign->passes[before] == LAYER_BACKWARD)
				return true;
		} else if (graph_flow(graph, before)->kind == PM_KIND_COMPUTE &&
			   follows_backward(assign, before, depth - 1)) {
			return true;
		}
	}
	return false;
}

static void find_anchors(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	struct manner *manners = mem_alloc(graph->parameter_count, sizeof(*manners));

	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct flow *flow = graph_flow(graph, i);

		if (graph->steps[i].update)
			continue;
		if (rule_is_on(RULE_PASS_FUNCTION) &&
			(flow->kind == PM_KIND_FORWARD || flow->kind == PM_KIND_BACKWARD)) {
			bool forward =
				flow->kind == PM_KIND_FORWARD || layer_repeated(assign, i) != GRAPH_NONE;

			set_anchor(assign, i, forward ? LAYER_FORWARD : LAYER_BACKWARD, LAYER_RULE_FUNCTION);
			continue;
		}
		if (flow->kind != PM_KIND_COMPUTE)
			continue;
		if (rule_is_on(RULE_PASS_GRADIENT) && writes_gradient(assign, i)) {
			set_anchor(assign, i, LAYER_BACKWARD, LAYER_RULE_GRADIENT);
			continue;
		}
		for (uint32_t j = 0; j < flow->access_count && !assign->anchors[i] && rule_is_on(RULE_PASS_MANNER); j++) {
			uint32_t p = flow->accesses[j].mode == FLOW_READ
					     ? graph_parameter(graph, flow->accesses[j].address)
					     : GRAPH_NONE;
			struct manner *manner;
			bool forward;

			if (p == GRAPH_NONE)
				continue;
			manner = &manners[p];
			if (!manner->seen)
				*manner = (struct manner){true, j, transposition(assign, i)};
			/* A factor for each element is read forward and backward alike. */
			forward = manner->access == j && manner->transposed == transposition(assign, i) &&
				  !(flow->shape == FLOW_SPREAD && follows_backward(assign, i, NEAR_CALLS));
			set_anchor(assign, i, forward ? LAYER_FORWARD : LAYER_BACKWARD, LAYER_RULE_MANNER);
		}
	}
	free(manners);
}

/* Can it be forward or backward at all, by its kind? */
static bool is_open(const struct layer_assign *assign, uint32_t step)
{
	enum pm_kind kind = graph_flow(&assign->graph, step)->kind;
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];

	if (assign->graph.steps[step].update)
		return false;
	if (kind == PM_KIND_COPY)
		return timeline_copies_within(assign->timeline, operation);
	return kind == PM_KIND_COMPUTE || kind == PM_KIND_LAUNCH;
}

/* Between the last forward and the first backward anchor: [from, to). */
static void split_loss(struct layer_assign *assign, uint32_t from, uint32_t to)
{
	const struct graph *graph = &assign->graph;

	for (uint32_t i = to; i-- > from;) {
		bool used_backward = false, fetched = false;

		if (assign->anchors[i] || !is_open(assign, i))
			continue;
		for (uint32_t j = 0; j < graph->steps[i].user_count; j++) {
			uint32_t user = graph->users[graph->steps[i].first_user + j];
			const struct timeline_operation *operation =
				&assign->timeline->operations[graph->steps[user].operation];

			/* Fetched before the backward pass begins, it is a result: the loss, the prediction.
			 */
			fetched |= graph_flow(graph, user)->kind == PM_KIND_COPY && user < to &&
				   timeline_direction(assign->timeline, operation) == PM_DIRECTION_D2H;
			used_backward |= assign->passes[user] == LAYER_BACKWARD;
		}
		/* A kernel of the application's own does not say what it writes: the loss's gradient, most
		 * likely. */
		if (graph_flow(graph, i)->kind == PM_KIND_LAUNCH)
			used_backward = true;
		assign->passes[i] = used_backward && !fetched ? LAYER_BACKWARD : LAYER_FORWARD;
		layer_pass_by(assign, i, LAYER_RULE_USED);
	}
}

/*
 * After the last anchor, which is backward: products and sums there still make gradients, where no update
 * tells so; what follows them is elementwise, or a kernel of the application's own, and updates.
 */
static void fill_end(struct layer_assign *assign, uint32_t from)
{
	const struct graph *graph = &assign->graph;
	enum layer_pass pass = LAYER_AFTER;

	for (uint32_t i = graph->step_count; i-- > from;) {
		enum flow_shape shape = graph_flow(graph, i)->shape;

		if (!is_open(assign, i))
			continue;
		if (shape == FLOW_PRODUCT || shape == FLOW_REDUCE)
			pass = LAYER_BACKWARD;
		assign->passes[i] = pass;
		layer_pass_by(assign, i, LAYER_RULE_AFTER_GRADIENTS);
	}
}

/*
 * A convolution that is transposed goes forward by the function of a backward pass, and back by that of a
 * forward pass; the latter is not what is computed again, which Python calls.
 */
static bool is_transposed(const struct layer_assign *assign, uint32_t step, enum layer_pass pass)
{
	const enum trace_python python =
		assign->timeline->operations[assign->graph.steps[step].operation].python;

	return (assign->passes[step] == LAYER_BACKWARD && pass == LAYER_FORWARD) ||
	       (assign->passes[step] == LAYER_FORWARD && pass == LAYER_BACKWARD &&
		       python == TRACE_PYTHON_NONE);
}

/* All of it, where threads tell; else false. */
static bool pass_by_threads(struct layer_assign *assign)
{
	enum layer_pass *passes = mem_alloc(assign->graph.step_count, sizeof(*passes));
	const bool told = layer_thread_passes(assign, passes);

	for (uint32_t i = 0; i < assign->graph.step_count && told; i++)
		if (assign->reasons[i].phase == LAYER_RULE_FUNCTION ? is_transposed(assign, i, passes[i])
								    : is_open(assign, i))
			set_anchor(assign, i, passes[i], LAYER_RULE_THREAD);
	free(passes);
	return told;
}

void layer_passes(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	enum layer_pass before = LAYER_UNKNOWN;
	uint32_t last = 0; /* after the last anchor */

	find_anchors(assign);
	if (rule_is_on(RULE_PASS_THREADS) && pass_by_threads(assign))
		return;
	for (uint32_t i = 0; i <= graph->step_count; i++) {
		enum layer_pass here = LAYER_UNKNOWN;

		if (i < graph->step_count) {
			if (!assign->anchors[i])
				continue;
			here = assign->passes[i];
		}
		if (before == LAYER_FORWARD && here == LAYER_BACKWARD) {
			if (rule_is_on(RULE_PASS_USED))
				split_loss(assign, last, i);
		} else if (before == LAYER_BACKWARD && here == LAYER_UNKNOWN) {
			if (rule_is_on(RULE_PASS_END))
				fill_end(assign, last);
		} else if (rule_is_on(RULE_PASS_BETWEEN)) {
			enum layer_pass fill = before == LAYER_UNKNOWN ? here : before;

			for (uint32_t j = last; j < i; j++)
				if (is_open(assign, j)) {
					assign->passes[j] = fill;
					layer_pass_by(assign, j, LAYER_RULE_BETWEEN);
				}
		}
		before = here;
		last = i + 1;
	}
}
