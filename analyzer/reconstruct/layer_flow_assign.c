/*
 * From parameters, update and turning point to a pass and a layer for each step.
 *
 * Parameters that a forward step touches together are one layer. A forward step without any belongs to the
 * layer that touched last what it touches. A backward step belongs to its parameter's layer, or to that of
 * the gradient which it is the last to touch before the update, else to the layer of the step that takes its
 * result: the mirror of the forward rule.
 */
#include "layer_flow_assign.h"

#include <stdlib.h>
#include <string.h>

#define MANY 6 /* parameters of one layer's step */

static uint32_t find_group(struct flow_work *work, uint32_t place)
{
	while (work->places[place].group != place)
		place = work->places[place].group;
	return place;
}

/*
 * Makes a parameter's layer that of another: but no layer is of two units, or of two modules that were copied
 * to the device one after the other. A kernel that touches parameters of both does the work of two layers, of
 * which a compiler has made one.
 */
static void join_groups(struct flow_work *work, uint32_t parameter, uint32_t other)
{
	struct flow_place *from = &work->places[find_group(work, parameter)];
	struct flow_place *to = &work->places[find_group(work, other)];

	if (work->places[parameter].unit != work->places[other].unit ||
		(from->group_module && to->group_module && strcmp(from->group_module, to->group_module) != 0))
		return;
	from->group = to->group;
	if (!to->group_module)
		to->group_module = from->group_module;
}

/* The first parameter of a step, and those of a forward step become one layer; FLOW_NOWHERE: it has none. */
static uint32_t own_parameter(struct flow_assigning *a, uint32_t step, bool join)
{
	struct flow_work *work = a->work;
	uint32_t first = FLOW_NOWHERE, count = 0;

	for (uint32_t i = 0; i < work->steps[step].count; i++)
		count += flow_meant(work, step, flow_touch_of(work, step, i)) != FLOW_NOWHERE;
	if (count > MANY && work->steps[step].launch)
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
			first = find_group(work, parameter);
			flow_by(a, step,
				flow_touch_of(work, step, i)->place == parameter ? LAYER_RULE_PARAMETER
										 : LAYER_RULE_CAST,
				parameter, FLOW_NOWHERE);
		} else if (join) {
			join_groups(work, parameter, first);
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

/* The step of a library, with parameters, that computed what a kernel works on in place: its product, to
 * which it adds a bias. `last`: by place, step + 1. FLOW_NOWHERE: it is no such kernel. */
static uint32_t product_of(const struct flow_assigning *a, uint32_t step, const uint32_t *last)
{
	const struct flow_work *work = a->work;
	const uint32_t other =
		work->steps[step].launch && !flow_is_copy(work, step) ? worked_on(work, step) : FLOW_NOWHERE;
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

			if (touch->read && !work->places[touch->place].parameter && last[touch->place] > from)
				from = last[touch->place];
		}
		if (!a->fixed[i] && from) {
			a->groups[i] = a->groups[from - 1];
			flow_by(a, i, LAYER_RULE_SOURCE, FLOW_NOWHERE, from - 1);
		}
		product = a->fixed[i] ? product_of(a, i, last) : FLOW_NOWHERE;
		if (product != FLOW_NOWHERE)
			join_groups(work, a->groups[i], a->groups[product]);
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
		a->groups[step - 1] = find_group(work, parameter);
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
		a->groups[step] = find_group(a->work, parameter);
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
		a->groups[i] = find_group(a->work, parameter);
		a->fixed[i] = false;
		a->work->assign->tables[i] = graph_flow(&a->work->assign->graph, i)->kind == PM_KIND_COPY;
		flow_by(a, i, LAYER_RULE_GATHERS, parameter, FLOW_NOWHERE);
	}
}

#define SIBLINGS 4 /* steps between the two */

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

	for (uint32_t far = 1; far <= SIBLINGS; far++)
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
	for (uint32_t i = a->pass->turn; i < a->pass->end; i++)
		if (!a->fixed[i] && flow_is_reduction(work, i))
			find_sibling(a, i);
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
	free(next);
	free(last);
}

#define FEW 2 /* parameters of a module that is one layer: weights and a bias */

static int by_module(const void *left, const void *right)
{
	const struct flow_place *const *a = left, *const *b = right;
	const int order = strcmp((*a)->copied_in, (*b)->copied_in);

	return order ? order : (*a > *b) - (*a < *b);
}

/* The few parameters of a module that was copied to the device are one layer, whatever touches them together.
 */
static void join_modules(struct flow_work *work)
{
	const struct flow_place **named = mem_alloc(work->parameter_count, sizeof(const struct flow_place *));
	uint32_t count = 0;

	for (uint32_t p = 0; p < work->place_count; p++)
		if (work->places[p].parameter && work->places[p].copied_in) {
			work->places[p].group_module = work->places[p].copied_in;
			named[count++] = &work->places[p];
		}
	if (count)
		qsort(named, count, sizeof(const struct flow_place *), by_module);
	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && strcmp(named[end]->copied_in, named[i]->copied_in) == 0;)
			end++;
		for (uint32_t j = i + 1; j < end && end - i <= FEW; j++)
			join_groups(work, (uint32_t)(named[j] - work->places),
				(uint32_t)(named[i] - work->places));
	}
	free(named);
}

