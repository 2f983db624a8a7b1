/*
 * From parameters, update and turning point to a pass and a layer for each step.
 *
 * Parameters that a forward step touches together are one layer. A forward step without any belongs to the
 * layer that touched last what it touches. A backward step belongs to its parameter's layer, or to that of
 * the gradient which it is the last to touch before the update, else to the layer of the step that takes its
 * result: the mirror of the forward rule.
 */
#include "layer_flow_assign.h"
#include "timeline/constants.h"

#include <stdlib.h>

/* The first parameter of a step, and those of a forward step become one layer; FLOW_NOWHERE: it has none. */
static uint32_t own_parameter(struct flow_assigning *a, uint32_t step, bool join)
{
	struct flow_work *work = a->work;
	uint32_t first = FLOW_NOWHERE, count = 0;

	for (uint32_t i = 0; i < work->steps[step].count; i++)
		count += flow_meant(work, step, flow_touch_of(work, step, i)) != FLOW_NOWHERE;
	if (count > LAYER_MOST_PARAMETERS && work->steps[step].launch)
		return FLOW_NOWHERE;
	for (uint32_t i = 0; i < work->steps[step].count; i++) {
		const uint32_t parameter = flow_meant(work, step, flow_touch_of(work, step, i));

		if (parameter == FLOW_NOWHERE)
			continue;
		/* the weights, or a copy of them; a bias comes after */
		if (!work->assign->copies[step])
			work->assign->copies[step] =
				work->places[flow_touch_of(work, step, i)->place].address;
		if (first == FLOW_NOWHERE) {
			first = flow_group(work, parameter);
			flow_by(a, step,
				flow_touch_of(work, step, i)->place == parameter ? LAYER_WHY_PARAMETER
										 : LAYER_WHY_CAST,
				parameter, FLOW_NOWHERE);
		} else if (join) {
			flow_join_groups(work, parameter, first);
		}
	}
	return first;
}

/* What a kernel works on beside parameters: the one place that it touches, or of several the one that it
 * touches twice, as input and result; the others may be words that an earlier call left in the room between
 * arguments. FLOW_NOWHERE: neither is one alone. */
static uint32_t worked_on(const struct flow_work *work, uint32_t step)
{
	uint32_t only = FLOW_NOWHERE, twice = FLOW_NOWHERE, others = 0, doubles = 0;

	for (uint32_t i = 0; i < work->steps[step].count; i++) {
		const uint32_t place = flow_touch_of(work, step, i)->place;
		uint32_t before = 0;

		if (work->places[place].parameter)
			continue;
		for (uint32_t j = 0; j < i; j++)
			before += flow_touch_of(work, step, j)->place == place;
		if (before == 0) {
			only = place;
			others++;
		} else if (before == 1) {
			twice = place;
			doubles++;
		}
	}
	if (others == 1)
		return only;
	return doubles == 1 ? twice : FLOW_NOWHERE;
}

/* Does the step add a few numbers to many: a bias, by a function of a library? */
static bool spreads(const struct flow_work *work, uint32_t step)
{
	return graph_flow(&work->assign->graph, step)->shape == FLOW_SPREAD;
}

/* The step of a library, with parameters, that computed what a kernel works on in place: its product, to
 * which it adds a bias. `last`: by place, step + 1. FLOW_NOWHERE: it is no such kernel. */
static uint32_t product_of(const struct flow_assigning *a, uint32_t step, const uint32_t *last)
{
	const struct flow_work *work = a->work;
	const uint32_t other = (work->steps[step].launch && !flow_is_copy(work, step)) || spreads(work, step)
				       ? worked_on(work, step)
				       : FLOW_NOWHERE;
	const uint32_t before = other != FLOW_NOWHERE ? last[other] : 0;

	return flow_is_computed(work, before, other) && a->fixed[before - 1] ? before - 1 : FLOW_NOWHERE;
}

static void note_touches(const struct flow_work *work, uint32_t step, uint32_t *last)
{
	for (uint32_t t = 0; t < work->steps[step].count; t++)
		last[flow_touch_of(work, step, t)->place] = step + 1;
}

/* ---- forward ---- */

static void place_read(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	uint32_t *last = mem_alloc(work->place_count, sizeof(*last)); /* step + 1 */

	for (uint32_t i = a->pass->begin; i < a->pass->turn; i++) {
		a->groups[i] = own_parameter(a, i, true);
		a->fixed[i] = a->groups[i] != FLOW_NOWHERE;
		flow_follow_casts(work, i, last);
		note_touches(work, i, last);
	}
	free(last);
}

static void join_biases(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	uint32_t *last = mem_alloc(work->place_count, sizeof(*last));

	for (uint32_t i = a->pass->begin; i < a->pass->turn; i++) {
		const uint32_t product = a->fixed[i] ? product_of(a, i, last) : FLOW_NOWHERE;

		if (product != FLOW_NOWHERE)
			flow_join_groups(work, a->groups[i], a->groups[product]);
		note_touches(work, i, last);
	}
	free(last);
}

