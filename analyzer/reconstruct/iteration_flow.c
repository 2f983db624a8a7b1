/* The flow of data through an iteration: see graph.h. */
#include "iteration_flow.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 20000
#define MOST_PRODUCERS 64 /* of one operand: buckets are put together from many gradients */
#define MOST_DEPTH 12     /* calls between a gradient and its parameter */

const struct flow *graph_flow(const struct graph *graph, uint32_t step)
{
	return &graph->model->flows[graph->steps[step].operation];
}

static bool meets(const struct flow_access *a, const struct flow_access *b)
{
	return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static bool covers(const struct flow_access *a, uint64_t address)
{
	return a->address <= address && address < a->address + a->bytes;
}

uint32_t graph_writer(const struct graph *graph, uint32_t step, uint64_t address)
{
	while (step-- > 0) {
		const struct flow *flow = graph_flow(graph, step);

		for (uint32_t i = 0; i < flow->access_count; i++)
			if (flow_writes(&flow->accesses[i]) && covers(&flow->accesses[i], address))
				return step;
	}
	return GRAPH_NONE;
}

uint32_t graph_parameter(const struct graph *graph, uint64_t address)
{
	for (uint32_t i = 0; i < graph->parameter_count; i++)
		if (graph->parameters[i].address == address)
			return i;
	return GRAPH_NONE;
}

/* All steps that left something in what the access reads, back to one that wrote all of it. */
static void find_producers(struct graph *graph, uint32_t step, uint32_t access_number)
{
	const struct flow_access *access = &graph_flow(graph, step)->accesses[access_number];
	uint32_t found = 0;

	for (uint32_t before = step; before-- > 0 && found < MOST_PRODUCERS;) {
		const struct flow *flow = graph_flow(graph, before);

		for (uint32_t i = 0; i < flow->access_count; i++) {
			const struct flow_access *write = &flow->accesses[i];

			if (!flow_writes(write) || !meets(write, access))
				continue;
			*MEM_PUSH(graph->edges, graph->edge_count, graph->edge_room) =
				(struct graph_edge){before, access_number};
			graph->steps[step].edge_count++;
			found++;
			if (write->mode == FLOW_WRITE && write->address <= access->address &&
				write->address + write->bytes >= access->address + access->bytes)
				return;
			break;
		}
	}
}

static void link_steps(struct graph *graph)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct flow *flow = graph_flow(graph, i);

		graph->steps[i].first_edge = (uint32_t)graph->edge_count;
		for (uint32_t j = 0; j < flow->access_count; j++)
			if (flow->accesses[j].mode != FLOW_WRITE)
				find_producers(graph, i, j);
	}
	for (size_t i = 0; i < graph->edge_count; i++)
		graph->steps[graph->edges[i].step].user_count++;
	for (uint32_t i = 0; i < graph->step_count; i++) {
		graph->steps[i].first_user = first;
		first += graph->steps[i].user_count;
		graph->steps[i].user_count = 0;
	}
	graph->users = mem_alloc(graph->edge_count, sizeof(*graph->users));
	for (uint32_t i = 0; i < graph->step_count; i++)
		for (uint32_t j = 0; j < graph->steps[i].edge_count; j++) {
			struct graph_step *producer =
				&graph->steps[graph->edges[graph->steps[i].first_edge + j].step];

			graph->users[producer->first_user + producer->user_count++] = i;
		}
}

/*
 * The update: what writes state, and what works element by element for nothing but that (the square of a
 * gradient, a scaled copy). Elementwise work on a gradient before its exchange is counted too.
 */
static void mark_updates(struct graph *graph)
{
	for (uint32_t i = graph->step_count; i-- > 0;) {
		struct graph_step *step = &graph->steps[i];
		const struct flow *flow = graph_flow(graph, i);
		uint32_t updates = 0, others = 0;

		if (graph->model->roles[step->operation].flags & WORKER_STATE) {
			/* A model handed on to other devices is an exchange, not an update. */
			step->update = flow->kind != PM_KIND_COPY;
			continue;
		}
		if (flow->kind != PM_KIND_COMPUTE || flow->shape != FLOW_ELEMENTWISE)
			continue;
		for (uint32_t j = 0; j < step->user_count; j++) {
			uint32_t user = graph->users[step->first_user + j];
			enum pm_kind kind = graph_flow(graph, user)->kind;

			if (graph->steps[user].update)
				updates++;
			else if (kind != PM_KIND_COMM)
				others++;
		}
		step->update = updates > 0 && others == 0;
	}
}

struct trail {
	struct graph *graph;
	uint32_t parameter;
	uint64_t gradient;
	uint32_t gradient_step;
	uint32_t *seen; /* by step: the last parameter whose trail came by, + 1 */
};

static void serve(struct graph *graph, uint32_t step, uint32_t parameter)
{
	for (size_t i = graph->service_count; i-- > 0 && graph->services[i].parameter == parameter;)
		if (graph->services[i].step == step)
			return;
	*MEM_PUSH(graph->services, graph->service_count, graph->service_room) =
		(struct graph_service){step, parameter};
}

static void follow_address(struct trail *trail, uint32_t step, uint64_t address, unsigned depth);

