/*
 * Gradients: they stand beside their parameters in the arguments of the update, at a distance that is the
 * same for all of them.
 */
#include "layer_flow.h"

#include <stdlib.h>

uint32_t *flow_last_touches(const struct flow_work *work, uint32_t begin, uint32_t end)
{
	uint32_t *last = mem_alloc(work->place_count, sizeof(*last));

	for (uint32_t i = begin; i < end; i++)
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			last[flow_touch_of(work, i, t)->place] = i + 1;
	return last;
}

static uint32_t partner(const struct flow_work *work, uint32_t step, uint16_t word)
{
	for (uint32_t i = 0; i < work->steps[step].count; i++)
		if (flow_touch_of(work, step, i)->word == word)
			return flow_touch_of(work, step, i)->place;
	return FLOW_NOWHERE;
}

/* What is known of a place before the update. */
struct before {
	uint32_t *last; /* by place: the last step that touches it, + 1; 0: none */
	uint32_t turn;  /* the last backward pass begins after this step */
};

/* What a place is to the update. Gradients: the backward pass touches them; state: nothing before the update
 * does. */
enum update_role { IS_PARAMETER, IS_GRADIENT, IS_STATE };

static bool is_role(
	const struct flow_work *work, uint32_t place, enum update_role role, const struct before *before)
{
	const struct flow_place *p = &work->places[place];

	switch (role) {
	case IS_PARAMETER:
		return p->parameter;
	case IS_GRADIENT:
		return !p->parameter && before->last[place] > before->turn;
	default:
		return !p->parameter && before->last[place] == 0 && p->persistent;
	}
}

/* The place that stands at this distance after a touch of a step and has the role, or FLOW_NOWHERE. */
static uint32_t partner_of(const struct flow_work *work, uint32_t step, const struct flow_touch *touch,
	int distance, enum update_role role, const struct before *before)
{
	const uint32_t other = partner(work, step, (uint16_t)(touch->word + distance));

	return other != FLOW_NOWHERE && is_role(work, other, role, before) ? other : FLOW_NOWHERE;
}

/* The distance in words at which most places of two roles stand; *count: how many pairs, 0: none. Words that
 * are left from launches before may be places of a role too, at other distances. */
static int best_distance(const struct flow_work *work, uint32_t step, enum update_role role,
	enum update_role other_role, const struct before *before, uint32_t *count)
{
	const struct flow_step *s = &work->steps[step];
	uint32_t range = 0, *counts;
	int best = 0;

	for (uint32_t i = 0; i < s->count; i++)
		range = flow_touch_of(work, step, i)->word > range ? flow_touch_of(work, step, i)->word
								   : range;
	counts = mem_alloc(2 * (size_t)range + 1, sizeof(*counts));
	for (uint32_t i = 0; i < s->count; i++) {
		const struct flow_touch *touch = flow_touch_of(work, step, i);

		for (uint32_t j = 0; is_role(work, touch->place, role, before) && j < s->count; j++) {
			const struct flow_touch *other = flow_touch_of(work, step, j);

			if (i != j && is_role(work, other->place, other_role, before))
				counts[range + other->word - touch->word]++;
		}
	}
	*count = 0;
	for (uint32_t d = 0; d < 2 * range + 1; d++)
		if (counts[d] > *count) {
			*count = counts[d];
			best = (int)d - (int)range;
		}
	free(counts);
	return best;
}

/*
 * Pairs places of two roles in the arguments of a step: at the distance that most have. Each is paired once,
 * for words after the end of a list are left from launches before. pairs: by place of the first role,
 * FLOW_NOWHERE for none.
 */
static void pair_step(const struct flow_work *work, uint32_t step, enum update_role role,
	enum update_role other_role, const struct before *before, uint32_t *pairs, bool *taken)
{
	const struct flow_step *s = &work->steps[step];
	uint32_t count;
	const int distance = best_distance(work, step, role, other_role, before, &count);

	for (uint32_t i = 0; count && i < s->count; i++) {
		const struct flow_touch *touch = flow_touch_of(work, step, i);
		const uint32_t other = is_role(work, touch->place, role, before)
					       ? partner_of(work, step, touch, distance, other_role, before)
					       : FLOW_NOWHERE;

		if (other == FLOW_NOWHERE || pairs[touch->place] != FLOW_NOWHERE || taken[other])
			continue;
		pairs[touch->place] = other;
		taken[other] = true;
	}
}

static uint32_t *new_pairs(const struct flow_work *work)
{
	uint32_t *pairs = mem_alloc(work->place_count, sizeof(*pairs));

	for (uint32_t p = 0; p < work->place_count; p++)
		pairs[p] = FLOW_NOWHERE;
	return pairs;
}

/* In all steps of the update; the caller frees them. */
static uint32_t *pair_all(const struct flow_work *work, enum update_role role, enum update_role other_role,
	const struct before *before)
{
	uint32_t *pairs = new_pairs(work);
	bool *taken = mem_alloc(work->place_count, sizeof(*taken));

	for (uint32_t i = work->update_begin; i < work->update_end; i++)
		if (work->steps[i].launch)
			pair_step(work, i, role, other_role, before, pairs, taken);
	free(taken);
	return pairs;
}

uint32_t *flow_states(const struct flow_work *work)
{
	const struct before before = {flow_last_touches(work, work->begin, work->update_begin), 0};
	uint32_t *states = pair_all(work, IS_PARAMETER, IS_STATE, &before);

	free(before.last);
	return states;
}

/* By place: is it a parameter whose gradient is known? The caller frees it. */
static bool *with_gradients(const struct flow_work *work)
{
	bool *with = mem_alloc(work->place_count, sizeof(*with));

	for (uint32_t p = 0; p < work->place_count; p++)
		if (work->places[p].gradient_of != FLOW_NOWHERE)
			with[work->places[p].gradient_of] = true;
	return with;
}

