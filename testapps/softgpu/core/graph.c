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
	graph->capturing = 0;
	graph->nodes = NULL;
	graph->node_count = graph->node_room = 0;
	graph->branch_count = 1;
	graph->memory = NULL;
	graph->helpers = NULL;
	graph->builder = NULL;
	graph->last_stream = NULL;
	pthread_mutex_init(&graph->lock, NULL);
	atomic_store_explicit(&graph->slot.live, SG_SLOT_LIVE, memory_order_release);
	return graph;
}

static void release_memory(struct sg_graph_memory *memory)
{
	if (memory == NULL || atomic_fetch_sub(&memory->references, 1) > 1)
		return;
	for (size_t i = 0; i < memory->block_count; i++) {
		struct sg_block block;

		if (sg_block_take(memory->blocks[i], &block))
			sg_block_release(&block);
	}
	free(memory->blocks);
	free(memory);
}

static void release_memory_work(void *arg)
{
	release_memory(*(struct sg_graph_memory **)arg);
}

void sg_graph_close(struct sg_graph *graph)
{
	atomic_store(&graph->slot.live, SG_SLOT_CLOSING);
	for (uint32_t i = 0; i < graph->node_count; i++) {
		free(graph->nodes[i]->arg);
		free(graph->nodes[i]);
	}
	free(graph->nodes);
	for (uint32_t i = 1; graph->helpers != NULL && i < graph->branch_count; i++) {
		if (graph->helpers[i] != NULL)
			sg_stream_close(graph->helpers[i]);
	}
	free(graph->helpers);
	if (graph->builder != NULL)
		sg_stream_close(graph->builder);
	release_memory(graph->memory);
	sg_pool_put(&sg_graphs, graph);
}

uint32_t sg_graph_add(struct sg_graph *graph, const struct sg_node *node)
{
	struct sg_node *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return 0;
	*copy = *node;
	copy->number = atomic_fetch_add(&last_node, 1) + 1;
	copy->arg = NULL;
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

size_t sg_graph_visible(const struct sg_graph *graph, int only_roots, cudaGraphNode_t *nodes, size_t room)
{
	size_t count = 0;

	for (uint32_t i = 0; i < graph->node_count; i++) {
		const struct sg_node *node = graph->nodes[i];

		if (node->kind == SG_NODE_JOIN || node->kind == SG_NODE_INNER)
			continue;
		if (only_roots && (node->depends_on[0] != 0 || node->depends_on[1] != 0))
			continue;
		if (nodes != NULL && count < room)
			nodes[count] = (cudaGraphNode_t)(void *)graph->nodes[i];
		count++;
	}
	return count;
}

cudaError_t sg_graph_instantiate(struct sg_graph *graph, struct sg_graph **out)
{
	struct sg_graph *executable = sg_graph_open(1);

	if (executable == NULL)
		return cudaErrorMemoryAllocation;
	executable->device = graph->device;
	executable->branch_count = graph->branch_count;
	executable->helpers = calloc(graph->branch_count, sizeof(struct sg_stream *));
	executable->memory = graph->memory;
	if (graph->memory != NULL)
		atomic_fetch_add(&graph->memory->references, 1);
	if (executable->helpers == NULL)
		goto fail;
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (sg_graph_add(executable, graph->nodes[i]) == 0)
			goto fail;
		executable->nodes[i]->source = graph->nodes[i]->number;
	}
	for (uint32_t i = 1; i < graph->branch_count; i++) {
		if (sg_stream_open(&executable->helpers[i], graph->device, cudaStreamNonBlocking, 0,
			    SG_CREATED) != cudaSuccess)
			goto fail;
	}
	*out = executable;
	return cudaSuccess;
fail:
	sg_graph_close(executable);
	return cudaErrorMemoryAllocation;
}

static int same_shape(const struct sg_node *a, const struct sg_node *b)
{
	return a->kind == b->kind && a->branch == b->branch && a->fn == b->fn && a->size == b->size &&
	       a->depends_on[0] == b->depends_on[0] && a->depends_on[1] == b->depends_on[1];
}