/* The last step with a layer, + 1, that touched what a step reads; 0: none. What is made of nothing, as a mask, tells nothing. */
static uint32_t source_of(const struct flow_assigning *a, uint32_t step, const uint32_t *last)
{
	const struct flow_work *work = a->work;
	uint32_t from = 0;

	for (uint32_t t = 0; t < work->steps[step].count; t++) {
		const struct flow_touch *touch = flow_touch_of(work, step, t);

		if (touch->read && !work->places[touch->place].parameter && last[touch->place] > from &&
			a->groups[last[touch->place] - 1] != FLOW_NOWHERE)
			from = last[touch->place];
	}
	return from;
}

static void place_sources(struct flow_assigning *a)
{
	uint32_t *last = mem_alloc(a->work->place_count, sizeof(*last));

	for (uint32_t i = a->pass->begin; i < a->pass->turn; i++) {
		const uint32_t from = a->fixed[i] ? 0 : source_of(a, i, last);

		if (from) {
			a->groups[i] = a->groups[from - 1];
			flow_by(a, i, LAYER_WHY_SOURCE, FLOW_NOWHERE, from - 1);
		}
		note_touches(a->work, i, last);
	}
	free(last);
}

static void place_forward_copies(struct flow_assigning *a)
{
	flow_place_copies(a, a->pass->begin, a->pass->turn);
}

static void place_next(struct flow_assigning *a)
{
	for (uint32_t i = a->pass->turn; i-- > a->pass->begin;)
		if (a->groups[i] == FLOW_NOWHERE && i + 1 < a->pass->turn) {
			a->groups[i] = a->groups[i + 1];
			flow_by(a, i, LAYER_WHY_NEXT, FLOW_NOWHERE, i + 1);
		}
}

static void place_forward_loss(struct flow_assigning *a)
{
	flow_place_loss(a, a->pass->turn);
}

/* ---- backward ---- */

static void place_read_again(struct flow_assigning *a)
{
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++) {
		a->groups[i] = own_parameter(a, i, false);
		a->fixed[i] = a->reads_parameter[i] = a->groups[i] != FLOW_NOWHERE;
		flow_follow_casts(a->work, i, NULL);
	}
}

/* The last step of the pass that touches a parameter's gradient belongs to that parameter. */
static void place_gradients(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	uint32_t *last = flow_last_touches(work, a->pass->begin, a->pass->end);

	for (uint32_t p = 0; p < work->place_count; p++) {
		const uint32_t parameter = work->places[p].gradient_of, step = last[p];

		if (parameter == FLOW_NOWHERE || !work->places[parameter].parameter ||
			step <= a->pass->turn || a->fixed[step - 1])
			continue;
		a->groups[step - 1] = flow_group(work, parameter);
		a->fixed[step - 1] = true;
		flow_by(a, step - 1, LAYER_WHY_GRADIENT, parameter, FLOW_NOWHERE);
	}
	free(last);
}

/* Does a library write the place between two steps? Of other kernels that is not known. */
static bool is_rewritten(const struct flow_work *work, uint32_t place, uint32_t a, uint32_t b)
{
	for (uint32_t i = (a < b ? a : b) + 1; i < (a < b ? b : a); i++)
		for (uint32_t t = 0; t < work->steps[i].count && work->steps[i].computes; t++)
			if (flow_touch_of(work, i, t)->place == place && flow_touch_of(work, i, t)->written)
				return true;
	return false;
}

/* Do two steps read the same memory, parameters aside? `unchanged`: and no library writes there between them. */
static bool reads_same(const struct flow_work *work, uint32_t a, uint32_t b, bool unchanged)
{
	for (uint32_t i = 0; i < work->steps[a].count; i++)
		for (uint32_t j = 0; j < work->steps[b].count; j++) {
			const struct flow_touch *x = flow_touch_of(work, a, i),
						*y = flow_touch_of(work, b, j);

			if (x->place == y->place && x->read && y->read &&
				flow_meant(work, a, x) == FLOW_NOWHERE &&
				!(unchanged && is_rewritten(work, x->place, a, b)))
				return true;
		}
	return false;
}

/* The gradients of a product's weights, of its bias and of its input are made from that of its result: where
 * the step for one reads the weights, the others are of the same layer. */
static void find_sibling(struct flow_assigning *a, uint32_t step)
{
	const struct flow_work *work = a->work;

	for (uint32_t far = 1; far <= NEAR_CALLS; far++)
		for (int side = 0; side < 2; side++) {
			const uint32_t other = side ? step - far : step + far;

			if (other < a->pass->turn || other >= a->pass->end || !work->steps[other].computes ||
				!a->reads_parameter[other] || !reads_same(work, step, other, true))
				continue;
			a->groups[step] = a->groups[other];
			a->fixed[step] = true;
			flow_by(a, step, LAYER_WHY_SIBLING, FLOW_NOWHERE, other);
			return;
		}
}

