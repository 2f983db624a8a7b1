/*
 * Graphs built node by node. See calls.h.
 *
 * The one idea: a node by hand is a capture of one call, on a stream that only the graph knows; to change a
 * node of an executable graph is to capture the call again, elsewhere, and to take over its arguments.
 */
#include "calls.h"

static cudaError_t begin(struct sg_graph_edit *edit, struct sg_graph *owner, struct sg_graph *graph,
	const cudaGraphNode_t *depends_on, size_t count)
{
	struct sg_stream *builder = sg_graph_builder(owner);
	struct sg_capture_info info;
	cudaError_t error;

	if (builder == NULL)
		return cudaErrorMemoryAllocation;
	error = sg_capture_begin_node(builder, graph, depends_on, count);
	if (error != cudaSuccess)
		return error;
	sg_capture_info(builder, &info);
	edit->stream = (cudaStream_t)(void *)builder;
	edit->graph = info.graph;
	edit->before = info.graph->node_count;
	return cudaSuccess;
}

static cudaError_t end(struct sg_graph_edit *edit, cudaError_t error, cudaGraphNode_t *node)
{
	struct sg_stream *builder = sg_stream_of(edit->stream);
	struct sg_capture_info info;
	struct sg_graph *graph;

	if (error == cudaSuccess && edit->graph->node_count == edit->before)
		error = sg_capture_empty(builder);
	if (error == cudaSuccess)
		error = sg_capture_info(builder, &info);
	if (error == cudaSuccess && node != NULL)
		*node = info.nodes[info.node_count - 1];
	if (error == cudaSuccess)
		return sg_capture_end(builder, &graph);
	sg_capture_end(builder, &graph);
	return error;
}

cudaError_t sg_graph_add_begin(
	struct sg_graph_edit *edit, cudaGraph_t handle, const cudaGraphNode_t *depends_on, size_t count)
{
	struct sg_graph *graph = sg_graph_of(handle);

	if (graph == NULL || (count > 0 && depends_on == NULL))
		return cudaErrorInvalidValue;
	return begin(edit, graph, graph, depends_on, count);
}

cudaError_t sg_graph_add_child(cudaStream_t stream, cudaGraph_t handle, int moved)
{
	struct sg_graph *graph = sg_graph_of(handle);
	struct sg_bodies *bodies;

	if (graph == NULL || graph->capturing || (moved && graph->owned))
		return cudaErrorInvalidValue;
	bodies = sg_bodies_open(SG_CHILD, 1);
	if (bodies == NULL)
		return cudaErrorMemoryAllocation;
	bodies->graphs[0] = moved ? graph : sg_graph_clone(graph);
	if (bodies->graphs[0] == NULL) {
		sg_bodies_close(bodies);
		return cudaErrorMemoryAllocation;
	}
	return sg_capture_graphs(sg_stream_of(stream), bodies);
}

cudaError_t sg_graph_add_end(struct sg_graph_edit *edit, cudaError_t error, cudaGraphNode_t *node)
{
	return end(edit, error, node);
}

cudaError_t sg_graph_change_begin(struct sg_graph_edit *edit, cudaGraphExec_t handle)
{
	struct sg_graph *executable = sg_graph_executable_of(handle);

	if (executable == NULL)
		return cudaErrorInvalidValue;
	return begin(edit, executable, NULL, NULL, 0);
}

cudaError_t sg_graph_change_end(
	struct sg_graph_edit *edit, cudaError_t error, cudaGraphExec_t handle, cudaGraphNode_t node)
{
	struct sg_graph *executable = sg_graph_executable_of(handle);

	error = end(edit, error, NULL);
	if (error == cudaSuccess)
		error = node != NULL
				? sg_graph_replace_node(executable, sg_graph_node_number(node), edit->graph)
				: cudaErrorInvalidValue;
	sg_graph_close(edit->graph);
	return error;
}

cudaError_t sg_graph_set_begin(struct sg_graph_edit *edit, cudaGraphNode_t node)
{
	if (node == NULL)
		return cudaErrorInvalidValue;
	return begin(edit, ((struct sg_node *)(void *)node)->graph, NULL, NULL, 0);
}

cudaError_t sg_graph_set_end(struct sg_graph_edit *edit, cudaError_t error, cudaGraphNode_t node)
{
	error = end(edit, error, NULL);
	if (error == cudaSuccess)
		error = sg_node_replace((struct sg_node *)(void *)node, edit->graph);
	sg_graph_close(edit->graph);
	return error;
}
