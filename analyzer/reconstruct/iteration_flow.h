/*
 * The flow of data through one iteration of one worker: which call produces what another reads, which calls
 * are the update, and which gradient belongs to which parameter.
 */
#ifndef RECONSTRUCT_ITERATION_FLOW_H
#define RECONSTRUCT_ITERATION_FLOW_H

#include "iteration.h"

#define GRAPH_NONE UINT32_MAX

struct graph_step {
	uint32_t call;
	uint32_t operation;
	uint32_t first_edge, edge_count; /* producers of what it reads */
	uint32_t first_user, user_count; /* steps that read what it writes */
	bool update;
};

struct graph_edge {
	uint32_t step;   /* the other one */
	uint32_t access; /* of the reader: which of its accesses */
};

/* A parameter of this worker with its gradient. */
struct graph_parameter {
	uint32_t number; /* in worker_model.parameters */
	uint64_t address;
	uint64_t bytes;
	uint64_t gradient;  /* 0: not found */
	const char *module; /* that works with it, where its address does not tell that; "": not known; else
			       NULL */
	const char *copied_in; /* the module that was being copied to the device with it, or NULL */
	uint32_t gradient_step;
};

/* That an update step serves a parameter. */
struct graph_service {
	uint32_t step;
	uint32_t parameter; /* place in graph.parameters */
};

struct graph {
	const struct worker_model *model;
	const struct worker *worker;
	struct graph_step *steps;
	uint32_t step_count;
	struct graph_edge *edges;
	size_t edge_count, edge_room;
	uint32_t *users;
	struct graph_parameter *parameters;
	size_t parameter_count, parameter_room;
	struct graph_service *services;
	size_t service_count, service_room;
};

/* The model and the worker must stay. Iterations of more than 20,000 calls are cut there. */
void graph_init(struct graph *graph, const struct worker_model *model, const struct worker *worker,
	const struct iteration *iteration);
void graph_free(struct graph *graph);

const struct flow *graph_flow(const struct graph *graph, uint32_t step);

/* The step that last wrote the address before `step`; GRAPH_NONE if none did in this iteration. */
uint32_t graph_writer(const struct graph *graph, uint32_t step, uint64_t address);

/* Place of the parameter at this address in graph.parameters, or GRAPH_NONE. */
uint32_t graph_parameter(const struct graph *graph, uint64_t address);

#endif
