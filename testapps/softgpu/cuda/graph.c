/* cuGraph*: the runtime's graphs under the driver's names. */
#include "cuda_private.h"

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return sg_driver_result(sg_graph_create(phGraph, flags));
}

/* The first two versions could say which node is at fault, and why. */
static CUresult instantiate_logged(
	CUgraphExec *executable, CUgraph graph, CUgraphNode *culprit, char *log, size_t log_bytes)
{
	if (culprit != NULL)
		*culprit = NULL;
	if (log != NULL && log_bytes > 0)
		*log = '\0';
	return sg_driver_result(sg_graph_instantiate_handle(executable, graph, 0));
}

CUresult cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
	char *logBuffer, size_t bufferSize)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
	char *logBuffer, size_t bufferSize)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return sg_driver_result(sg_graph_instantiate_handle(phGraphExec, hGraph, flags));
}

CUresult cuGraphInstantiateWithParams(
	CUgraphExec *phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	cudaError_t error;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (instantiateParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_instantiate_handle(phGraphExec, hGraph, instantiateParams->flags);
	instantiateParams->hErrNode_out = NULL;
	/* 0: done, 1: failed */
	instantiateParams->result_out = error != cudaSuccess;
	return sg_driver_result(error);
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
	struct sg_graph_difference difference;
	cudaError_t error;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (resultInfo == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_update(hGraphExec, hGraph, &difference);
	resultInfo->result = (__typeof__(resultInfo->result))(int)difference.what;
	resultInfo->errorNode = (CUgraphNode)(uintptr_t)difference.node;
	resultInfo->errorFromNode = (CUgraphNode)(uintptr_t)difference.from;
	return sg_driver_result(error);
}

CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream)
{
	SG_DRIVER(CUDA_ERROR_UNKNOWN);
	return sg_driver_result(sg_graph_upload(hGraph, hStream));
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream)
{
	SG_DRIVER(CUDA_ERROR_LAUNCH_FAILED);
	return sg_driver_result(sg_graph_launch_handle(hGraph, hStream));
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_get_nodes(hGraph, 0, nodes, numNodes));
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_get_nodes(hGraph, 1, rootNodes, numRootNodes));
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_exec_destroy(hGraphExec));
}

CUresult cuGraphDestroy(CUgraph hGraph)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_destroy(hGraph));
}