cudaError_t sg_graph_replace(struct sg_graph *executable, const struct sg_graph *graph)
{
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&executable->lock);
	if (executable->node_count != graph->node_count || executable->memory != graph->memory)
		error = cudaErrorGraphExecUpdateFailure;
	for (uint32_t i = 0; i < graph->node_count && error == cudaSuccess; i++) {
		if (!same_shape(executable->nodes[i], graph->nodes[i]))
			error = cudaErrorGraphExecUpdateFailure;
	}
	for (uint32_t i = 0; i < graph->node_count && error == cudaSuccess; i++) {
		executable->nodes[i]->event = graph->nodes[i]->event;
		executable->nodes[i]->what = graph->nodes[i]->what;
		if (graph->nodes[i]->size > 0)
			memcpy(executable->nodes[i]->arg, graph->nodes[i]->arg, graph->nodes[i]->size);
	}
	pthread_mutex_unlock(&executable->lock);
	return error;
}

/* Numbers grow along a graph. */
static uint32_t index_of_source(const struct sg_graph *executable, uint64_t source)
{
	uint32_t low = 0, high = executable->node_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (executable->nodes[middle]->source < source)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int fits(const struct sg_node *node, const struct sg_node *with)
{
	return node->kind == with->kind && sg_graph_node_type(node) == sg_graph_node_type(with);
}

/* A launch has copied the arguments of the nodes, so those of the executable graph may change at any time. */
static cudaError_t take_over(struct sg_node *node, const struct sg_node *with)
{
	void *arg = with->size > 0 ? malloc(with->size) : NULL;

	if (with->size > 0 && arg == NULL)
		return cudaErrorMemoryAllocation;
	if (with->size > 0)
		memcpy(arg, with->arg, with->size);
	free(node->arg);
	node->arg = arg;
	node->size = with->size;
	node->fn = with->fn;
	node->what = with->what;
	node->event = with->event;
	return cudaSuccess;
}

cudaError_t sg_graph_replace_node(struct sg_graph *executable, uint64_t source, const struct sg_graph *graph)
{
	cudaError_t error = cudaSuccess;
	uint32_t at;

	pthread_mutex_lock(&executable->lock);
	at = index_of_source(executable, source);
	if (at == executable->node_count || executable->nodes[at]->source != source ||
		graph->node_count > executable->node_count - at)
		error = cudaErrorInvalidValue;
	for (uint32_t i = 0; i < graph->node_count && error == cudaSuccess; i++) {
		if (!fits(executable->nodes[at + i], graph->nodes[i]))
			error = cudaErrorInvalidValue;
	}
	for (uint32_t i = 0; i < graph->node_count && error == cudaSuccess; i++)
		error = take_over(executable->nodes[at + i], graph->nodes[i]);
	pthread_mutex_unlock(&executable->lock);
	return error;
}

int sg_graph_node_type(const struct sg_node *node)
{
	if (node->kind == SG_NODE_RECORD)
		return cudaGraphNodeTypeEventRecord;
	if (node->kind == SG_NODE_WAIT)
		return cudaGraphNodeTypeWaitEvent;
	if (node->fn == NULL)
		return node->child ? cudaGraphNodeTypeGraph : cudaGraphNodeTypeEmpty;
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
	if (error == cudaSuccess && node->fn != NULL) {
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
	if (error == cudaSuccess && graph->memory != NULL) {
		atomic_fetch_add(&graph->memory->references, 1);
		error = sg_queue_now(
			stream, &sg_quick, release_memory_work, &graph->memory, sizeof(graph->memory), NULL);
		if (error != cudaSuccess)
			atomic_fetch_sub(&graph->memory->references, 1);
	}
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

uint64_t sg_graph_node_number(cudaGraphNode_t node)
{
	return node != NULL ? ((const struct sg_node *)(const void *)node)->number : 0;
}
