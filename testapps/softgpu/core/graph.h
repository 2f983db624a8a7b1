/*
 * Graphs (graph.c): closures with what each depends on, made by capture (capture.h) or by hand, launched as
 * one.
 */
#ifndef SOFTGPU_GRAPH_H
#define SOFTGPU_GRAPH_H

#include "core.h"

/* JOIN: not shown to the application; GRAPHS: a child graph or the bodies of a conditional node. */
enum sg_node_kind {
	SG_NODE_WORK,
	SG_NODE_JOIN,
	SG_NODE_RECORD,
	SG_NODE_WAIT,
	SG_NODE_GRAPHS,
	SG_NODE_ALLOC,
	SG_NODE_FREE
};

/* A condition's value is set by kernels, which are not run: graph_instance.c says what is assumed. */
struct sg_condition {
	struct sg_slot slot;
	struct sg_condition *next;
	unsigned value; /* at launch, if assigned */
	int assigned;
	uint32_t passes; /* a kernel that is known by its name says so; 0: none did */
};
extern struct sg_pool sg_conditions;

enum sg_conditional { SG_CHILD = -1, SG_IF, SG_WHILE, SG_SWITCH };

/* What a node of kind GRAPHS stands for. The graphs are its own and close with it. */
struct sg_bodies {
	enum sg_conditional type;
	struct sg_condition *condition;
	uint32_t count;
	struct sg_graph **graphs;
};

/* Of a kernel node: kept for those who ask. */
struct sg_attribute {
	struct sg_attribute *next;
	int id;
	char value[64];
};

/* One closure of a graph. Nodes of a branch run in order; dependencies on other branches are explicit. */
struct sg_node {
	enum sg_node_kind kind;
	uint32_t branch;
	uint32_t depends_on[2]; /* 1 + index, 0: none */
	uint32_t *more;         /* the same, of a graph that is not executable */
	uint32_t more_count;
	uint32_t place; /* index in its graph */
	struct sg_graph *graph;
	sg_work *fn;
	void *arg;
	size_t size;
	struct sg_activity what;
	uint64_t number;          /* sg_graph_node_number */
	uint64_t source;          /* executable, clone: the number in the graph it was made of */
	struct sg_node *origin;   /* executable: that node, while it is there */
	struct sg_bodies *bodies; /* GRAPHS, of a graph that is not executable */
	int conditional;          /* GRAPHS: not a child graph */
	uint32_t inner;           /* GRAPHS, executable: how many nodes after it are of these graphs */
	int disabled;             /* executable: does nothing */
	struct sg_attribute *attributes;
	struct sg_event *event; /* RECORD, WAIT */
	void *block;            /* ALLOC, FREE */
};

/* What lives as long as any graph that uses it, and its launches. */
struct sg_held {
	_Atomic uint32_t references;
	void (*close)(struct sg_held *held);
};

/* Memory that captured cudaMallocAsync calls made. */
struct sg_graph_memory {
	struct sg_held held;
	void **blocks;
	size_t block_count;
};

/* Edges whose data is not all zeros. */
struct sg_edge {
	const struct sg_node *from, *to;
	cudaGraphEdgeData data;
};

struct sg_graph {
	struct sg_slot slot;
	int executable; /* a cudaGraphExec_t, else a cudaGraph_t */
	uint32_t number;
	int device;
	int capturing;
	int owned;     /* by a node: not for the application to destroy */
	int unordered; /* a node may depend on a later one */
	struct sg_node **nodes;
	uint32_t node_count, node_room;
	uint32_t branch_count;
	struct sg_graph_memory *memory; /* of this graph's own captures; also held */
	struct sg_held **held;
	uint32_t held_count;
	struct sg_condition *conditions;
	struct sg_edge *edges;
	size_t edge_count;
	struct sg_stream **helpers; /* executable: one per branch after the first */
	uint32_t *by_source;        /* executable: indices in the order of their nodes' source */
	unsigned long long flags;   /* executable: as it was instantiated */
	struct sg_stream *builder;  /* on which nodes are made by hand, or NULL: none was yet */
	pthread_mutex_t lock;
	struct sg_stream *last_stream; /* executable: the launch before */
	uint64_t last_position;
};
extern struct sg_pool sg_graphs;

struct sg_graph *sg_graph_open(int executable);
void sg_graph_close(struct sg_graph *graph);
/* Appends a node; returns 1 + its index, 0: out of memory. Takes a copy of arg, and neither `more` nor
 * `bodies`.
 */
