/*
 * Graphs: closures with dependencies, in an order that respects them.
 *
 * The one idea: to launch a graph is to submit its closures again. The first branch goes to the launching
 * stream, each other branch to a helper stream of the executable graph, and dependencies between branches
 * become waits; at the end the launching stream waits for all of them, so that events around a launch enclose
 * the whole graph.
 */
#include "graph.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

struct sg_pool sg_graphs = SG_POOL_INIT(struct sg_graph, 65536, 64);
struct sg_pool sg_conditions = SG_POOL_INIT(struct sg_condition, 65536, 64);

static _Atomic uint32_t last_number;
static _Atomic uint64_t last_node;

struct sg_graph *sg_graph_open(int executable)
{
	struct sg_graph *graph = sg_pool_get(&sg_graphs);

	if (graph == NULL)
		return NULL;
	graph->executable = executable;
	graph->number = atomic_fetch_add(&last_number, 1) + 1;
	graph->device = sg_self.device;
	graph->capturing = graph->owned = graph->unordered = 0;
	graph->nodes = NULL;
	graph->node_count = graph->node_room = 0;
	graph->branch_count = 1;
	graph->memory = NULL;
	graph->held = NULL;
	graph->held_count = 0;
	graph->conditions = NULL;
	graph->edges = NULL;
	graph->edge_count = 0;
	graph->helpers = NULL;
	graph->by_source = NULL;
	graph->flags = 0;
	graph->builder = NULL;
	graph->last_stream = NULL;
	pthread_mutex_init(&graph->lock, NULL);
	atomic_store_explicit(&graph->slot.live, SG_SLOT_LIVE, memory_order_release);
	return graph;
}

void sg_held_release(struct sg_held *held)
{
	if (atomic_fetch_sub(&held->references, 1) == 1)
		held->close(held);
}

/* Of what the array at arg has, up to its NULL. */
static void release_work(void *arg)
{
	for (struct sg_held **held = arg; *held != NULL; held++)
		sg_held_release(*held);
}

cudaError_t sg_graph_hold(struct sg_graph *graph, struct sg_held *held)
{
	struct sg_held **more = realloc(graph->held, (graph->held_count + 1) * sizeof(struct sg_held *));

	if (more == NULL) {
		sg_held_release(held);
		return cudaErrorMemoryAllocation;
	}
	graph->held = more;
	graph->held[graph->held_count++] = held;
	return cudaSuccess;
}

struct sg_bodies *sg_bodies_open(enum sg_conditional type, uint32_t count)
{
	struct sg_bodies *bodies = calloc(1, sizeof(*bodies));

	if (bodies == NULL)
		return NULL;
	bodies->type = type;
	bodies->graphs = calloc(count, sizeof(struct sg_graph *));
	if (bodies->graphs == NULL) {
		free(bodies);
		return NULL;
	}
	bodies->count = count;
	return bodies;
}

void sg_bodies_close(struct sg_bodies *bodies)
{
	if (bodies == NULL)
		return;
	for (uint32_t i = 0; i < bodies->count; i++) {
		if (bodies->graphs[i] != NULL)
			sg_graph_close(bodies->graphs[i]);
	}
	free(bodies->graphs);
	free(bodies);
}

struct sg_condition *sg_condition_open(struct sg_graph *graph, unsigned value, int assigned)
{
	struct sg_condition *condition = sg_pool_get(&sg_conditions);

	if (condition == NULL)
		return NULL;
	condition->value = value;
	condition->assigned = assigned;
	condition->passes = 0;
	condition->next = graph->conditions;
	graph->conditions = condition;
	atomic_store_explicit(&condition->slot.live, SG_SLOT_LIVE, memory_order_release);
	return condition;
}

