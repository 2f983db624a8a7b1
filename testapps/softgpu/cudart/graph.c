/* cudaGraph*: the part of the graph calls that stream capture leads to. */
#include "cudart_private.h"

RUNTIME(cudaGraphCreate, (cudaGraph_t *, pGraph, unsigned int, flags), cudaErrorMemoryAllocation,
	sg_graph_create(pGraph, flags))
RUNTIME(cudaGraphInstantiate, (cudaGraphExec_t *, pGraphExec, cudaGraph_t, graph, unsigned long long, flags),
	cudaErrorMemoryAllocation, sg_graph_instantiate_handle(pGraphExec, graph, flags))
RUNTIME(cudaGraphInstantiateWithFlags,
	(cudaGraphExec_t *, pGraphExec, cudaGraph_t, graph, unsigned long long, flags),
	cudaErrorMemoryAllocation, sg_graph_instantiate_handle(pGraphExec, graph, flags))

cudaError_t cudaGraphExecUpdate(
	cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphExecUpdateResultInfo *resultInfo)
{
	struct sg_graph_difference difference;
	cudaError_t error;

	SG_ENTER(cudaErrorInvalidValue);
	if (resultInfo == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_graph_update(hGraphExec, hGraph, &difference);
	resultInfo->result = (__typeof__(resultInfo->result))(int)difference.what;
	resultInfo->errorNode = (cudaGraphNode_t)(uintptr_t)difference.node;
	resultInfo->errorFromNode = (cudaGraphNode_t)(uintptr_t)difference.from;
	return sg_result(error);
}

RUNTIME_PTSZ(cudaGraphUpload, (cudaGraphExec_t, graphExec, cudaStream_t, stream), cudaErrorUnknown,
	sg_graph_upload(graphExec, stream))

cudaError_t cudaGraphInstantiateWithParams(
	cudaGraphExec_t *pGraphExec, cudaGraph_t graph, cudaGraphInstantiateParams *instantiateParams)
{
	cudaError_t error;

	SG_ENTER(cudaErrorMemoryAllocation);
	if (instantiateParams == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_graph_instantiate_handle(pGraphExec, graph, instantiateParams->flags);
	instantiateParams->errNode_out = NULL;
	/* 0: done, 1: failed */
	instantiateParams->result_out = error != cudaSuccess;
	return sg_result(error);
}

RUNTIME_PTSZ(cudaGraphLaunch, (cudaGraphExec_t, graphExec, cudaStream_t, handle), cudaErrorLaunchFailure,
	sg_graph_launch_handle(graphExec, handle))
RUNTIME(cudaGraphExecDestroy, (cudaGraphExec_t, graphExec), cudaErrorInvalidValue,
	sg_graph_exec_destroy(graphExec))
RUNTIME(cudaGraphDestroy, (cudaGraph_t, handle), cudaErrorInvalidValue, sg_graph_destroy(handle))
RUNTIME(cudaGraphGetNodes, (cudaGraph_t, handle, cudaGraphNode_t *, nodes, size_t *, numNodes),
	cudaErrorInvalidValue, sg_graph_get_nodes(handle, 0, nodes, numNodes))