/* The gradient of weights is made of what the layer works on: the layer of the one product, or several of one
 * layer, that reads the same forward. */
static void find_partner(struct flow_assigning *a, uint32_t step)
{
	struct flow_work *work = a->work;
	uint32_t found = FLOW_NOWHERE;

	for (uint32_t i = a->pass->begin; i < a->pass->turn; i++) {
		if (!work->steps[i].computes || !a->fixed[i] || !reads_same(work, step, i, false))
			continue;
		if (found != FLOW_NOWHERE &&
			flow_group(work, a->groups[found]) != flow_group(work, a->groups[i]))
			return;
		found = i;
	}
	if (found == FLOW_NOWHERE)
		return;
	a->groups[step] = a->groups[found];
	a->fixed[step] = true;
	flow_by(a, step, LAYER_WHY_PARTNER, FLOW_NOWHERE, found);
}

/*
 * The step that takes what a step makes, + 1; 0: none. What a kernel touches beside its result, its input and
 * room to work in, is used again for something else, perhaps sooner: so a launch that turns the result into a
 * gradient comes first. `next`, `last`: by place, step + 1.
 */
static uint32_t taker(
	const struct flow_assigning *a, uint32_t step, const uint32_t *next, const uint32_t *last)
{
	const struct flow_work *work = a->work;
	uint32_t first = 0, sure = 0;

	for (uint32_t t = 0; t < work->steps[step].count; t++) {
		const struct flow_touch *touch = flow_touch_of(work, step, t);
		const uint32_t there = next[touch->place];

		if (!touch->written || work->places[touch->place].parameter || !there)
			continue;
		if (!first || there < first)
			first = there;
		if (work->steps[there - 1].launch && last[touch->place] != there &&
			work->assign->reasons[there - 1].layer == LAYER_WHY_GRADIENT &&
			(!sure || there < sure))
			sure = there;
	}
	return sure ? sure : first;
}

static void place_siblings(struct flow_assigning *a)
{
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (!a->fixed[i] && a->work->steps[i].computes)
			find_sibling(a, i);
}

static void place_reductions(struct flow_assigning *a)
{
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (!a->fixed[i] && flow_is_reduction(a->work, i))
			find_sibling(a, i);
}

static void place_partners(struct flow_assigning *a)
{
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (!a->fixed[i] && a->work->steps[i].computes)
			find_partner(a, i);
}

static void place_backward_copies(struct flow_assigning *a)
{
	flow_place_copies(a, a->pass->turn, a->pass->end);
}

static void place_sinks(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	uint32_t *next = mem_alloc(work->place_count, sizeof(*next)); /* step + 1 */
	uint32_t *last = flow_last_touches(work, a->pass->begin, a->pass->end);

	for (uint32_t i = a->pass->end; i-- > a->pass->turn;) {
		const uint32_t to = a->fixed[i] ? 0 : taker(a, i, next, last);

		if (to) {
			a->groups[i] = a->groups[to - 1];
			flow_by(a, i, LAYER_WHY_SINK, FLOW_NOWHERE, to - 1);
		}
		note_touches(work, i, next);
	}
	free(next);
	free(last);
}

static void place_previous(struct flow_assigning *a)
{
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (a->groups[i] == FLOW_NOWHERE && i > 0) {
			a->groups[i] = a->groups[i - 1];
			flow_by(a, i, LAYER_WHY_PREVIOUS, FLOW_NOWHERE, i - 1);
		}
}

static void place_backward_loss(struct flow_assigning *a)
{
	flow_place_loss(a, a->pass->end);
}

/* ---- the rules, in the order in which steps are offered to them ---- */

RULE_SEQUENCE(touch, struct flow_assigning, context->work->assign->rule)

static const struct touch_rule forward_rules[] = {
	{RULE_TOUCH_PARAMETER, place_read},
	{RULE_TOUCH_BIAS, join_biases},
	{RULE_TOUCH_SOURCE, place_sources},
	{RULE_TOUCH_COPY, place_forward_copies},
	{RULE_TOUCH_STATE, flow_place_states},
	{RULE_TOUCH_NEXT, place_next},
	{RULE_TOUCH_LOSS, place_forward_loss},
};

static const struct touch_rule backward_rules[] = {
	{RULE_TOUCH_PARAMETER, place_read_again},
	{RULE_TOUCH_SIBLING, place_siblings},
	{RULE_TOUCH_GRADIENT, place_gradients},
	{RULE_TOUCH_UPDATED, flow_place_updated},
	{RULE_TOUCH_REDUCTION, place_reductions},
	{RULE_TOUCH_PARTNER, place_partners},
	{RULE_TOUCH_COPY, place_backward_copies},
	{RULE_TOUCH_SINK, place_sinks},
	{RULE_TOUCH_PREVIOUS, place_previous},
	{RULE_TOUCH_LOSS, place_backward_loss},
};

void flow_place_pass(struct flow_assigning *a)
{
	touch_each(RULE_TABLE(forward_rules), a);
	touch_each(RULE_TABLE(backward_rules), a);
}