uint32_t sg_graph_add(struct sg_graph *graph, const struct sg_node *node);
/* A copy with the same nodes, whose sources are the numbers of those; NULL: out of memory. */
struct sg_graph *sg_graph_clone(const struct sg_graph *graph);
/* The graph keeps what is held until it closes; takes a reference over, also when it fails. */
cudaError_t sg_graph_hold(struct sg_graph *graph, struct sg_held *held);
void sg_held_release(struct sg_held *held);
/* A node that stands for graphs gets them: they are the node's from now on. */
struct sg_bodies *sg_bodies_open(enum sg_conditional type, uint32_t count);
void sg_bodies_close(struct sg_bodies *bodies);
/* A condition of the graph's, which closes with it; NULL: out of memory. */
struct sg_condition *sg_condition_open(struct sg_graph *graph, unsigned value, int assigned);

/* ---- executable graphs (graph_instance.c) ---- */

cudaError_t sg_graph_instantiate(struct sg_graph *graph, struct sg_graph **executable);
/* Why a graph cannot take over another one's arguments: the numbers are those of the vendor's results. */
enum sg_difference {
	SG_SAME,
	SG_DIFFERS_OTHERWISE, /* another error than that they differ */
	SG_DIFFERS_TOPOLOGY,
	SG_DIFFERS_TYPE,
	SG_DIFFERS_PARAMETERS = 5
};
struct sg_graph_difference {
	enum sg_difference what;
	const struct sg_node *node, *from; /* of the other graph, or NULL */
};
/* Takes over the arguments of a graph of the same shape; cudaErrorGraphExecUpdateFailure: it has another one.
 */
cudaError_t sg_graph_replace(
	struct sg_graph *executable, struct sg_graph *graph, struct sg_graph_difference *difference);
/* Gives one node of an executable graph (by its number in the graph that it was made of) the arguments of the
 * node that a graph consists of, which must be of the same kind: cudaErrorInvalidValue. */
cudaError_t sg_graph_replace_node(struct sg_graph *executable, uint64_t source, struct sg_graph *graph);
/* The same for a node of a graph that is not executable. */
cudaError_t sg_node_replace(struct sg_node *node, const struct sg_graph *graph);
/* Whether a node of an executable graph does anything: set < 0 asks. Kernels, copies and fills alone. */
cudaError_t sg_graph_enable(
	struct sg_graph *executable, const struct sg_node *node, int set, unsigned *enabled);
cudaError_t sg_graph_launch(struct sg_graph *executable, struct sg_stream *stream);

/* ---- dependencies (graph_edge.c); those through joins are a node's own ---- */

/* The nodes that a node, or one with this frontier (1 + index), depends on: adds those that are not yet among
 * `count`; there is room for all of the graph's. */
size_t sg_graph_show(const struct sg_graph *graph, uint32_t frontier, cudaGraphNode_t *nodes, size_t count);
size_t sg_node_dependencies(const struct sg_node *node, cudaGraphNode_t *nodes);
/* cudaErrorInvalidValue: not of one graph, the edge is there (is not there), or it would close a cycle. */
cudaError_t sg_graph_depend(struct sg_node *from, struct sg_node *to, const cudaGraphEdgeData *data);
cudaError_t sg_graph_undepend(struct sg_node *from, struct sg_node *to);
/* The edge's data: zeros unless something else was said. */
cudaGraphEdgeData sg_graph_edge_data(
	const struct sg_graph *graph, const struct sg_node *from, const struct sg_node *to);
cudaError_t sg_graph_set_edge_data(
	struct sg_graph *graph, const struct sg_node *from, const struct sg_node *to, cudaGraphEdgeData data);
/* It is in its graph no longer, nor are its edges. */
void sg_node_remove(struct sg_node *node);

/* cudaGraphNodeType of a node that is shown. */
int sg_graph_node_type(const struct sg_node *node);
/* The stream on which a graph's nodes are made by hand; NULL: out of memory. */
struct sg_stream *sg_graph_builder(struct sg_graph *graph);
/* The nodes that are shown, or those of them that depend on none: up to `room` of them, and how many there
 * are.
 */
size_t sg_graph_visible(const struct sg_graph *graph, int only_roots, cudaGraphNode_t *nodes, size_t room);

#endif
