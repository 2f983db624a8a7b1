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
		/* the weights, or a copy of them; a bias comes behind */
		if (!work->assign->copies[step])
			work->assign->copies[step] =
				work->places[flow_touch_of(work, step, i)->place].address;
		if (first == FLOW_NOWHERE) {
			first = flow_group(work, parameter);
			flow_by(a, step,
				flow_touch_of(work, step, i)->place == parameter ? LAYER_RULE_PARAMETER
										 : LAYER_RULE_CAST,
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

static void assign_forward(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	uint32_t *last = mem_alloc(work->place_count, sizeof(*last)); /* step + 1 */

	for (uint32_t i = a->pass->begin; i < a->pass->turn; i++) {
		uint32_t from = 0, product;

		a->groups[i] = own_parameter(a, i, true);
		a->fixed[i] = a->groups[i] != FLOW_NOWHERE;
		for (uint32_t t = 0; t < work->steps[i].count; t++) {
			const struct flow_touch *touch = flow_touch_of(work, i, t);

			/* what is made of nothing, as a mask, tells nothing */
			if (touch->read && !work->places[touch->place].parameter &&
				last[touch->place] > from &&
				a->groups[last[touch->place] - 1] != FLOW_NOWHERE)
				from = last[touch->place];
		}
		if (!a->fixed[i] && from) {
			a->groups[i] = a->groups[from - 1];
			flow_by(a, i, LAYER_RULE_SOURCE, FLOW_NOWHERE, from - 1);
		}
		product = a->fixed[i] ? product_of(a, i, last) : FLOW_NOWHERE;
		if (product != FLOW_NOWHERE)
			flow_join_groups(work, a->groups[i], a->groups[product]);
		flow_follow_casts(work, i, last);
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			last[flow_touch_of(work, i, t)->place] = i + 1;
	}
	flow_place_copies(a, a->pass->begin, a->pass->turn);
	flow_place_states(a);
	/* what has no source belongs to the step behind it */
	for (uint32_t i = a->pass->turn; i-- > a->pass->begin;)
		if (a->groups[i] == FLOW_NOWHERE && i + 1 < a->pass->turn) {
			a->groups[i] = a->groups[i + 1];
			flow_by(a, i, LAYER_RULE_NEXT, FLOW_NOWHERE, i + 1);
		}
	free(last);
	flow_place_loss(a, a->pass->turn);
}

/* The last step of the pass that touches a parameter's gradient belongs to that parameter. `last`: by place,
 * step + 1. */
static void place_gradients(struct flow_assigning *a, const uint32_t *last)
{
	struct flow_work *work = a->work;

	for (uint32_t p = 0; p < work->place_count; p++) {
		const uint32_t parameter = work->places[p].gradient_of, step = last[p];

		if (parameter == FLOW_NOWHERE || !work->places[parameter].parameter ||
			step <= a->pass->turn || a->fixed[step - 1])
			continue;
		a->groups[step - 1] = flow_group(work, parameter);
		a->fixed[step - 1] = true;
		flow_by(a, step - 1, LAYER_RULE_GRADIENT, parameter, FLOW_NOWHERE);
	}
}

/* Gradients that are sent to the ranks which have the shards: the same, of the last step before they are put
 * together. */
static void place_scattered(struct flow_assigning *a)
{
	struct flow_gradient *gradients;
	const size_t count = flow_scattered(a->work, a->pass, &gradients);

	for (size_t i = 0; i < count; i++) {
		const uint32_t step = gradients[i].step, parameter = gradients[i].parameter;

		if (a->fixed[step])
			continue;
		a->groups[step] = flow_group(a->work, parameter);
		a->fixed[step] = true;
		flow_by(a, step, LAYER_RULE_GRADIENT, parameter, FLOW_NOWHERE);
	}
	free(gradients);
}

/* What gathers parameters of several layers, or puts their gradients together, counts to the first of them.
 */
static void place_units(struct flow_assigning *a)
{
	for (uint32_t i = 0; i < a->work->update_begin; i++) {
		const uint32_t parameter = a->work->steps[i].unit;

		if (parameter == FLOW_NOWHERE)
			continue;
		a->groups[i] = flow_group(a->work, parameter);
		a->fixed[i] = false;
		a->work->assign->tables[i] = graph_flow(&a->work->assign->graph, i)->kind == PM_KIND_COPY;
		flow_by(a, i, LAYER_RULE_GATHERS, parameter, FLOW_NOWHERE);
	}
}

/* Do two steps read the same, parameters aside? */
static bool reads_same(const struct flow_work *work, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < work->steps[a].count; i++)
		for (uint32_t j = 0; j < work->steps[b].count; j++) {
			const struct flow_touch *x = flow_touch_of(work, a, i),
						*y = flow_touch_of(work, b, j);

			if (x->place == y->place && x->read && y->read &&
				flow_meant(work, a, x) == FLOW_NOWHERE)
				return true;
		}
	return false;
}

/* The gradients of a product's weights, of its bias and of its input are made from that of its result: where
 * the step for one reads the weights, the others are of the same layer. */
static void find_sibling(struct flow_assigning *a, uint32_t step)
{
	const struct flow_work *work = a->work;

	for (uint32_t far = 1; far <= SIBLING_NEAR; far++)
		for (int side = 0; side < 2; side++) {
			const uint32_t other = side ? step - far : step + far;

			if (other < a->pass->turn || other >= a->pass->end || !work->steps[other].computes ||
				!a->reads_parameter[other] || !reads_same(work, step, other))
				continue;
			a->groups[step] = a->groups[other];
			a->fixed[step] = true;
			flow_by(a, step, LAYER_RULE_SIBLING, FLOW_NOWHERE, other);
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
		if (!work->steps[i].computes || !a->fixed[i] || !reads_same(work, step, i))
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
	flow_by(a, step, LAYER_RULE_PARTNER, FLOW_NOWHERE, found);
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
			work->assign->reasons[there - 1].layer == LAYER_RULE_GRADIENT &&
			(!sure || there < sure))
			sure = there;
	}
	return sure ? sure : first;
}