struct pairing {
	struct flow_work *work;
	struct before before;
	uint32_t *of_parameter, *of_state, *state_of; /* by place: what stands beside it in the update */
};

RULE_SEQUENCE(gradient, struct pairing, context->work->assign->rule)

/* Unless it is another's. */
static void set_gradient(const struct pairing *pairing, uint32_t parameter, uint32_t gradient)
{
	if (gradient != FLOW_NOWHERE && pairing->work->places[gradient].gradient_of == FLOW_NOWHERE)
		pairing->work->places[gradient].gradient_of = parameter;
}

static void pair_beside(struct pairing *pairing)
{
	for (uint32_t p = 0; p < pairing->work->place_count; p++)
		set_gradient(pairing, p, pairing->of_parameter[p]);
}

/*
 * Where no step of the update has parameters and gradients, both are beside state: a mean is made of
 * gradients, and parameters are changed by it.
 */
static void pair_states(struct pairing *pairing)
{
	for (uint32_t p = 0; p < pairing->work->place_count; p++)
		if (pairing->of_parameter[p] == FLOW_NOWHERE && pairing->state_of[p] != FLOW_NOWHERE)
			set_gradient(pairing, p, pairing->of_state[pairing->state_of[p]]);
}

/* Of parameters in one block the update touches the first alone: gradients lie in a block of their own, in
 * the same order. */
static void pair_blocks(struct pairing *pairing)
{
	struct flow_work *work = pairing->work;
	bool *with;
	uint32_t one = 0;
	uint64_t distance;

	while (one < work->place_count && work->places[one].gradient_of == FLOW_NOWHERE)
		one++;
	if (one == work->place_count || work->update_end - work->update_begin >= work->parameter_count)
		return;
	with = with_gradients(work);
	distance = work->places[one].address - work->places[work->places[one].gradient_of].address;
	for (uint32_t q = 0; q < work->place_count; q++) {
		struct flow_place *other = work->places[q].parameter && !with[q]
						   ? flow_place_at(work, work->places[q].address + distance)
						   : NULL;

		if (other && !other->parameter && !other->input && other->gradient_of == FLOW_NOWHERE &&
			pairing->before.last[other - work->places] > pairing->before.turn)
			other->gradient_of = q;
	}
	free(with);
}

static const struct gradient_rule gradient_rules[] = {
	{RULE_GRADIENT_BESIDE, pair_beside},
	{RULE_GRADIENT_STATE, pair_states},
	{RULE_GRADIENT_BLOCKS, pair_blocks},
};

void flow_gradients(struct flow_work *work, uint32_t turn)
{
	struct pairing pairing = {
		.work = work, .before = {flow_last_touches(work, work->begin, work->update_begin), turn}};

	pairing.of_parameter = pair_all(work, IS_PARAMETER, IS_GRADIENT, &pairing.before);
	pairing.of_state = pair_all(work, IS_STATE, IS_GRADIENT, &pairing.before);
	pairing.state_of = pair_all(work, IS_PARAMETER, IS_STATE, &pairing.before);
	for (uint32_t p = 0; p < work->place_count; p++)
		work->places[p].gradient_of = FLOW_NOWHERE;
	gradient_each(RULE_TABLE(gradient_rules), &pairing);
	free(pairing.before.last);
	free(pairing.of_parameter);
	free(pairing.of_state);
	free(pairing.state_of);
}

/* May a step be of an update: a launch, or a set or copy for one? */
static bool may_update(const struct flow_work *work, uint32_t step)
{
	const enum pm_kind kind = graph_flow(&work->assign->graph, step)->kind;

	return kind == PM_KIND_LAUNCH || kind == PM_KIND_COPY || kind == PM_KIND_SET;
}

/* Of steps from one on: which places they need from steps before, gradients aside. */
struct needs {
	bool *open; /* by place */
	uint32_t open_count;
	bool gradient, own; /* they touch one; and something else, as a gradient that is added to does not */
};

static void set_open(struct needs *needs, uint32_t place, bool open)
{
	needs->open_count += (uint32_t)open - (uint32_t)needs->open[place];
	needs->open[place] = open;
}

/* The step before them. `first`: by place, the first step that touches it. False: it is none of an update, or
 * touches a parameter. */
static bool add_step(const struct flow_work *work, uint32_t step, const uint32_t *first, struct needs *needs)
{
	const bool fills = flow_is_fill(work, step) && work->steps[step].count == 1;

	for (uint32_t t = 0; t < work->steps[step].count; t++) {
		const struct flow_touch *touch = flow_touch_of(work, step, t);
		const struct flow_place *place = &work->places[touch->place];

		if (place->parameter)
			return false;
		needs->own |= place->gradient_of == FLOW_NOWHERE;
		if (place->gradient_of != FLOW_NOWHERE)
			needs->gradient = true;
		else
			set_open(needs, touch->place, touch->read && !fills && first[touch->place] < step);
	}
	return may_update(work, step);
}

void flow_begin_update(struct flow_work *work, struct flow_part *part)
{
	uint32_t *first = mem_alloc(work->place_count, sizeof(*first));
	struct needs needs = {.open = mem_alloc(work->place_count, sizeof(*needs.open))};

	for (uint32_t i = work->update_begin; i-- > work->begin;)
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			first[flow_touch_of(work, i, t)->place] = i;
	for (uint32_t i = work->update_begin; i-- > part->turn && add_step(work, i, first, &needs);)
		if (needs.gradient && needs.own && needs.open_count == 0)
			part->update_begin = work->update_begin = i;
	free(first);
	free(needs.open);
}
