/*
 * Exchanges of gradients, and the layers that they belong to: those whose gradients lie in what is sent,
 * because they are there, because they were copied there, or because a layer's backward calls wrote it.
 */
#include "layer_assign.h"
#include "timeline/constants.h"

#include <stdlib.h>

/* A part for each layer that has any of the bytes. */
static void add_shares(struct layer_list *list, struct layer_role *role, const double *bytes)
{
	double all = 0;

	for (uint32_t i = 0; i < list->count; i++)
		all += bytes[i];
	for (uint32_t i = 0; i < list->count; i++)
		if (bytes[i] > 0)
			layer_add_part(list, role, i, bytes[i] / all);
}

void layer_add_parameter_parts(const struct layer_assign *assign, struct layer_role *role, const bool *wanted)
{
	const struct graph *graph = &assign->graph;
	struct layer_list *list = assign->list;
	double *bytes = mem_alloc(list->count, sizeof(*bytes));

	for (uint32_t p = 0; p < graph->parameter_count; p++)
		if (wanted[p] && assign->owners[p] != LAYER_NONE)
			bytes[assign->owners[p]] += (double)graph->parameters[p].bytes;
	add_shares(list, role, bytes);
	free(bytes);
}

/* Does a kernel of the program's own have an address among its arguments that the flow works on? */
static bool touches_any(const struct layer_assign *assign, uint32_t step, const struct flow *flow)
{
	size_t count;
	const struct timeline_touch *touches = layer_touches(assign, assign->graph.steps[step].call, &count);

	if (graph_flow(&assign->graph, step)->kind != PM_KIND_LAUNCH)
		return false; /* a table that is copied is not worked on by the copy */
	for (size_t t = 0; t < count; t++)
		for (uint32_t i = 0; i < flow->access_count; i++)
			if (flow_holds(&flow->accesses[i], touches[t].address))
				return true;
	return false;
}

bool layer_meets_computation(const struct layer_assign *assign, const struct flow *flow)
{
	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const struct flow *other = graph_flow(&assign->graph, i);

		if (touches_any(assign, i, flow))
			return true;
		if (!(assign->model->roles[assign->graph.steps[i].operation].flags & WORKER_CORE))
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++)
			for (uint32_t k = 0; k < other->access_count; k++)
				if (flow_meets(&flow->accesses[j], &other->accesses[k]))
					return true;
	}
	return false;
}

/* Where gradients are not known by their parameters: the layers whose backward calls write what is sent. */
static void add_writer_parts(
	const struct layer_assign *assign, struct layer_role *role, const struct flow *exchange)
{
	struct layer_list *list = assign->list;
	double *bytes = mem_alloc(list->count, sizeof(*bytes));

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const struct flow *flow = graph_flow(&assign->graph, i);

		if (assign->passes[i] != LAYER_BACKWARD || assign->layers[i] == LAYER_NONE)
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++)
			for (uint32_t k = 0; k < exchange->access_count && flow_writes(&flow->accesses[j]);
				k++)
				if (!flow_writes(&exchange->accesses[k]) &&
					flow_meets(&exchange->accesses[k], &flow->accesses[j]))
					bytes[assign->layers[i]] += (double)flow->accesses[j].bytes;
	}
	add_shares(list, role, bytes);
	free(bytes);
}

/* From one place on the device to another, or from and to the host. */
static bool is_copy(const struct flow *flow, const struct flow_access **from, const struct flow_access **to)
{
	if (flow->kind != PM_KIND_COPY || flow->access_count != 2)
		return false;
	*from = &flow->accesses[flow_writes(&flow->accesses[0])];
	*to = &flow->accesses[!flow_writes(&flow->accesses[0])];
	return !flow_writes(*from);
}

/* Gradients that lie in what `step` sends because they were copied there: a bucket of several layers. */
static void find_copied(
	const struct layer_assign *assign, const struct flow *exchange, uint32_t step, bool *wanted)
{
	const struct graph *graph = &assign->graph;

	for (uint32_t i = 0; i < step && exchange->access_count; i++) {
		const struct flow *flow = graph_flow(graph, i);
		const struct flow_access *from, *to;

		if (!is_copy(flow, &from, &to) || !flow_meets(to, &exchange->accesses[0]))
			continue;
		for (uint32_t p = 0; p < graph->parameter_count; p++) {
			uint64_t gradient = graph->parameters[p].gradient;

			/* The buffer may have served another bucket since. */
			if (flow_holds(from, gradient) &&
				graph_writer(graph, step, to->address + (gradient - from->address)) == i)
				wanted[p] = true;
		}
	}
}