static void assign_backward(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	uint32_t *next = mem_alloc(work->place_count, sizeof(*next)); /* step + 1 */
	uint32_t *last = flow_last_touches(work, a->pass->begin, a->pass->end);

	for (uint32_t i = a->pass->turn; i < a->pass->end; i++) {
		a->groups[i] = own_parameter(a, i, false);
		a->fixed[i] = a->reads_parameter[i] = a->groups[i] != FLOW_NOWHERE;
		flow_follow_casts(work, i, NULL);
	}
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (!a->fixed[i] && work->steps[i].computes)
			find_sibling(a, i);
	place_gradients(a, last);
	flow_place_updated(a);
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (!a->fixed[i] && flow_is_reduction(work, i))
			find_sibling(a, i);
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (!a->fixed[i] && work->steps[i].computes)
			find_partner(a, i);
	place_scattered(a);
	flow_place_copies(a, a->pass->turn, a->pass->end);
	for (uint32_t i = a->pass->end; i-- > a->pass->turn;) {
		const uint32_t to = taker(a, i, next, last);

		if (!a->fixed[i] && to) {
			a->groups[i] = a->groups[to - 1];
			flow_by(a, i, LAYER_RULE_SINK, FLOW_NOWHERE, to - 1);
		}
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			next[flow_touch_of(work, i, t)->place] = i + 1;
	}
	/* what nothing takes: with the step before it */
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (a->groups[i] == FLOW_NOWHERE && i > 0) {
			a->groups[i] = a->groups[i - 1];
			flow_by(a, i, LAYER_RULE_PREVIOUS, FLOW_NOWHERE, i - 1);
		}
	flow_place_loss(a, a->pass->end);
	free(next);
	free(last);
}

/* ---- the result ---- */

/* The first forward step of a library that has a parameter of the group, `step` or one behind it; `step`:
 * none. */
static uint32_t describing_step(const struct flow_assigning *a, uint32_t step, uint32_t group)
{
	for (size_t k = 0; k < a->work->pass_count; k++)
		for (uint32_t i = a->work->passes[k].begin; i < a->work->passes[k].turn; i++)
			if (i >= step && a->work->steps[i].computes && a->fixed[i] &&
				flow_group(a->work, a->groups[i]) == group)
				return i;
	return step;
}

/* The layers in order of their first forward step; a library's call describes them best. */
static void number_layers(struct flow_assigning *a)
{
	struct layer_assign *assign = a->work->assign;

	for (uint32_t p = 0; p < a->work->place_count; p++)
		a->layers[p] = LAYER_NONE;
	for (uint32_t i = 0; i < a->work->update_begin; i++) {
		const uint32_t group =
			a->groups[i] != FLOW_NOWHERE ? flow_group(a->work, a->groups[i]) : FLOW_NOWHERE;

		a->groups[i] = group;
		if (group != FLOW_NOWHERE && a->layers[group] == LAYER_NONE && a->fixed[i])
			a->layers[group] = layer_new(assign, describing_step(a, i, group));
	}
}

static void hand_over_parameters(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	struct layer_assign *assign = work->assign;
	struct graph *graph = &assign->graph;

	flow_size_packed(work);
	graph->parameter_count = graph->service_count = 0;
	free(assign->owners);
	assign->owners = mem_alloc(work->parameter_count, sizeof(*assign->owners));
	for (uint32_t p = 0; p < work->place_count; p++) {
		const struct flow_place *place = &work->places[p];
		const uint32_t number = (uint32_t)graph->parameter_count;
		const uint32_t layer = place->parameter ? a->layers[flow_group(work, p)] : LAYER_NONE;

		if (!place->parameter)
			continue;
		*MEM_PUSH(graph->parameters, graph->parameter_count, graph->parameter_room) =
			(struct graph_parameter){.address = place->address,
				.bytes = place->bytes,
				.module = place->module,
				.copied_in = place->copied_in,
				.gradient_step = GRAPH_NONE};
		assign->owners[number] = layer;
		if (layer != LAYER_NONE) {
			assign->list->items[layer].parameter_bytes += place->bytes;
			assign->list->items[layer].partly_sized |= place->bytes == 0;
		}
		flow_add_services(work, p, number);
	}
}

