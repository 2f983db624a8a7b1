/*
 * From one usual iteration to a role for every call: see layer.h. Computations are known by their place in
 * the sequence; copies, exchanges and the rest by their operation.
 */
#include "layer_assign.h"
#include "layer_framework.h"
#include "parameter_version.h"
#include "rule.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

void layer_add_part(struct layer_list *list, struct layer_role *role, uint32_t layer, double share)
{
	if (role->part_count == 0)
		role->first_part = (uint32_t)list->part_count;
	*MEM_PUSH(list->parts, list->part_count, list->part_room) = (struct layer_part){layer, share};
	role->part_count++;
}

static bool is_device_address(const struct layer_assign *assign, const struct flow_access *access)
{
	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const struct flow *flow = graph_flow(&assign->graph, i);

		for (uint32_t j = 0; j < flow->access_count && flow->kind != PM_KIND_COPY; j++)
			if (flow_meets(access, &flow->accesses[j]))
				return true;
	}
	return false;
}

/* By operation of the process: is it called in an iteration, or after one? The caller frees it. */
static bool *recurring(
	const struct timeline *timeline, const struct worker *worker, const struct iteration_list *iterations)
{
	const struct timeline_process *process = &timeline->processes[worker->process];
	bool *recur = mem_alloc(process->operation_count, sizeof(*recur));

	for (uint64_t i = worker->calls[iterations->items[0].first_call];
		i < process->first_call + process->call_count; i++)
		recur[timeline_call(timeline, i).operation - process->first_operation] = true;
	return recur;
}

/*
 * Is there a copy in that direction that writes (from the host) or reads (within devices) here? So a
 * part of a batch is known by the batch that came before it, and the batch by the parts made of it. What was
 * copied in the set-up alone is of no batch.
 */
static bool meets_copy(const struct layer_assign *assign, uint32_t operation, const struct flow_access *here,
	enum pm_direction direction)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];

	for (uint32_t i = 0; i < process->operation_count; i++) {
		uint32_t number = process->first_operation + i;
		const struct flow *flow = &assign->model->flows[number];

		if (flow->kind != PM_KIND_COPY || number == operation || !assign->recurs[i] ||
			timeline_direction(assign->timeline, &assign->timeline->operations[number]) !=
				direction)
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++)
			if (flow_writes(&flow->accesses[j]) == (direction == PM_DIRECTION_H2D) &&
				flow_meets(here, &flow->accesses[j]))
				return true;
	}
	return false;
}

/* A new version of parameters is the start of their update. */
static struct layer_role version_role(const struct layer_assign *assign, const struct flow *flow)
{
	const struct graph *graph = &assign->graph;
	bool *wanted = mem_alloc(graph->parameter_count, sizeof(*wanted));
	struct layer_role role = {.phase = PHASE_UPDATE,
		.known = true,
		.reason = {.phase = LAYER_RULE_UPDATES, .layer = LAYER_RULE_SERVES}};

	for (uint32_t p = 0; p < graph->parameter_count; p++)
		wanted[p] = flow_holds(&flow->accesses[0], graph->parameters[p].address);
	layer_add_parameter_parts(assign, &role, wanted);
	free(wanted);
	return role;
}

/* Is there anybody to exchange with: another device of the process, or a collective? */
static bool has_peers(const struct layer_assign *assign)
{
	const struct worker_model *model = assign->model;

	for (size_t i = 0; i < model->worker_count; i++)
		if (model->workers[i].process == assign->worker->process &&
			model->workers[i].device != assign->worker->device)
			return true;
	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (graph_flow(&assign->graph, i)->kind == PM_KIND_COMM)
			return true;
	return false;
}

/* Is a graph launched, of whose operations it is not known what they work on? */
static bool launches_graph(const struct layer_assign *assign)
{
	const struct timeline *timeline = assign->timeline;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const struct timeline_operation *operation =
			&timeline->operations[assign->graph.steps[i].operation];

		if (timeline_is_launch(&timeline->functions[operation->function]))
			return true;
	}
	return false;
}