/* Is a gradient copied to what is sent, in any iteration? */
static bool takes_gradients(const struct layer_assign *assign, const struct flow *exchange)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];

	for (uint32_t i = 0; i < process->operation_count && exchange->access_count; i++) {
		const struct flow *flow = &assign->model->flows[process->first_operation + i];
		const struct flow_access *from, *to;

		if (!is_copy(flow, &from, &to) || !flow_meets(to, &exchange->accesses[0]))
			continue;
		for (uint32_t p = 0; p < assign->graph.parameter_count; p++)
			if (flow_holds(from, assign->graph.parameters[p].gradient))
				return true;
	}
	return false;
}

static bool is_small(const struct flow *exchange)
{
	for (uint32_t i = 0; i < exchange->access_count; i++)
		if (exchange->accesses[i].bytes > EXCHANGE_FEW_BYTES)
			return false;
	return true;
}

/* An exchange; in a role's parts its layers. `wanted`: by parameter, room for the rules. */
struct exchange {
	const struct layer_assign *assign;
	const struct flow *flow;
	uint32_t step;
	bool *wanted;
	struct layer_role role;
	enum rule rule; /* at work */
};

RULE_SEARCH(sends, bool, false, struct exchange, context->rule)

/* Each adds parts, or says that it is a message; and notes why. */

static bool sends_by(struct exchange *exchange, enum layer_why why)
{
	if (exchange->role.part_count == 0)
		return false;
	exchange->role.reason.layer = (uint8_t)why;
	exchange->role.reason.layer_decided = layer_decided(exchange->rule);
	return true;
}

/* Gradients, or parameters where it holds none. */
static bool sends_gradients(struct exchange *exchange)
{
	const struct graph *graph = &exchange->assign->graph;

	for (int parameters = 0; parameters < 2 && exchange->role.part_count == 0; parameters++) {
		for (uint32_t p = 0; p < graph->parameter_count; p++) {
			const struct graph_parameter *parameter = &graph->parameters[p];
			const uint64_t address = parameters ? parameter->address : parameter->gradient;

			for (uint32_t i = 0; i < exchange->flow->access_count && address; i++)
				exchange->wanted[p] |= flow_holds(&exchange->flow->accesses[i], address);
		}
		layer_add_parameter_parts(exchange->assign, &exchange->role, exchange->wanted);
	}
	return sends_by(exchange, LAYER_WHY_SENDS);
}

static bool sends_packed(struct exchange *exchange)
{
	if (exchange->flow->kind != PM_KIND_COMM)
		return false;
	find_copied(exchange->assign, exchange->flow, exchange->step, exchange->wanted);
	layer_add_parameter_parts(exchange->assign, &exchange->role, exchange->wanted);
	return sends_by(exchange, LAYER_WHY_PACKED);
}

static bool sends_written(struct exchange *exchange)
{
	add_writer_parts(exchange->assign, &exchange->role, exchange->flow);
	return sends_by(exchange, LAYER_WHY_WRITTEN);
}

/* A sum of losses, for a message: a few numbers that nothing computed here depends on. */
static bool sends_little(struct exchange *exchange)
{
	const struct layer_assign *assign = exchange->assign;

	if (!is_small(exchange->flow) || layer_meets_computation(assign, exchange->flow) ||
		takes_gradients(assign, exchange->flow))
		return false;
	exchange->role.phase = PHASE_OTHER;
	exchange->role.reason.phase_decided = layer_decided(exchange->rule);
	return true;
}

static const struct sends_rule sends_rules[] = {
	{RULE_SENDS_GRADIENTS, sends_gradients},
	{RULE_SENDS_PACKED, sends_packed},
	{RULE_SENDS_WRITTEN, sends_written},
	{RULE_SENDS_LITTLE, sends_little},
};

struct layer_role layer_exchange_role(
	const struct layer_assign *assign, const struct flow *flow, uint32_t step)
{
	struct exchange exchange = {.assign = assign,
		.flow = flow,
		.step = step,
		.wanted = mem_alloc(assign->graph.parameter_count, sizeof(*exchange.wanted)),
		.role = {.phase = PHASE_COMMUNICATION,
			.known = true,
			.reason = {.phase = LAYER_WHY_FUNCTION}},
		.rule = RULE_NONE};

	sends_first(RULE_TABLE(sends_rules), &exchange);
	free(exchange.wanted);
	return exchange.role;
}
