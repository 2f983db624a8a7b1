/*
 * From passes and layers of an iteration's steps to a role for every call: computations are known by their
 * place in the sequence; copies, exchanges and the rest by their operation.
 */
#include "layer_assign.h"
#include "parameter_version.h"
#include "trace/trace.h"

#include <stdlib.h>

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
		.reason = {.phase = LAYER_WHY_UPDATES, .layer = LAYER_WHY_SERVES}};

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
	const uint8_t why = assign->reasons[step].phase;

	return why == LAYER_WHY_OPERATOR || why == LAYER_WHY_NODE || why == LAYER_WHY_STEP;
}

/* `told`: it is known without what it is copied for, which then is no communication. */
static struct layer_role copy_role(const struct layer_assign *assign, uint32_t operation, bool told)
{
	const struct flow *flow = &assign->model->flows[operation];
	const struct flow_access *source = NULL, *target = NULL;
	struct layer_role role = {
		.phase = PHASE_OTHER, .known = true, .reason = {.phase = LAYER_WHY_DIRECTION}};
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
	struct layer_role role = {.phase = PHASE_OTHER, .known = true, .reason = {.phase = LAYER_WHY_GRAPH}};

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
static bool is_evaluation(enum layer_why why)
{
	return why == LAYER_WHY_OPERATOR || why == LAYER_WHY_FROZEN || why == LAYER_WHY_NO_GRADIENTS;
}

/* A call of which the role is looked for: a step, or an operation that the iteration does not show. */
struct asked {
	struct layer_assign *assign;
	uint32_t step; /* GRAPH_NONE: none of the iteration */
	uint32_t operation;
	const struct layer_role *roles; /* by step, of those after it */
	struct layer_role role;
};

RULE_SEARCH(asked, bool, false, struct asked, context->assign->rule)

static const struct flow *asked_flow(const struct asked *call)
{
	return &call->assign->model->flows[call->operation];
}

/* The role is this, for what the rule at work says unless it says another itself. */
static bool is_role(struct asked *call, struct layer_role role)
{
	const uint8_t decided = layer_decided(call->assign->rule);

	if (!role.reason.phase_decided && role.reason.phase)
		role.reason.phase_decided = decided;
	if (!role.reason.layer_decided && role.reason.layer)
		role.reason.layer_decided = decided;
	call->role = role;
	return true;
}

static bool by_graph(struct asked *call)
{
	if (!is_launch(call->assign, call->operation))
		return false;
	return is_role(call, call->step != GRAPH_NONE ? launch_role(call->assign, call->roles, call->step)
						      : (struct layer_role){.phase = PHASE_GRAPH,
								.reason = {.phase = LAYER_WHY_GRAPH}});
}

static bool by_exchange(struct asked *call)
{
	const struct layer_assign *assign = call->assign;
	const struct flow *flow = asked_flow(call);

	if (flow->kind != PM_KIND_COMM)
		return false;
	if (!layer_is_message(assign, call->operation))
		return is_role(
			call, layer_exchange_role(assign, flow,
				      call->step != GRAPH_NONE ? call->step : assign->graph.step_count));
	return is_role(call, call->step != GRAPH_NONE ? layer_message_role(assign, flow, call->step)
						      : layer_other_message_role(assign, call->operation));
}

static bool by_writing(struct asked *call)
{
	const struct graph *graph = &call->assign->graph;
	struct layer_role role = {
		.phase = PHASE_UPDATE, .known = true, .reason = {.phase = LAYER_WHY_UPDATES}};
	bool *wanted;

	if (call->step == GRAPH_NONE || !graph->steps[call->step].update)
		return false;
	wanted = mem_alloc(graph->parameter_count, sizeof(*wanted));
	for (size_t i = 0; i < graph->service_count; i++)
		if (graph->services[i].step == call->step)
			wanted[graph->services[i].parameter] = true;
	layer_add_parameter_parts(call->assign, &role, wanted);
	free(wanted);
	if (call->assign->reasons[call->step].phase == LAYER_WHY_WINDOW)
		role.reason = call->assign->reasons[call->step];
	role.reason.call = 0;
	role.reason.address = 0;
	role.reason.layer = role.part_count ? LAYER_WHY_SERVES : LAYER_WHY_NONE;
	role.reason.layer_decided = role.part_count ? role.reason.phase_decided : 0;
	return is_role(call, role);
}

/* A batch is not split by the backward pass, and what that brings from the host are its own tables. */
static bool by_direction(struct asked *call)
{
	const struct layer_assign *assign = call->assign;
	const bool is_step = call->step != GRAPH_NONE;

	if (asked_flow(call)->kind != PM_KIND_COPY || (is_step && assign->tables[call->step]))
		return false;
	is_role(call, copy_role(assign, call->operation, is_step && is_told(assign, call->step)));
	return !is_step ||
	       (call->role.phase != PHASE_OTHER && assign->reasons[call->step].phase != LAYER_WHY_NODE);
}

static const struct asked_rule call_rules[] = {
	{RULE_CALL_GRAPH, by_graph},
	{RULE_CALL_FUNCTION, by_exchange},
	{RULE_CALL_WRITES, by_writing},
	{RULE_CALL_DIRECTION, by_direction},
};

/* Of a step that goes forward or backward. */
static void take_pass(struct asked *call)
{
	const struct layer_assign *assign = call->assign;
	struct layer_role *role = &call->role;

	role->reason = assign->reasons[call->step];
	role->again = assign->again[call->step];
	role->phase =
		assign->passes[call->step] == LAYER_FORWARD && !role->again ? PHASE_FORWARD : PHASE_BACKWARD;
	if (role->again) {
		role->reason.phase = LAYER_WHY_RECOMPUTE;
		if (!assign->said || !assign->said[call->step])
			role->reason.phase_decided = layer_decided(RULE_RECOMPUTED);
	}
	if (assign->layers[call->step] != LAYER_NONE) {
		layer_add_part(assign->list, role, assign->layers[call->step], 1);
	} else {
		role->reason.layer = LAYER_WHY_NONE;
		role->reason.layer_decided = 0;
	}
	if (role->reason.call) /* which was a step */
		role->reason.call = assign->graph.steps[role->reason.call - 1].call + 1;
}

/* Of a step of an evaluation, or after the passes. */
static void take_phase(struct asked *call, enum phase phase, enum layer_why by)
{
	call->role.phase = phase;
	call->role.reason.phase = (uint8_t)by;
	call->role.reason.phase_decided = call->assign->reasons[call->step].phase_decided;
}

/* What passes and layers say of a step. */
static void take_step(struct asked *call)
{
	const struct layer_assign *assign = call->assign;
	const struct layer_reason *reason = &assign->reasons[call->step];
	const bool asked = reason->layer == LAYER_WHY_ASKED;

	switch (assign->passes[call->step]) {
	case LAYER_FORWARD:
	case LAYER_BACKWARD:
		take_pass(call);
		break;
	case LAYER_EVALUATION:
		take_phase(call, PHASE_OTHER,
			is_evaluation(reason->phase) ? reason->phase : LAYER_WHY_EVALUATION);
		break;
	case LAYER_AFTER:
		if (asked_flow(call)->kind == PM_KIND_COPY && !asked)
			break;
		take_phase(call, PHASE_UPDATE, reason->phase);
		if (assign->layers[call->step] == LAYER_NONE || !asked)
			break;
		call->role.reason.layer = LAYER_WHY_ASKED;
		call->role.reason.layer_decided = reason->layer_decided;
		layer_add_part(assign->list, &call->role, assign->layers[call->step], 1);
		break;
	default:
		break;
	}
}

static struct layer_role plain_role(enum pm_kind kind)
{
	struct layer_role role = {.phase = plain_phase(kind)};