/* Are the program's own kernels launched in the passes, of none of which it is known what they work on? */
static bool launches_unknown(const struct layer_assign *assign)
{
	bool any = false;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		size_t count;

		if (graph_flow(&assign->graph, i)->kind != PM_KIND_LAUNCH ||
			(assign->passes[i] != LAYER_FORWARD && assign->passes[i] != LAYER_BACKWARD))
			continue;
		any = true;
		layer_touches(assign, assign->graph.steps[i].call, &count);
		if (count)
			return false;
	}
	return any;
}

/* Has the framework said in which phase a step is? */
static bool is_told(const struct layer_assign *assign, uint32_t step)
{
	const uint8_t rule = assign->reasons[step].phase;

	return rule == LAYER_RULE_OPERATOR || rule == LAYER_RULE_NODE || rule == LAYER_RULE_STEP;
}

/* `told`: it is known without what it is copied for, which then is no communication. */
static struct layer_role copy_role(const struct layer_assign *assign, uint32_t operation, bool told)
{
	const struct flow *flow = &assign->model->flows[operation];
	const struct flow_access *source = NULL, *target = NULL;
	struct layer_role role = {
		.phase = PHASE_OTHER, .known = true, .reason = {.phase = LAYER_RULE_DIRECTION}};
	enum pm_direction direction;

	if (version_is_copy(flow))
		return version_role(assign, flow);
	direction = timeline_direction(assign->timeline, &assign->timeline->operations[operation]);
	for (uint32_t i = 0; i < flow->access_count; i++) {
		if (flow_writes(&flow->accesses[i]))
			target = &flow->accesses[i];
		else
			source = &flow->accesses[i];
	}
	if (direction >= PM_DIRECTION_DEFAULT && source && target) {
		bool from = is_device_address(assign, source), to = is_device_address(assign, target);

		direction = from && to ? PM_DIRECTION_D2D
			    : to       ? PM_DIRECTION_H2D
			    : from     ? PM_DIRECTION_D2H
				       : PM_DIRECTION_DEFAULT;
	}
	if (direction == PM_DIRECTION_H2D) {
		/* Not the input: nothing that is computed reads it, as far as that is known. */
		role.phase = !target || layer_meets_computation(assign, flow) ||
					     assign->graph.step_count == 0 || launches_graph(assign) ||
					     launches_unknown(assign) ||
					     meets_copy(assign, operation, target, PM_DIRECTION_D2D)
				     ? PHASE_H2D
				     : PHASE_OTHER;
	} else if (direction == PM_DIRECTION_D2D && source) {
		struct layer_role exchange = {0};

		if (!told && has_peers(assign))
			exchange = layer_exchange_role(assign, flow, assign->graph.step_count);
		if (exchange.part_count)
			return exchange;
		role.phase = meets_copy(assign, operation, source, PM_DIRECTION_H2D) ? PHASE_MD : PHASE_OTHER;
	}
	return role;
}

/* What a call is when no iteration shows it: by its function alone. */
static enum phase plain_phase(enum pm_kind kind)
{
	switch (kind) {
	case PM_KIND_READ:
		return PHASE_IO;
	case PM_KIND_FORWARD:
		return PHASE_FORWARD;
	case PM_KIND_BACKWARD:
		return PHASE_BACKWARD;
	case PM_KIND_COMM:
		return PHASE_COMMUNICATION;
	default:
		return PHASE_OTHER;
	}
}

/*
 * The launch of a graph: where all its operations belong, if they are of one phase; what is none (memory set,
 * results fetched) aside. Those are the replayed steps after it, whose roles are known.
 */