/* The phase of a step of a part, and by which rule. */
static enum layer_pass pass_of(
	const struct flow_work *work, const struct flow_part *part, uint32_t step, enum layer_rule *rule)
{
	const struct flow_pass *pass = &work->passes[part->first_pass];

	*rule = step < part->update_begin ? LAYER_RULE_TURN
		: step < part->update_end ? LAYER_RULE_WINDOW
					  : LAYER_RULE_BEHIND;
	if (work->steps[step].updates)
		*rule = LAYER_RULE_WINDOW;
	if (step >= part->update_begin || work->steps[step].updates)
		return LAYER_AFTER;
	if (work->steps[step].evaluates) {
		*rule = LAYER_RULE_UNUSED;
		return LAYER_EVALUATION;
	}
	while (step >= pass->end)
		pass++;
	return step < pass->turn ? LAYER_FORWARD : LAYER_BACKWARD;
}

/* Phases and layers of a part's steps, up to the next one. */
static void hand_over_part(struct flow_assigning *a, const struct flow_part *part, uint32_t end)
{
	struct flow_work *work = a->work;
	struct layer_assign *assign = work->assign;

	for (uint32_t i = part->begin; i < end; i++) {
		enum layer_rule rule;

		assign->graph.steps[i].update =
			(i >= part->update_begin && i < part->update_end) || work->steps[i].updates;
		assign->layers[i] = LAYER_NONE;
		assign->passes[i] = pass_of(work, part, i, &rule);
		layer_pass_by(assign, i, rule);
		if (!work->steps[i].computes && !work->steps[i].launch && assign->passes[i] != LAYER_AFTER &&
			graph_flow(&assign->graph, i)->kind != PM_KIND_COPY &&
			graph_flow(&assign->graph, i)->kind != PM_KIND_SET)
			assign->passes[i] = LAYER_UNKNOWN;
		if (i < part->update_begin && !work->steps[i].updates && !work->steps[i].evaluates &&
			a->groups[i] != FLOW_NOWHERE)
			assign->layers[i] = a->layers[a->groups[i]];
	}
}

/* To a part that is worked on again; gradients are those of one part alone, as memory is used again. */
static void select_again(struct flow_work *work, const struct flow_part *part)
{
	flow_select_part(work, part);
	if (work->part_count > 1)
		flow_gradients(work, part->turn);
}

void flow_assign(struct flow_work *work)
{
	struct flow_assigning a = {.work = work,
		.groups = mem_alloc(work->step_count, sizeof(*a.groups)),
		.fixed = mem_alloc(work->step_count, sizeof(*a.fixed)),
		.reads_parameter = mem_alloc(work->step_count, sizeof(*a.reads_parameter)),
		.layers = mem_alloc(work->place_count, sizeof(*a.layers))};

	for (uint32_t i = 0; i < work->step_count; i++)
		a.groups[i] = FLOW_NOWHERE;
	flow_join_modules(work);
	for (size_t n = 0; n < work->part_count; n++) {
		const struct flow_part *part = &work->parts[n];

		select_again(work, part);
		for (uint32_t k = part->first_pass; k < part->first_pass + part->pass_count; k++) {
			a.pass = &work->passes[k];
			assign_forward(&a);
			assign_backward(&a);
		}
	}
	place_units(&a);
	number_layers(&a);
	hand_over_parameters(&a);
	for (size_t n = 0; n < work->part_count; n++) {
		hand_over_part(&a, &work->parts[n],
			n + 1 < work->part_count ? work->parts[n + 1].begin : work->step_count);
		select_again(work, &work->parts[n]);
		flow_leave_out(work, a.fixed);
	}
	free(a.groups);
	free(a.fixed);
	free(a.reads_parameter);
	free(a.layers);
}

bool layer_flow(struct layer_assign *assign, const struct iteration_list *iterations)
{
	struct flow_work work = {.assign = assign};
	const bool known = flow_collect(&work, iterations);
	const bool found = known && flow_parameters(&work, iterations) && flow_find_passes(&work);

	if (known && !found)
		assign->list->doubt = LAYER_NOT_FOLLOWED;
	if (found) {
		flow_assign(&work);
		assign->followed = true;
		assign->list->followed_gathers = work.gather_count;
		if (work.gathered)
			assign->list->doubt = LAYER_NO_DOUBT; /* not the weights alone */
		assign->list->is_step = work.part_count == 1 && assign->list->doubt == LAYER_NO_DOUBT;
	}
	free(work.parts);
	free(work.passes);
	free(work.steps);
	free(work.touches);
	free(work.places);
	free(work.scatters);
	free(work.versions);
	return found;
}
