/* cudaGraph*: the part of the graph calls that stream capture leads to. */
#include "sg_rt.h"

/* Exported for cudaStreamBeginCaptureToGraph; softgpu's own headers do not have it. */
cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags);

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
	struct sg_graph *graph;

	SG_ENTER(cudaErrorMemoryAllocation);
	if (pGraph == NULL || flags != 0)
		return sg_result(cudaErrorInvalidValue);
	graph = sg_graph_open(0);
	*pGraph = (cudaGraph_t)(void *)graph;
	return sg_result(graph != NULL ? cudaSuccess : cudaErrorMemoryAllocation);
}

static struct sg_graph *graph_of(cudaGraph_t handle)
{
	struct sg_graph *graph = sg_pool_check(&sg_graphs, handle);

	return graph != NULL && !graph->executable ? graph : NULL;
}

static struct sg_graph *executable_of(cudaGraphExec_t handle)
{
	struct sg_graph *graph = sg_pool_check(&sg_graphs, handle);

	return graph != NULL && graph->executable ? graph : NULL;
}

static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t handle)
{
	struct sg_graph *graph = graph_of(handle), *executable;
	cudaError_t error;

	if (out == NULL || graph == NULL)
		return cudaErrorInvalidValue;
	if (graph->capturing)
		return cudaErrorIllegalState;
	error = sg_graph_instantiate(graph, &executable);
	if (error == cudaSuccess)
		*out = (cudaGraphExec_t)(void *)executable;
	return error;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	(void)flags;
	return sg_result(instantiate(pGraphExec, graph));
}

cudaError_t cudaGraphInstantiateWithFlags(
	cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	(void)flags;
	return sg_result(instantiate(pGraphExec, graph));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t handle)
{
	struct sg_graph *graph;
	struct sg_stream *stream;

	SG_ENTER(cudaErrorLaunchFailure);
	graph = executable_of(graphExec);
	stream = sg_stream_of(handle);
	if (graph == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_result(sg_capture_launch(graph, stream));
	if (stream->kind == SG_LEGACY && atomic_load(&sg_capture_count) != 0) {
		cudaError_t error = sg_capture_refuse_legacy(stream->device);

		if (error != cudaSuccess)
			return sg_result(error);
	}
	return sg_result(sg_graph_launch(graph, stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
	struct sg_graph *graph;

	SG_ENTER(cudaErrorInvalidValue);
	graph = executable_of(graphExec);
	if (graph == NULL)
		return sg_result(cudaErrorInvalidValue);
	sg_graph_close(graph);
	return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle)
{
	struct sg_graph *graph;

	SG_ENTER(cudaErrorInvalidValue);
	graph = graph_of(handle);
	if (graph == NULL || graph->capturing)
		return sg_result(cudaErrorInvalidValue);
	sg_graph_close(graph);
	return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, size_t *numNodes)
{
	struct sg_graph *graph;
	size_t count, room;

	SG_ENTER(cudaErrorInvalidValue);
	graph = graph_of(handle);
	if (graph == NULL || numNodes == NULL)
		return sg_result(cudaErrorInvalidValue);
	room = nodes != NULL ? *numNodes : 0;
	count = sg_graph_visible(graph, nodes, room);
	/* More room than nodes: the rest is NULL, and the count says how many there are. */
	for (size_t i = count; i < room; i++)
		nodes[i] = NULL;
	*numNodes = nodes != NULL && count > room ? room : count;
	return cudaSuccess;
}