static struct layer_role launch_role(
	const struct layer_assign *assign, const struct layer_role *roles, uint32_t step)
{
	const struct graph_step *steps = assign->graph.steps;
	struct layer_role role = {.phase = PHASE_OTHER, .known = true, .reason = {.phase = LAYER_RULE_GRAPH}};

	for (uint32_t i = step + 1; i < assign->graph.step_count; i++) {
		if (!(timeline_call(assign->timeline, steps[i].call).flags & TIMELINE_FLAG_REPLAYED))
			break;
		if (roles[i].phase == PHASE_OTHER)
			continue;
		role.exchanges |= graph_flow(&assign->graph, i)->kind == PM_KIND_COMM;
		role.phase = role.phase == PHASE_OTHER || role.phase == roles[i].phase ? roles[i].phase
										       : PHASE_GRAPH;
	}
	if (role.phase == PHASE_OTHER)
		role.phase = PHASE_GRAPH;
	return role;
}

static bool is_launch(const struct layer_assign *assign, uint32_t operation)
{
	return timeline_is_launch(
		&assign->timeline->functions[assign->timeline->operations[operation].function]);
}

/* Is it PyTorch's word on work of no phase? */
static bool is_evaluation_rule(enum layer_rule rule)
{
	return rule == LAYER_RULE_OPERATOR || rule == LAYER_RULE_FROZEN || rule == LAYER_RULE_NO_GRADIENTS;
}

static struct layer_role step_role(struct layer_assign *assign, uint32_t step)
{
	const struct graph *graph = &assign->graph;
	const struct flow *flow = graph_flow(graph, step);
	struct layer_role role = {.phase = plain_phase(flow->kind), .known = true};

	role.reason.phase = role.phase == PHASE_OTHER ? LAYER_RULE_NONE : LAYER_RULE_FUNCTION;

	if (flow->kind == PM_KIND_COMM)
		return layer_is_message(assign, graph->steps[step].operation)
			       ? layer_message_role(assign, flow, step)
			       : layer_exchange_role(assign, flow, step);
	if (graph->steps[step].update) {
		bool *wanted = mem_alloc(graph->parameter_count, sizeof(*wanted));

		for (size_t i = 0; i < graph->service_count; i++)
			if (graph->services[i].step == step)
				wanted[graph->services[i].parameter] = true;
		role.phase = PHASE_UPDATE;
		layer_add_parameter_parts(assign, &role, wanted);
		role.reason.phase = assign->reasons[step].phase == LAYER_RULE_WINDOW ? LAYER_RULE_WINDOW
										     : LAYER_RULE_UPDATES;
		role.reason.layer = role.part_count ? LAYER_RULE_SERVES : LAYER_RULE_NONE;
		free(wanted);
		return role;
	}
	if (flow->kind == PM_KIND_COPY && !assign->tables[step]) {
		role = copy_role(assign, graph->steps[step].operation, is_told(assign, step));
		/* a batch is not split by the backward pass, and what that brings from the host are its own
		 * tables */
		if (role.phase != PHASE_OTHER && assign->reasons[step].phase != LAYER_RULE_NODE)
			return role;
	}
	if (assign->passes[step] == LAYER_FORWARD || assign->passes[step] == LAYER_BACKWARD) {
		role.reason = assign->reasons[step];
		role.again = assign->again[step];
		role.phase =
			assign->passes[step] == LAYER_FORWARD && !role.again ? PHASE_FORWARD : PHASE_BACKWARD;
		if (role.again)
			role.reason.phase = LAYER_RULE_RECOMPUTE;
		if (assign->layers[step] != LAYER_NONE)
			layer_add_part(assign->list, &role, assign->layers[step], 1);
		else
			role.reason.layer = LAYER_RULE_NONE;
		if (role.reason.call) /* which was a step */
			role.reason.call = graph->steps[role.reason.call - 1].call + 1;
	} else if (assign->passes[step] == LAYER_EVALUATION) {
		role.phase = PHASE_OTHER;
		role.reason.phase = is_evaluation_rule(assign->reasons[step].phase) ? assign->reasons[step].phase
										    : LAYER_RULE_EVALUATION;
	} else if (assign->passes[step] == LAYER_AFTER &&
		   (flow->kind != PM_KIND_COPY || assign->reasons[step].layer == LAYER_RULE_ASKED)) {
		role.phase = PHASE_UPDATE;
		role.reason.phase = assign->reasons[step].phase;
		if (assign->layers[step] != LAYER_NONE && assign->reasons[step].layer == LAYER_RULE_ASKED) {
			role.reason.layer = LAYER_RULE_ASKED;
			layer_add_part(assign->list, &role, assign->layers[step], 1);
		}
	}
	return role;
}

