/* What the calls about graphs do: the part of them that stream capture leads to. See calls.h. */
#include "calls.h"

cudaError_t sg_graph_create(cudaGraph_t *pGraph, unsigned int flags)
{
	struct sg_graph *graph;

	if (pGraph == NULL || flags != 0)
		return cudaErrorInvalidValue;
	graph = sg_graph_open(0);
	*pGraph = (cudaGraph_t)(void *)graph;
	return graph != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

struct sg_graph *sg_graph_of(cudaGraph_t handle)
{
	struct sg_graph *graph = sg_pool_check(&sg_graphs, handle);

	return graph != NULL && !graph->executable ? graph : NULL;
}

struct sg_graph *sg_graph_executable_of(cudaGraphExec_t handle)
{
	struct sg_graph *graph = sg_pool_check(&sg_graphs, handle);

	return graph != NULL && graph->executable ? graph : NULL;
}

cudaError_t sg_graph_instantiate_handle(cudaGraphExec_t *out, cudaGraph_t handle, unsigned long long flags)
{
	struct sg_graph *graph = sg_graph_of(handle), *executable;
	cudaError_t error;

	if (out == NULL || graph == NULL)
		return cudaErrorInvalidValue;
	if (graph->capturing)
		return cudaErrorIllegalState;
	error = sg_graph_instantiate(graph, &executable);
	if (error != cudaSuccess)
		return error;
	executable->flags = flags;
	*out = (cudaGraphExec_t)(void *)executable;
	return cudaSuccess;
}

cudaError_t sg_graph_update(
	cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, struct sg_graph_difference *difference)
{
	struct sg_graph *executable = sg_graph_executable_of(hGraphExec), *graph = sg_graph_of(hGraph);
	cudaError_t error = cudaErrorInvalidValue;

	*difference = (struct sg_graph_difference){SG_SAME, NULL, NULL};
	if (executable != NULL && graph != NULL && !graph->capturing && !graph->owned)
		error = sg_graph_replace(executable, graph, difference);
	if (error != cudaSuccess && difference->what == SG_SAME)
		difference->what = SG_DIFFERS_OTHERWISE;
	return error;
}

cudaError_t sg_graph_upload(cudaGraphExec_t graphExec, cudaStream_t handle)
{
	if (sg_graph_executable_of(graphExec) == NULL)
		return cudaErrorInvalidValue;
	return sg_stream_of(handle) != NULL ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t sg_graph_launch_handle(cudaGraphExec_t graphExec, cudaStream_t handle)
{
	struct sg_graph *graph;
	struct sg_stream *stream;

	graph = sg_graph_executable_of(graphExec);
	stream = sg_stream_of(handle);
	if (graph == NULL)
		return cudaErrorInvalidValue;
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_capture_launch(graph, stream);
	if (stream->kind == SG_LEGACY && atomic_load(&sg_capture_count) != 0) {
		cudaError_t error = sg_capture_refuse_legacy(stream->device);

		if (error != cudaSuccess)
			return error;
	}
	return sg_graph_launch(graph, stream);
}

cudaError_t sg_graph_exec_destroy(cudaGraphExec_t graphExec)
{
	struct sg_graph *graph;

	graph = sg_graph_executable_of(graphExec);
	if (graph == NULL)
		return cudaErrorInvalidValue;
	sg_graph_close(graph);
	return cudaSuccess;
}

cudaError_t sg_graph_destroy(cudaGraph_t handle)
{
	struct sg_graph *graph;

	graph = sg_graph_of(handle);
	if (graph == NULL || graph->capturing || graph->owned)
		return cudaErrorInvalidValue;
	sg_graph_close(graph);
	return cudaSuccess;
}

cudaError_t sg_graph_get_nodes(cudaGraph_t handle, int only_roots, cudaGraphNode_t *nodes, size_t *numNodes)
{
	struct sg_graph *graph;
	size_t count, room;

	graph = sg_graph_of(handle);
	if (graph == NULL || numNodes == NULL)
		return cudaErrorInvalidValue;
	room = nodes != NULL ? *numNodes : 0;
	/* It may be asked for while it grows. */
	pthread_mutex_lock(&sg_capture_lock);
	count = sg_graph_visible(graph, only_roots, nodes, room);
	pthread_mutex_unlock(&sg_capture_lock);
	/* More room than nodes: the rest is NULL, and the count says how many there are. */
	for (size_t i = count; i < room; i++)
		nodes[i] = NULL;
	*numNodes = nodes != NULL && count > room ? room : count;
	return cudaSuccess;
}