void sg_graph_close(struct sg_graph *graph)
{
	atomic_store(&graph->slot.live, SG_SLOT_CLOSING);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		free(graph->nodes[i]->arg);
		free(graph->nodes[i]->more);
		sg_bodies_close(graph->nodes[i]->bodies);
		while (graph->nodes[i]->attributes != NULL) {
			struct sg_attribute *attribute = graph->nodes[i]->attributes;

			graph->nodes[i]->attributes = attribute->next;
			free(attribute);
		}
		free(graph->nodes[i]);
	}
	free(graph->nodes);
	free(graph->edges);
	free(graph->by_source);
	while (graph->conditions != NULL) {
		struct sg_condition *condition = graph->conditions;

		graph->conditions = condition->next;
		atomic_store(&condition->slot.live, SG_SLOT_FREE);
		sg_pool_put(&sg_conditions, condition);
	}
	for (uint32_t i = 1; graph->helpers != NULL && i < graph->branch_count; i++) {
		if (graph->helpers[i] != NULL)
			sg_stream_close(graph->helpers[i]);
	}
	free(graph->helpers);
	if (graph->builder != NULL)
		sg_stream_close(graph->builder);
	for (uint32_t i = 0; i < graph->held_count; i++)
		sg_held_release(graph->held[i]);
	free(graph->held);
	sg_pool_put(&sg_graphs, graph);
}

uint32_t sg_graph_add(struct sg_graph *graph, const struct sg_node *node)
{
	struct sg_node *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return 0;
	*copy = *node;
	copy->number = atomic_fetch_add(&last_node, 1) + 1;
	copy->place = graph->node_count;
	copy->graph = graph;
	copy->arg = NULL;
	copy->more = NULL;
	copy->more_count = 0;
	copy->bodies = NULL;
	copy->attributes = NULL;
	if (node->size > 0) {
		copy->arg = malloc(node->size);
		if (copy->arg == NULL)
			goto out;
		memcpy(copy->arg, node->arg, node->size);
	}
	if (graph->node_count == graph->node_room) {
		uint32_t room = graph->node_room == 0 ? 16 : 2 * graph->node_room;
		struct sg_node **more = realloc(graph->nodes, room * sizeof(*more));

		if (more == NULL)
			goto out;
		graph->nodes = more;
		graph->node_room = room;
	}
	graph->nodes[graph->node_count] = copy;
	return ++graph->node_count;
out:
	free(copy->arg);
	free(copy);
	return 0;
}

static int has_dependencies(const struct sg_node *node)
{
	const struct sg_graph *graph = node->graph;

	for (int i = 0; i < 2; i++) {
		const struct sg_node *other =
			node->depends_on[i] != 0 ? graph->nodes[node->depends_on[i] - 1] : NULL;

		if (other != NULL && (other->kind != SG_NODE_JOIN || has_dependencies(other)))
			return 1;
	}
	for (uint32_t i = 0; i < node->more_count; i++) {
		if (graph->nodes[node->more[i] - 1]->kind != SG_NODE_JOIN)
			return 1;
	}
	return 0;
}

size_t sg_graph_visible(const struct sg_graph *graph, int only_roots, cudaGraphNode_t *nodes, size_t room)
{
	size_t count = 0;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct sg_node *node = graph->nodes[i];

		if (node->kind == SG_NODE_JOIN || (only_roots && has_dependencies(node)))
			continue;
		if (nodes != NULL && count < room)
			nodes[count] = (cudaGraphNode_t)(void *)graph->nodes[i];
		count++;
	}
	return count;
}

/* What only a graph that is not executable has of a node. */
static int copy_rest(struct sg_node *to, const struct sg_node *from)
{
	to->source = from->number;
	if (from->more_count > 0) {
		to->more = malloc(from->more_count * sizeof(*to->more));
		if (to->more == NULL)
			return 0;
		memcpy(to->more, from->more, from->more_count * sizeof(*to->more));
		to->more_count = from->more_count;
	}
	if (from->bodies == NULL)
		return 1;
	to->bodies = sg_bodies_open(from->bodies->type, from->bodies->count);
	if (to->bodies == NULL)
		return 0;
	to->bodies->condition = from->bodies->condition;
	for (uint32_t i = 0; i < from->bodies->count; i++) {
		to->bodies->graphs[i] = sg_graph_clone(from->bodies->graphs[i]);
		if (to->bodies->graphs[i] == NULL)
			return 0;
		to->bodies->graphs[i]->owned = 1;
	}
	return 1;
}