bool layer_are_of_one(
	const struct layer_list *list, const struct layer_role *one, const struct layer_role *other)
{
	return one->part_count == other->part_count &&
	       (one->part_count != 1 ||
		       list->parts[one->first_part].layer == list->parts[other->first_part].layer);
}

/* An operation's role is that of its first step. Copies, which no place in the iteration tells apart, may be
 * of several layers: of which one such a copy is, is not known. */
static void set_operation_role(struct layer_assign *assign, uint32_t number, const struct layer_role *role)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	struct layer_role *known = &assign->list->operation_roles[number - process->first_operation];

	if (!known->known)
		*known = *role;
	else if ((assign->model->roles[number].flags & WORKER_BESIDE) && known->phase == role->phase &&
		 !layer_are_of_one(assign->list, known, role)) {
		known->part_count = 0;
		known->reason.layer = LAYER_RULE_NONE;
	}
}

/* Of a computation its role; of a set or copy what the framework says of it. */
static void note_place(
	struct layer_assign *assign, uint32_t step, const struct layer_role *role, struct layer_gap *gap)
{
	struct layer_list *list = assign->list;
	const uint32_t number = assign->graph.steps[step].operation;
	const uint32_t flags = assign->model->roles[number].flags;

	if (flags & WORKER_CORE) {
		list->core_roles[list->core_count++] = *role;
		layer_gap_pass(gap);
	} else if (flags & WORKER_BESIDE) {
		const struct layer_beside beside = {.gap = (uint32_t)gap->core,
			.operation = number,
			.order = layer_gap_order(gap, number),
			.role = *role};

		if (assign->said && assign->said[step])
			layer_note_beside(list, &beside);
	}
}

static void set_roles(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	struct layer_list *list = assign->list;
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	struct layer_role *roles = mem_alloc(graph->step_count, sizeof(*roles));
	struct layer_gap gap = {0};

	list->core_roles = arena_alloc(&list->arena, graph->step_count, sizeof(*list->core_roles));
	/* A launch goes by the steps after it. */
	for (uint32_t i = graph->step_count; i-- > 0;)
		roles[i] = is_launch(assign, graph->steps[i].operation) ? launch_role(assign, roles, i)
									: step_role(assign, i);
	for (uint32_t i = 0; i < graph->step_count; i++) {
		const uint32_t number = graph->steps[i].operation;

		note_place(assign, i, &roles[i], &gap);
		set_operation_role(assign, number, &roles[i]);
	}
	free(roles);
	layer_sort_besides(list);
	for (size_t i = 0; i < assign->worker->call_count; i++) {
		uint32_t number = timeline_call(assign->timeline, assign->worker->calls[i]).operation;
		struct layer_role *role = &list->operation_roles[number - process->first_operation];
		const struct flow *flow = &assign->model->flows[number];

		if (role->known)
			continue;
		if (flow->kind == PM_KIND_COMM && layer_is_message(assign, number))
			*role = layer_other_message_role(assign, number);
		else if (flow->kind == PM_KIND_COMM)
			*role = layer_exchange_role(assign, flow, assign->graph.step_count);
		else if (flow->kind == PM_KIND_COPY)
			*role = copy_role(assign, number, false);
		else if (is_launch(assign, number))
			*role = (struct layer_role){
				.phase = PHASE_GRAPH, .reason = {.phase = LAYER_RULE_GRAPH}};
		role->known = true;
	}
}

