/* cuGraph*: the runtime's graphs under the driver's names. */
#include "cuda_private.h"

DRIVER(cuGraphCreate, (CUgraph *, phGraph, unsigned int, flags), CUDA_ERROR_OUT_OF_MEMORY,
	sg_graph_create(phGraph, flags))

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

DRIVER_OWN(cuGraphInstantiate,
	(CUgraphExec *, phGraphExec, CUgraph, hGraph, CUgraphNode *, phErrorNode, char *, logBuffer, size_t,
		bufferSize),
	CUDA_ERROR_OUT_OF_MEMORY, instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
DRIVER_OWN(cuGraphInstantiate_v2,
	(CUgraphExec *, phGraphExec, CUgraph, hGraph, CUgraphNode *, phErrorNode, char *, logBuffer, size_t,
		bufferSize),
	CUDA_ERROR_OUT_OF_MEMORY, instantiate_logged(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
DRIVER(cuGraphInstantiateWithFlags, (CUgraphExec *, phGraphExec, CUgraph, hGraph, unsigned long long, flags),
	CUDA_ERROR_OUT_OF_MEMORY, sg_graph_instantiate_handle(phGraphExec, hGraph, flags))

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

DRIVER_PTSZ(cuGraphUpload, (CUgraphExec, hGraph, CUstream, hStream), CUDA_ERROR_UNKNOWN,
	sg_graph_upload(hGraph, hStream))
DRIVER_PTSZ(cuGraphLaunch, (CUgraphExec, hGraph, CUstream, hStream), CUDA_ERROR_LAUNCH_FAILED,
	sg_graph_launch_handle(hGraph, hStream))
DRIVER(cuGraphGetNodes, (CUgraph, hGraph, CUgraphNode *, nodes, size_t *, numNodes), CUDA_ERROR_INVALID_VALUE,
	sg_graph_get_nodes(hGraph, 0, nodes, numNodes))
DRIVER(cuGraphGetRootNodes, (CUgraph, hGraph, CUgraphNode *, rootNodes, size_t *, numRootNodes),
	CUDA_ERROR_INVALID_VALUE, sg_graph_get_nodes(hGraph, 1, rootNodes, numRootNodes))
DRIVER(cuGraphExecDestroy, (CUgraphExec, hGraphExec), CUDA_ERROR_INVALID_VALUE,
	sg_graph_exec_destroy(hGraphExec))
DRIVER(cuGraphDestroy, (CUgraph, hGraph), CUDA_ERROR_INVALID_VALUE, sg_graph_destroy(hGraph))