struct sg_graph *sg_graph_clone(const struct sg_graph *graph)
{
	struct sg_graph *clone = sg_graph_open(0);

	if (clone == NULL)
		return NULL;
	clone->device = graph->device;
	clone->branch_count = graph->branch_count;
	clone->unordered = graph->unordered;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (sg_graph_add(clone, graph->nodes[i]) == 0 || !copy_rest(clone->nodes[i], graph->nodes[i]))
			goto fail;
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct sg_edge *edge = &graph->edges[i];

		if (sg_graph_set_edge_data(clone, clone->nodes[edge->from->place],
			    clone->nodes[edge->to->place], edge->data) != cudaSuccess)
			goto fail;
	}
	for (uint32_t i = 0; i < graph->held_count; i++) {
		atomic_fetch_add(&graph->held[i]->references, 1);
		if (sg_graph_hold(clone, graph->held[i]) != cudaSuccess)
			goto fail;
	}
	return clone;
fail:
	sg_graph_close(clone);
	return NULL;
}

/* In the vendor's headers from 11.4 and 12.3 on. */
enum { SG_NODE_TYPE_ALLOC = 10, SG_NODE_TYPE_FREE = 11, SG_NODE_TYPE_CONDITIONAL = 13 };

int sg_graph_node_type(const struct sg_node *node)
{
	if (node->kind == SG_NODE_RECORD)
		return cudaGraphNodeTypeEventRecord;
	if (node->kind == SG_NODE_WAIT)
		return cudaGraphNodeTypeWaitEvent;
	if (node->kind == SG_NODE_GRAPHS)
		return node->conditional ? SG_NODE_TYPE_CONDITIONAL : (int)cudaGraphNodeTypeGraph;
	if (node->kind == SG_NODE_ALLOC || node->kind == SG_NODE_FREE)
		return node->kind == SG_NODE_ALLOC ? SG_NODE_TYPE_ALLOC : SG_NODE_TYPE_FREE;
	if (node->fn == NULL)
		return cudaGraphNodeTypeEmpty;
	switch (node->what.kind) {
	case SG_ACTIVITY_KERNEL:
		return cudaGraphNodeTypeKernel;
	case SG_ACTIVITY_COPY:
		return cudaGraphNodeTypeMemcpy;
	case SG_ACTIVITY_SET:
		return cudaGraphNodeTypeMemset;
	case SG_ACTIVITY_NONE:
		break;
	}
	return cudaGraphNodeTypeHost;
}

struct sg_stream *sg_graph_builder(struct sg_graph *graph)
{
	if (graph->builder == NULL && sg_stream_open(&graph->builder, graph->device, cudaStreamNonBlocking, 0,
					      SG_CREATED) != cudaSuccess)
		graph->builder = NULL;
	return graph->builder;
}

/* State of one launch: where each branch runs and each node went. */
struct launch {
	struct sg_stream **branches;
	unsigned char *begun;
	uint64_t *positions;
};

static cudaError_t launch_node(struct sg_graph *graph, struct launch *launch, uint32_t index,
	struct sg_stream *origin, uint64_t start)
{
	const struct sg_node *node = graph->nodes[index];
	struct sg_stream *stream = launch->branches[node->branch];
	cudaError_t error = cudaSuccess;

