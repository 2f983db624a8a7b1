/* Steps before the update that are of no pass. */
#include "layer_flow.h"

struct leaving {
	const struct flow_work *work;
	const bool *fixed; /* by step: its layer is known by a parameter */
};

/* Does a step touch what another sends or receives? */
static bool meets_exchange(const struct flow_work *work, uint32_t step, uint32_t exchange)
{
	const struct flow *flow = graph_flow(&work->assign->graph, exchange);

	for (uint32_t i = 0; i < flow->access_count; i++)
		for (uint32_t t = 0; t < work->steps[step].count; t++)
			if (flow_holds(&flow->accesses[i],
				    work->places[flow_touch_of(work, step, t)->place].address))
				return true;
	return false;
}

/*
 * What is exchanged before anything is computed with parameters is no result of the model: buffers that all
 * ranks are to have alike. Packing and unpacking them is of no pass.
 */
static void leave_out_exchanges(const struct leaving *leaving)
{
	const struct flow_work *work = leaving->work;
	struct layer_assign *assign = work->assign;
	uint32_t first = 0;

	if (work->begin > 0) /* an update was before it */
		return;
	while (first < work->passes[0].turn && !(work->steps[first].computes && leaving->fixed[first]))
		first++;
	for (uint32_t exchange = 0; exchange < first; exchange++)
		for (uint32_t i = 0; i < first && graph_flow(&assign->graph, exchange)->kind == PM_KIND_COMM;
			i++)
			if (i == exchange || meets_exchange(work, i, exchange)) {
				assign->passes[i] = LAYER_UNKNOWN;
				assign->layers[i] = LAYER_NONE;
			}
}

/* Does a step touch gradients alone? */
static bool is_of_gradients(const struct flow_work *work, uint32_t step)
{
	for (uint32_t t = 0; t < work->steps[step].count; t++)
		if (work->places[flow_touch_of(work, step, t)->place].gradient_of == FLOW_NOWHERE)
			return false;
	return work->steps[step].count > 0;
}

static bool touches_parameter(const struct flow_work *work, uint32_t step)
{
	for (uint32_t t = 0; t < work->steps[step].count; t++)
		if (work->places[flow_touch_of(work, step, t)->place].parameter)
			return true;
	return false;
}

/* Does a backward pass begin with the step? */
static bool is_turn(const struct flow_work *work, uint32_t step)
{
	for (size_t k = 0; k < work->pass_count; k++)
		if (work->passes[k].turn == step)
			return true;
	return false;
}

/* Where in a pass a step is: before anything is computed, forward or backward, gradients may be cleared. */
enum where { BEFORE_FORWARD, BEFORE_BACKWARD, WITHIN };

static enum where step_on(const struct flow_work *work, enum where where, uint32_t step)
{
	if (work->steps[step].computes || touches_parameter(work, step))
		return WITHIN;
	return is_turn(work, step) ? BEFORE_BACKWARD : where;
}

/* Does a step clear gradients? At the turn a launch may be the seed, in memory that a gradient comes to. */
static bool clears(const struct flow_work *work, uint32_t step, enum where where)
{
	return where != WITHIN && is_of_gradients(work, step) &&
	       (where == BEFORE_FORWARD || !work->steps[step].launch);
}

/* What clears gradients is of no pass. */
static void leave_out_clears(const struct leaving *leaving)
{
	const struct flow_work *work = leaving->work;
	struct layer_assign *assign = work->assign;
	enum where where = BEFORE_FORWARD;

	for (uint32_t i = work->begin; i < work->update_begin; i++) {
		where = step_on(work, where, i);
		if (clears(work, i, where)) {
			assign->passes[i] = LAYER_UNKNOWN;
			assign->layers[i] = LAYER_NONE;
		}
	}
}

RULE_SEQUENCE(outside, const struct leaving, context->work->assign->rule)

static const struct outside_rule outside_rules[] = {
	{RULE_OUTSIDE_EXCHANGES, leave_out_exchanges},
	{RULE_OUTSIDE_CLEARS, leave_out_clears},
};

void flow_leave_out(const struct flow_work *work, const bool *fixed)
{
	outside_each(RULE_TABLE(outside_rules), &(struct leaving){work, fixed});
}
