/*
 * Graphs (graph.c): closures with what each depends on, made by capture (capture.h) or by hand, launched as
 * one.
 */
#ifndef SOFTGPU_GRAPH_H
#define SOFTGPU_GRAPH_H

#include "core.h"

enum sg_node_kind { SG_NODE_WORK, SG_NODE_JOIN, SG_NODE_RECORD, SG_NODE_WAIT, SG_NODE_INNER };

/* One closure of a graph. Nodes of a branch run in order; dependencies on other branches are explicit. */
struct sg_node {
	enum sg_node_kind kind; /* JOIN and INNER are not shown to the application */
	uint32_t branch;
	uint32_t depends_on[2]; /* 1 + index, 0: none */
	sg_work *fn;
	void *arg;
	size_t size;
	struct sg_activity what;
	uint64_t number; /* sg_graph_node_number */
	uint64_t source; /* executable: the number in the graph it was made of */
	uint32_t child;  /* it stands for a graph, whose nodes follow it, not shown: 1 + index of their end */
	struct sg_event *event; /* RECORD, WAIT */
};

/* Memory that captured cudaMallocAsync calls made: lives as long as any graph that uses it. */
struct sg_graph_memory {
	_Atomic uint32_t references;
	void **blocks;
	size_t block_count;
};

struct sg_graph {
	struct sg_slot slot;
	int executable; /* a cudaGraphExec_t, else a cudaGraph_t */
	uint32_t number;
	int device;
	int capturing;
	struct sg_node **nodes;
	uint32_t node_count, node_room;
	uint32_t branch_count;
	struct sg_graph_memory *memory;
	struct sg_stream **helpers; /* executable: one per branch after the first */
	struct sg_stream *builder;  /* on which nodes are made by hand, or NULL: none was yet */
	pthread_mutex_t lock;
	struct sg_stream *last_stream; /* executable: the launch before */
	uint64_t last_position;
};
extern struct sg_pool sg_graphs;

struct sg_graph *sg_graph_open(int executable);
void sg_graph_close(struct sg_graph *graph);
/* Appends a node; returns 1 + its index, 0: out of memory. Takes a copy of arg. */
uint32_t sg_graph_add(struct sg_graph *graph, const struct sg_node *node);
cudaError_t sg_graph_instantiate(struct sg_graph *graph, struct sg_graph **executable);
/* Takes over the arguments of a graph of the same shape; cudaErrorGraphExecUpdateFailure: it has another one.
 */
cudaError_t sg_graph_replace(struct sg_graph *executable, const struct sg_graph *graph);
/* Gives one node of an executable graph (by its number in the graph that it was made of) the arguments of the
 * node that a graph consists of, which must be of the same kind: cudaErrorInvalidValue. */
cudaError_t sg_graph_replace_node(struct sg_graph *executable, uint64_t source, const struct sg_graph *graph);
cudaError_t sg_graph_launch(struct sg_graph *executable, struct sg_stream *stream);
/* cudaGraphNodeType of a node that is shown. */
int sg_graph_node_type(const struct sg_node *node);
/* The stream on which a graph's nodes are made by hand; NULL: out of memory. */
struct sg_stream *sg_graph_builder(struct sg_graph *graph);
/* The nodes that are shown, or those of them that depend on none: up to `room` of them, and how many there
 * are.
 */
size_t sg_graph_visible(const struct sg_graph *graph, int only_roots, cudaGraphNode_t *nodes, size_t room);

#endif