	if (!launch->begun[node->branch]) {
		launch->begun[node->branch] = 1;
		error = sg_queue_wait(stream, origin, start);
	}
	for (int i = 0; i < 2 && error == cudaSuccess; i++) {
		uint32_t other = node->depends_on[i];

		if (other != 0 && graph->nodes[other - 1]->branch != node->branch)
			error = sg_queue_wait(stream, launch->branches[graph->nodes[other - 1]->branch],
				launch->positions[other - 1]);
	}
	if (node->event != NULL && sg_pool_check(&sg_events, node->event) == NULL)
		error = cudaErrorInvalidResourceHandle;
	if (error == cudaSuccess && node->kind == SG_NODE_RECORD)
		error = sg_event_record(node->event, stream);
	if (error == cudaSuccess && node->kind == SG_NODE_WAIT) {
		struct sg_event_place last = sg_event_last(node->event);

		if (last.stream != NULL && last.capture == 0)
			error = sg_queue_wait(stream, last.stream, last.position);
	}
	if (error == cudaSuccess && node->fn != NULL && !node->disabled) {
		struct sg_activity what = node->what;

		what.graph = graph->number;
		what.graph_node = node->number;
		what.iteration = sg_truth_iteration();
		error = sg_queue_now(stream, &what, node->fn, node->arg, node->size, NULL);
	}
	launch->positions[index] = sg_stream_submitted(stream);
	return error;
}

static void nothing_work(void *arg)
{
	(void)arg;
}

/* What the graph holds stays until the launch is done, if the graph is destroyed before. */
static cudaError_t keep_held(struct sg_graph *graph, struct sg_stream *stream)
{
	size_t size = (graph->held_count + 1) * sizeof(struct sg_held *);
	struct sg_held **held = calloc(1, size);
	cudaError_t error;

	if (held == NULL)
		return cudaErrorMemoryAllocation;
	memcpy(held, graph->held, graph->held_count * sizeof(struct sg_held *));
	for (uint32_t i = 0; i < graph->held_count; i++)
		atomic_fetch_add(&held[i]->references, 1);
	error = sg_queue_now(stream, &sg_quick, release_work, held, size, NULL);
	if (error != cudaSuccess)
		release_work(held);
	free(held);
	return error;
}

cudaError_t sg_graph_launch(struct sg_graph *graph, struct sg_stream *stream)
{
	struct launch launch;
	cudaError_t error = cudaSuccess;
	uint64_t start;

	launch.branches = calloc(graph->branch_count, sizeof(*launch.branches));
	launch.begun = calloc(graph->branch_count, 1);
	launch.positions = calloc(graph->node_count + 1, sizeof(*launch.positions));
	if (launch.branches == NULL || launch.begun == NULL || launch.positions == NULL) {
		error = cudaErrorMemoryAllocation;
		goto out;
	}
	memcpy(launch.branches, graph->helpers, graph->branch_count * sizeof(*launch.branches));
	launch.branches[0] = stream;
	launch.begun[0] = 1;
	pthread_mutex_lock(&graph->lock);
	/* An executable graph never overlaps with itself. */
	if (graph->last_stream != NULL)
		error = sg_queue_wait(stream, graph->last_stream, graph->last_position);
	/* One closure of its own, so that even an empty graph takes its place in the legacy stream's order.
	 */
	if (error == cudaSuccess)
		error = sg_queue_now(stream, &sg_quick, nothing_work, NULL, 0, &start);
	for (uint32_t i = 0; i < graph->node_count && error == cudaSuccess; i++)
		error = launch_node(graph, &launch, i, stream, start);
	for (uint32_t i = 1; i < graph->branch_count && error == cudaSuccess; i++) {
		if (launch.begun[i])
			error = sg_queue_wait(
				stream, launch.branches[i], sg_stream_submitted(launch.branches[i]));
	}
	if (error == cudaSuccess && graph->held_count > 0)
		error = keep_held(graph, stream);
	graph->last_stream = stream;
	graph->last_position = sg_stream_submitted(stream);
	pthread_mutex_unlock(&graph->lock);
	if (SG_UNLIKELY(stream->ends != NULL))
		sg_timed_throttle(stream);
out:
	free(launch.branches);
	free(launch.begun);
	free(launch.positions);
	return error;
}

uint32_t sg_graph_number(const void *graph)
{
	const struct sg_graph *found = sg_pool_check(&sg_graphs, graph);

	return found != NULL ? found->number : 0;
}

uint64_t sg_graph_node_number(cudaGraphNode_t node)
{
	return node != NULL ? ((const struct sg_node *)(const void *)node)->number : 0;
}
