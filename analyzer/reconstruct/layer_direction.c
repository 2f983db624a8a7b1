/*
 * Forward or backward. Many calls say it themselves: cuDNN's by their function, products by the parameter
 * they read for the first time (forward) or the gradient they write (backward). The calls between two of the
 * same kind are of that kind; what lies between the last forward and the first backward one is decided by who
 * uses its result. Where the thread of the backward pass is known it tells all but what the calls say
 * themselves.
 */
#include "layer_assign.h"
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

static void set_anchor(struct layer_assign *assign, uint32_t step, enum layer_pass pass, enum layer_why why)
{
	assign->passes[step] = pass;
	layer_pass_by(assign, step, why);
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

/* A step that is looked at for a pass of its own. */
struct anchoring {
	struct layer_assign *assign;
	struct manner *manners; /* by parameter: of the first step that reads it */
	uint32_t step;
};

RULE_SEARCH(anchor, bool, false, struct anchoring, context->assign->rule)

static bool anchor_function(struct anchoring *at)
{
	const enum pm_kind kind = graph_flow(&at->assign->graph, at->step)->kind;
	bool forward;

	if (kind != PM_KIND_FORWARD && kind != PM_KIND_BACKWARD)
		return false;
	forward = kind == PM_KIND_FORWARD || layer_repeated(at->assign, at->step) != GRAPH_NONE;
	set_anchor(at->assign, at->step, forward ? LAYER_FORWARD : LAYER_BACKWARD, LAYER_WHY_FUNCTION);
	return true;
}

static bool anchor_gradient(struct anchoring *at)
{
	if (graph_flow(&at->assign->graph, at->step)->kind != PM_KIND_COMPUTE ||
		!writes_gradient(at->assign, at->step))
		return false;
	set_anchor(at->assign, at->step, LAYER_BACKWARD, LAYER_WHY_GRADIENT);
	return true;
}

/* By the first parameter that the step reads: forward as the first step does that reads it. */
static bool anchor_manner(struct anchoring *at)
{
	const struct graph *graph = &at->assign->graph;
	const struct flow *flow = graph_flow(graph, at->step);
	const uint64_t transposed = transposition(at->assign, at->step);

	for (uint32_t j = 0; j < flow->access_count && flow->kind == PM_KIND_COMPUTE; j++) {
		const uint32_t p = flow->accesses[j].mode == FLOW_READ
					   ? graph_parameter(graph, flow->accesses[j].address)
					   : GRAPH_NONE;
		struct manner *manner;
		bool forward;

		if (p == GRAPH_NONE)
			continue;
		manner = &at->manners[p];
		if (!manner->seen)
			*manner = (struct manner){true, j, transposed};
		/* A factor for each element is read forward and backward alike. */
		forward = manner->access == j && manner->transposed == transposed &&
			  !(flow->shape == FLOW_SPREAD && follows_backward(at->assign, at->step, NEAR_CALLS));
		set_anchor(at->assign, at->step, forward ? LAYER_FORWARD : LAYER_BACKWARD, LAYER_WHY_MANNER);
		return true;
	}
	return false;
}

static const struct anchor_rule anchor_rules[] = {
	{RULE_PASS_FUNCTION, anchor_function},
	{RULE_PASS_GRADIENT, anchor_gradient},
	{RULE_PASS_MANNER, anchor_manner},
};

static void find_anchors(struct layer_assign *assign)
{
	struct anchoring at = {assign, mem_alloc(assign->graph.parameter_count, sizeof(*at.manners)), 0};

	for (; at.step < assign->graph.step_count; at.step++)
		if (!assign->graph.steps[at.step].update)
			anchor_first(RULE_TABLE(anchor_rules), &at);
	free(at.manners);
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

/* The steps [from, to) between two anchors; LAYER_UNKNOWN: the iteration's start, or its end. */
struct between {
	struct layer_assign *assign;
	enum layer_pass before, after;
	uint32_t from, to;
};

RULE_SEARCH(between, bool, false, struct between, context->assign->rule)

/* Is a step's result used backward, and not fetched before that pass begins? What is fetched is a result: the
 * loss, the prediction. */
static bool is_used_backward(const struct between *gap, uint32_t step)
{
	const struct layer_assign *assign = gap->assign;
	const struct graph *graph = &assign->graph;
	bool used = false;

	for (uint32_t i = 0; i < graph->steps[step].user_count; i++) {
		const uint32_t user = graph->users[graph->steps[step].first_user + i];
		const struct timeline_operation *operation =
			&assign->timeline->operations[graph->steps[user].operation];

		if (graph_flow(graph, user)->kind == PM_KIND_COPY && user < gap->to &&
			timeline_direction(assign->timeline, operation) == PM_DIRECTION_D2H)
			return false;
		used |= assign->passes[user] == LAYER_BACKWARD;
	}
	/* A kernel of the application's own does not say what it writes: the loss's gradient, most likely. */
	return used || graph_flow(graph, step)->kind == PM_KIND_LAUNCH;
}

/* Between the last forward and the first backward anchor. */
static bool split_loss(struct between *gap)
{
	if (gap->before != LAYER_FORWARD || gap->after != LAYER_BACKWARD)
		return false;
	for (uint32_t i = gap->to; i-- > gap->from;) {
		if (!is_open(gap->assign, i))
			continue;
		gap->assign->passes[i] = is_used_backward(gap, i) ? LAYER_BACKWARD : LAYER_FORWARD;
		layer_pass_by(gap->assign, i, LAYER_WHY_USED);
	}
	return true;
}

/*
 * After the last anchor, which is backward: products and sums there still make gradients, where no update
 * tells so; what follows them is elementwise, or a kernel of the application's own, and updates.
 */
static bool fill_end(struct between *gap)
{
	enum layer_pass pass = LAYER_AFTER;

	if (gap->before != LAYER_BACKWARD || gap->after != LAYER_UNKNOWN)
		return false;
	for (uint32_t i = gap->to; i-- > gap->from;) {
		const enum flow_shape shape = graph_flow(&gap->assign->graph, i)->shape;

		if (!is_open(gap->assign, i))
			continue;
		if (shape == FLOW_PRODUCT || shape == FLOW_REDUCE)
			pass = LAYER_BACKWARD;
		gap->assign->passes[i] = pass;
		layer_pass_by(gap->assign, i, LAYER_WHY_AFTER_GRADIENTS);
	}
	return true;
}

static bool fill_between(struct between *gap)
{
	for (uint32_t i = gap->from; i < gap->to; i++)
		if (is_open(gap->assign, i)) {
			gap->assign->passes[i] = gap->before == LAYER_UNKNOWN ? gap->after : gap->before;
			layer_pass_by(gap->assign, i, LAYER_WHY_BETWEEN);
		}
	return true;
}

static const struct between_rule between_rules[] = {
	{RULE_PASS_USED, split_loss},
	{RULE_PASS_END, fill_end},
	{RULE_PASS_BETWEEN, fill_between},
};

static void fill_gaps(struct layer_assign *assign)
{
	struct between gap = {.assign = assign};

	for (gap.to = 0; gap.to <= assign->graph.step_count; gap.to++) {
		if (gap.to < assign->graph.step_count && !assign->anchors[gap.to])
			continue;
		gap.after = gap.to < assign->graph.step_count ? assign->passes[gap.to] : LAYER_UNKNOWN;
		between_first(RULE_TABLE(between_rules), &gap);
		gap.before = gap.after;
		gap.from = gap.to + 1;
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

RULE_SEARCH(pass, bool, false, struct layer_assign, context->rule)

/* All of it, where threads tell; else false. */
static bool pass_by_threads(struct layer_assign *assign)
{
	enum layer_pass *passes = mem_alloc(assign->graph.step_count, sizeof(*passes));
	const bool told = layer_thread_passes(assign, passes);

	for (uint32_t i = 0; i < assign->graph.step_count && told; i++)
		if (assign->reasons[i].phase == LAYER_WHY_FUNCTION ? is_transposed(assign, i, passes[i])
								   : is_open(assign, i))
			set_anchor(assign, i, passes[i], LAYER_WHY_THREAD);
	free(passes);
	return told;
}

static const struct pass_rule pass_rules[] = {
	{RULE_PASS_THREADS, pass_by_threads},
};

void layer_passes(struct layer_assign *assign)
{
	find_anchors(assign);
	if (!pass_first(RULE_TABLE(pass_rules), assign))
		fill_gaps(assign);
}