/* Does each call of the update serve a parameter? */
static bool all_serve(const struct graph *graph)
{
	bool *serve = mem_alloc(graph->step_count, sizeof(*serve)), all = true;

	for (size_t i = 0; i < graph->service_count; i++)
		serve[graph->services[i].step] = true;
	for (uint32_t i = 0; i < graph->step_count; i++)
		all &= serve[i] || !graph->steps[i].update;
	free(serve);
	return all;
}

/* Is the update of each parameter followed back to the call that made its gradient, all by what libraries'
 * calls work on? */
static bool libraries_update(const struct graph *graph)
{
	for (uint32_t p = 0; p < graph->parameter_count; p++)
		if (!graph->parameters[p].gradient)
			return false;
	return graph->parameter_count > 0 && all_serve(graph);
}

void layer_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list)
{
	struct layer_assign assign = {.timeline = model->timeline,
		.model = model,
		.worker = worker,
		.list = list,
		.framework = iterations->framework};
	const struct timeline_process *process = &model->timeline->processes[worker->process];

	memset(list, 0, sizeof(*list));
	list->operation_roles =
		arena_alloc(&list->arena, process->operation_count, sizeof(*list->operation_roles));
	for (uint32_t i = 0; i < process->operation_count; i++) {
		const enum phase phase = plain_phase(model->flows[process->first_operation + i].kind);

		list->operation_roles[i].phase = phase;
		list->operation_roles[i].reason.phase =
			phase == PHASE_OTHER ? LAYER_RULE_NONE : LAYER_RULE_FUNCTION;
	}
	list->iteration = iterations->model;
	if (layer_given(model, worker, iterations, list) || iterations->count == 0)
		return;
	layer_find_replays(&assign);
	assign.iteration = list->iteration =
		layer_told_iteration(&assign, iterations, layer_flow_iteration(&assign, iterations));
	graph_init(&assign.graph, model, worker, &iterations->items[assign.iteration]);
	assign.recurs = recurring(model->timeline, worker, iterations);
	assign.passes = mem_alloc(assign.graph.step_count, sizeof(*assign.passes));
	assign.anchors = mem_alloc(assign.graph.step_count, sizeof(*assign.anchors));
	assign.layers = mem_alloc(assign.graph.step_count, sizeof(*assign.layers));
	assign.tables = mem_alloc(assign.graph.step_count, sizeof(*assign.tables));
	assign.again = mem_alloc(assign.graph.step_count, sizeof(*assign.again));
	assign.reasons = mem_alloc(assign.graph.step_count, sizeof(*assign.reasons));
	assign.copies = mem_alloc(assign.graph.step_count, sizeof(*assign.copies));
	assign.owners = mem_alloc(assign.graph.parameter_count, sizeof(*assign.owners));
	for (size_t i = 0; i < assign.graph.parameter_count; i++)
		assign.owners[i] = LAYER_NONE;
	if (libraries_update(&assign.graph) || !rule_is_on(RULE_FLOW) || !layer_flow(&assign, iterations)) {
		layer_passes(&assign);
		layer_steps(&assign);
		if (rule_is_on(RULE_RECOMPUTED))
			layer_again(&assign);
	}
	if (rule_is_on(RULE_MODULE_NAMES))
		layer_modules(&assign);
	if (rule_is_on(RULE_FRAMEWORK))
		layer_framework(&assign);
	layer_count_elements(&assign);
	set_roles(&assign);
	layer_note_said(&assign);
	if (rule_is_on(RULE_ALIGNED))
		layer_place_cores(model, worker, iterations, list);
	free(assign.recurs);
	free(assign.passes);
	free(assign.anchors);
	free(assign.layers);
	free(assign.tables);
	free(assign.again);
	free(assign.reasons);
	free(assign.copies);
	free(assign.owners);
	free(assign.said);
	free(assign.specials);
	layer_free_replays(&assign);
	graph_free(&assign.graph);
}

void layer_free(struct layer_list *list)
{
	free(list->items);
	free(list->parts);
	free(list->besides);
	arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}
