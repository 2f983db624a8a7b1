/*
 * An iteration by the memory that its calls touch, from first to last: parameters, updates, passes and
 * layers, and what they become in the assignment.
 */
#include "layer_flow_assign.h"

#include <stdlib.h>

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
		flow_by(a, i, LAYER_WHY_GATHERS, parameter, FLOW_NOWHERE);
	}
}

/* The first forward step of a library that has a parameter of the group, `step` or one after it; `step`:
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
	flow_size_made(work);
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
			assign->list->items[layer].partly_sized |= !flow_is_sized(place);
		}
		flow_add_services(work, p, number);
	}
}

/* What has decided the pass of a step. */
struct decided {
	enum layer_why by;
	enum rule rule;
};

/* The phase of a step of a part. */
static enum layer_pass pass_of(
	const struct flow_work *work, const struct flow_part *part, uint32_t step, struct decided *decided)
{
	const struct flow_pass *pass = &work->passes[part->first_pass];

	if (step >= part->update_begin || work->steps[step].updates) {
		*decided = (struct decided){
			step < part->update_end ? LAYER_WHY_WINDOW : LAYER_WHY_AFTER_GRADIENTS, part->rule};
		return LAYER_AFTER;
	}
	if (work->steps[step].evaluates) {
		*decided = (struct decided){LAYER_WHY_EVALUATION, RULE_EVALUATIONS};
		return LAYER_EVALUATION;
	}
	while (step >= pass->end)
		pass++;
	*decided = (struct decided){LAYER_WHY_TURN, pass->rule};
	return step < pass->turn ? LAYER_FORWARD : LAYER_BACKWARD;
}

/* Phases and layers of a part's steps, up to the next one. */
static void hand_over_part(struct flow_assigning *a, const struct flow_part *part, uint32_t end)
{
	struct flow_work *work = a->work;
	struct layer_assign *assign = work->assign;

	for (uint32_t i = part->begin; i < end; i++) {
		struct decided decided;

		assign->graph.steps[i].update =
			(i >= part->update_begin && i < part->update_end) || work->steps[i].updates;
		assign->layers[i] = LAYER_NONE;
		assign->passes[i] = pass_of(work, part, i, &decided);
		assign->rule = decided.rule;
		layer_pass_by(assign, i, decided.by);
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

RULE_SEQUENCE(groups, struct flow_work, context->assign->rule)
RULE_SEQUENCE(units, struct flow_assigning, context->work->assign->rule)

static const struct groups_rule group_rules[] = {{RULE_GROUP_MODULES, flow_join_modules}};
static const struct units_rule unit_rules[] = {{RULE_TOUCH_UNITS, place_units}};

void flow_assign(struct flow_work *work)
{
	struct flow_assigning a = {.work = work,
		.groups = mem_alloc(work->step_count, sizeof(*a.groups)),
		.fixed = mem_alloc(work->step_count, sizeof(*a.fixed)),
		.reads_parameter = mem_alloc(work->step_count, sizeof(*a.reads_parameter)),
		.layers = mem_alloc(work->place_count, sizeof(*a.layers))};

	for (uint32_t i = 0; i < work->step_count; i++)
		a.groups[i] = FLOW_NOWHERE;
	groups_each(RULE_TABLE(group_rules), work);
	for (size_t n = 0; n < work->part_count; n++) {
		const struct flow_part *part = &work->parts[n];

		select_again(work, part);
		for (uint32_t k = part->first_pass; k < part->first_pass + part->pass_count; k++) {
			a.pass = &work->passes[k];
			flow_place_pass(&a);
		}
	}
	units_each(RULE_TABLE(unit_rules), &a);
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

	assign->lost = known && !found;
	if (assign->lost)
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
	free(work.versions);
	return found;
}