/* ---- the result ---- */

/* The layers in order of their first forward step; a library's call describes them best. */
static void number_layers(struct flow_assigning *a)
{
	struct layer_assign *assign = a->work->assign;

	for (uint32_t p = 0; p < a->work->place_count; p++)
		a->layers[p] = LAYER_NONE;
	for (uint32_t i = 0; i < a->work->update_begin; i++) {
		uint32_t group = a->groups[i] != FLOW_NOWHERE ? find_group(a->work, a->groups[i])
							      : FLOW_NOWHERE,
			 step = i;

		a->groups[i] = group;
		if (group == FLOW_NOWHERE || a->layers[group] != LAYER_NONE || !a->fixed[i])
			continue;
		for (uint32_t j = i; j < a->work->passes[0].turn && step == i; j++)
			if (a->work->steps[j].computes && a->fixed[j] &&
				find_group(a->work, a->groups[j]) == group)
				step = j;
		a->layers[group] = layer_new(assign, step);
	}
}

static void hand_over_parameters(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	struct layer_assign *assign = work->assign;
	struct graph *graph = &assign->graph;

	graph->parameter_count = graph->service_count = 0;
	free(assign->owners);
	assign->owners = mem_alloc(work->parameter_count, sizeof(*assign->owners));
	for (uint32_t p = 0; p < work->place_count; p++) {
		const struct flow_place *place = &work->places[p];
		const uint32_t number = (uint32_t)graph->parameter_count;
		const uint32_t layer = place->parameter ? a->layers[find_group(work, p)] : LAYER_NONE;

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
		for (uint32_t i = work->update_begin; i < work->update_end; i++)
			for (uint32_t t = 0; t < work->steps[i].count; t++)
				if (flow_touch_of(work, i, t)->place == p) {
					*MEM_PUSH(graph->services, graph->service_count,
						graph->service_room) = (struct graph_service){i, number};
					break;
				}
	}
}

static enum layer_pass pass_of(const struct flow_work *work, uint32_t step)
{
	const struct flow_pass *pass = work->passes;

	while (step >= pass->end)
		pass++;
	return step < pass->turn ? LAYER_FORWARD : LAYER_BACKWARD;
}

void flow_assign(struct flow_work *work)
{
	struct layer_assign *assign = work->assign;
	struct flow_assigning a = {.work = work,
		.groups = mem_alloc(work->step_count, sizeof(*a.groups)),
		.fixed = mem_alloc(work->step_count, sizeof(*a.fixed)),
		.reads_parameter = mem_alloc(work->step_count, sizeof(*a.reads_parameter)),
		.layers = mem_alloc(work->place_count, sizeof(*a.layers))};

	for (uint32_t i = 0; i < work->step_count; i++)
		a.groups[i] = FLOW_NOWHERE;
	join_modules(work);
	for (uint32_t k = 0; k < work->pass_count; k++) {
		a.pass = &work->passes[k];
		assign_forward(&a);
		assign_backward(&a);
	}
	place_units(&a);
	number_layers(&a);
	hand_over_parameters(&a);
	for (uint32_t i = 0; i < work->step_count; i++) {
		assign->graph.steps[i].update = i >= work->update_begin && i < work->update_end;
		assign->layers[i] = LAYER_NONE;
		assign->passes[i] = i < work->update_begin ? pass_of(work, i) : LAYER_AFTER;
		layer_pass_by(assign, i,
			i < work->update_begin ? LAYER_RULE_TURN
			: i < work->update_end ? LAYER_RULE_WINDOW
					       : LAYER_RULE_BEHIND);
		if (!work->steps[i].computes && !work->steps[i].launch && assign->passes[i] != LAYER_AFTER &&
			graph_flow(&assign->graph, i)->kind != PM_KIND_COPY &&
			graph_flow(&assign->graph, i)->kind != PM_KIND_SET)
			assign->passes[i] = LAYER_UNKNOWN;
		if (i < work->update_begin && a.groups[i] != FLOW_NOWHERE)
			assign->layers[i] = a.layers[a.groups[i]];
	}
	flow_leave_out(work, a.fixed);
	free(a.groups);
	free(a.fixed);
	free(a.reads_parameter);
	free(a.layers);
}

bool layer_flow(struct layer_assign *assign, const struct iteration_list *iterations)
{
	struct flow_work work = {.assign = assign};
	const bool known = flow_collect(&work, iterations);
	const bool found = known && flow_parameters(&work, iterations) && flow_turn(&work, iterations);

	if (known && !found)
		assign->list->doubt = LAYER_NOT_FOLLOWED;
	if (found) {
		flow_assign(&work);
		assign->followed = true;
		assign->list->followed_gathers = work.gather_count;
	}
	free(work.passes);
	free(work.steps);
	free(work.touches);
	free(work.places);
	free(work.scatters);
	free(work.versions);
	return found;
}