/* The operands of a step that make the element at `address` of what it writes. */
static void follow_step(struct trail *trail, uint32_t step, uint64_t address, unsigned depth)
{
	const struct flow *flow = graph_flow(trail->graph, step);
	const struct flow_access *written = NULL;

	if (trail->seen[step] == trail->parameter + 1)
		return;
	trail->seen[step] = trail->parameter + 1;
	for (uint32_t i = 0; i < flow->access_count && !written; i++)
		if (flow_writes(&flow->accesses[i]) && covers(&flow->accesses[i], address))
			written = &flow->accesses[i];
	if (!written)
		return;
	for (uint32_t i = 0; i < flow->access_count; i++) {
		const struct flow_access *access = &flow->accesses[i];
		bool same = flow->kind == PM_KIND_COMM || access->bytes == written->bytes;

		if (access == written || access->mode != FLOW_READ || !same)
			continue;
		if (access->address != written->address)
			follow_address(
				trail, step, access->address + (address - written->address), depth + 1);
	}
	if (written->mode == FLOW_KEEP)
		follow_address(trail, step, address, depth + 1);
}

/* Who made the value at `address` that `step` finds there? */
static void follow_address(struct trail *trail, uint32_t step, uint64_t address, unsigned depth)
{
	struct graph *graph = trail->graph;
	uint32_t writer;
	enum pm_kind kind;

	if (depth > MOST_DEPTH)
		return;
	writer = graph_writer(graph, step, address);
	if (writer == GRAPH_NONE)
		return;
	kind = graph_flow(graph, writer)->kind;
	if (graph->steps[writer].update) {
		serve(graph, writer, trail->parameter);
		follow_step(trail, writer, address, depth);
	} else if (kind == PM_KIND_COMM || kind == PM_KIND_COPY) {
		/* Gradients may be exchanged in a buffer that they are copied to and from. */
		follow_step(trail, writer, address, depth);
	} else if (!trail->gradient &&
		   (kind == PM_KIND_COMPUTE || kind == PM_KIND_BACKWARD || kind == PM_KIND_LAUNCH)) {
		trail->gradient = address;
		trail->gradient_step = writer;
	}
}

static uint64_t read_bytes(const struct graph *graph, uint64_t address)
{
	uint64_t bytes = 1;

	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct flow *flow = graph_flow(graph, i);

		for (uint32_t j = 0; j < flow->access_count && !graph->steps[i].update; j++)
			if (flow->accesses[j].mode == FLOW_READ && flow->accesses[j].address == address &&
				flow->accesses[j].bytes > bytes)
				bytes = flow->accesses[j].bytes;
	}
	return bytes;
}

/* Parameters that the iteration's steps read or update, in order of their first use. */
static void list_parameters(struct graph *graph)
{
	const struct worker_model *model = graph->model;
	bool *seen = mem_alloc(model->parameter_count, sizeof(*seen));

	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct worker_role *role = &model->roles[graph->steps[i].operation];

		for (uint32_t j = 0; j < role->parameter_count; j++) {
			uint32_t number = model->touched[role->first_parameter + j];

			if (seen[number])
				continue;
			seen[number] = true;
			*MEM_PUSH(graph->parameters, graph->parameter_count, graph->parameter_room) =
				(struct graph_parameter){
					.number = number, .address = model->parameters[number].address};
		}
	}
	free(seen);
	for (size_t i = 0; i < graph->parameter_count; i++)
		graph->parameters[i].bytes = read_bytes(graph, graph->parameters[i].address);
}

/* From each parameter back through its update, and the exchange, to the call that made its gradient. */
static void pair_gradients(struct graph *graph)
{
	uint32_t *seen = mem_alloc(graph->step_count, sizeof(*seen));

	for (uint32_t p = 0; p < graph->parameter_count; p++) {
		struct graph_parameter *parameter = &graph->parameters[p];
		struct trail trail = {.graph = graph, .parameter = p, .seen = seen};

		for (uint32_t i = graph->step_count; i-- > 0;) {
			const struct flow *flow = graph_flow(graph, i);

			for (uint32_t j = 0; j < flow->access_count && graph->steps[i].update; j++)
				if (flow_writes(&flow->accesses[j]) &&
					covers(&flow->accesses[j], parameter->address)) {
					serve(graph, i, p);
					follow_step(&trail, i, parameter->address, 0);
					break;
				}
		}
		parameter->gradient = trail.gradient;
		parameter->gradient_step = trail.gradient ? trail.gradient_step : GRAPH_NONE;
	}
	free(seen);
	/* State that no parameter is made of directly is served by its gradient: a second moment. */
	for (uint32_t i = 0; i < graph->step_count; i++) {
		const struct flow *flow = graph_flow(graph, i);
		bool known = !graph->steps[i].update;

		for (size_t j = 0; j < graph->service_count && !known; j++)
			known = graph->services[j].step == i;
		for (uint32_t p = 0; p < graph->parameter_count && !known; p++)
			for (uint32_t j = 0; j < flow->access_count; j++)
				if (graph->parameters[p].gradient && flow->accesses[j].mode == FLOW_READ &&
					covers(&flow->accesses[j], graph->parameters[p].gradient)) {
					serve(graph, i, p);
					break;
				}
	}
}

void graph_init(struct graph *graph, const struct worker_model *model, const struct worker *worker,
	const struct iteration *iteration)
{
	size_t count = iteration->call_end - iteration->first_call;

	memset(graph, 0, sizeof(*graph));
	graph->model = model;
	graph->worker = worker;
	if (count > MOST_STEPS)
		count = MOST_STEPS;
	graph->steps = mem_alloc(count, sizeof(*graph->steps));
	graph->step_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		graph->steps[i].call = worker->calls[iteration->first_call + i];
		graph->steps[i].operation = timeline_call(model->timeline, graph->steps[i].call).operation;
	}
	link_steps(graph);
	mark_updates(graph);
	list_parameters(graph);
	pair_gradients(graph);
}

void graph_free(struct graph *graph)
{
	free(graph->steps);
	free(graph->edges);
	free(graph->users);
	free(graph->parameters);
	free(graph->services);
	memset(graph, 0, sizeof(*graph));
}