	if (role.phase != PHASE_OTHER) {
		role.reason.phase = LAYER_WHY_FUNCTION;
		role.reason.phase_decided = layer_decided(RULE_CALL_FUNCTION);
	}
	return role;
}

static struct layer_role step_role(struct layer_assign *assign, const struct layer_role *roles, uint32_t step)
{
	struct asked call = {assign, step, assign->graph.steps[step].operation, roles,
		plain_role(graph_flow(&assign->graph, step)->kind)};

	call.role.known = true;
	if (!asked_first(RULE_TABLE(call_rules), &call))
		take_step(&call);
	return call.role;
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
		known->reason.layer = LAYER_WHY_NONE;
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

void layer_set_roles(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	struct layer_list *list = assign->list;
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	struct layer_role *roles = mem_alloc(graph->step_count, sizeof(*roles));
	struct layer_gap gap = {0};

	list->core_roles = arena_alloc(&list->arena, graph->step_count, sizeof(*list->core_roles));
	/* A launch goes by the steps after it. */
	for (uint32_t i = graph->step_count; i-- > 0;)
		roles[i] = step_role(assign, roles, i);
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
		struct asked call = {assign, GRAPH_NONE, number, NULL, *role};

		if (role->known)
			continue;
		asked_first(RULE_TABLE(call_rules), &call);
		*role = call.role;
		role->known = true;
	}
}

void layer_tell_roles(struct layer_assign *assign, struct layer_places *to)
{
	const struct graph *graph = &assign->graph;
	struct layer_role *roles = mem_alloc(graph->step_count, sizeof(*roles));

	to->told = arena_alloc(&assign->list->arena, graph->step_count, sizeof(*to->told));
	for (uint32_t i = graph->step_count; i-- > 0;)
		roles[i] = step_role(assign, roles, i);
	for (uint32_t i = 0; i < graph->step_count; i++) {
		if (!(assign->model->roles[graph->steps[i].operation].flags & WORKER_CORE))
			continue;
		roles[i].known = assign->said[i] == LAYER_SAID;
		to->told[to->told_count++] = roles[i];
	}
	free(roles);
}

void layer_set_plain_roles(struct layer_assign *assign)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	struct layer_list *list = assign->list;

	list->operation_roles =
		arena_alloc(&list->arena, process->operation_count, sizeof(*list->operation_roles));
	for (uint32_t i = 0; i < process->operation_count; i++)
		list->operation_roles[i] =
			plain_role(assign->model->flows[process->first_operation + i].kind);
}
