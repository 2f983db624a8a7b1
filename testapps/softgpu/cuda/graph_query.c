/* What programs ask of graphs, and change in them but their nodes' arguments. */
#include "cuda_private.h"

/* The driver's data of an edge is the runtime's. */
static cudaGraphEdgeData *edge_data(CUgraphEdgeData *data)
{
	return (cudaGraphEdgeData *)(void *)data;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	int answer = 0;
	cudaError_t error;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (type == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_node_type_of(hNode, &answer);
	if (error == cudaSuccess)
		*type = (CUgraphNodeType)answer;
	return sg_driver_result(error);
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_get_edges(hGraph, from, to, NULL, numEdges));
}

CUresult cuGraphGetEdges_v2(
	CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData, size_t *numEdges)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_get_edges(hGraph, from, to, edge_data(edgeData), numEdges));
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_get_neighbours(hNode, 0, dependencies, NULL, numDependencies));
}

CUresult cuGraphNodeGetDependencies_v2(
	CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData, size_t *numDependencies)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(
		sg_graph_get_neighbours(hNode, 0, dependencies, edge_data(edgeData), numDependencies));
}

CUresult cuGraphNodeGetDependentNodes(
	CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_get_neighbours(hNode, 1, dependentNodes, NULL, numDependentNodes));
}

CUresult cuGraphNodeGetDependentNodes_v2(
	CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(
		sg_graph_get_neighbours(hNode, 1, dependentNodes, edge_data(edgeData), numDependentNodes));
}

CUresult cuGraphAddDependencies(
	CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_change_edges(hGraph, from, to, NULL, numDependencies, 1));
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *edgeData, size_t numDependencies)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_change_edges(
		hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies, 1));
}

CUresult cuGraphRemoveDependencies(
	CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to, size_t numDependencies)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_change_edges(hGraph, from, to, NULL, numDependencies, 0));
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
	const CUgraphEdgeData *edgeData, size_t numDependencies)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_change_edges(
		hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies, 0));
}

CUresult cuGraphDestroyNode(CUgraphNode hNode)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_node_destroy(hNode));
}

CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return sg_driver_result(sg_graph_clone_handle(phGraphClone, originalGraph));
}

CUresult cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_find_in_clone(phNode, hOriginalNode, hClonedGraph));
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_child_of(hNode, phGraph));
}

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
	unsigned long long answer = 0;
	cudaError_t error;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	error = flags != NULL ? sg_graph_exec_flags(hGraphExec, &answer) : cudaErrorInvalidValue;
	if (error == cudaSuccess)
		*flags = answer;
	return sg_driver_result(error);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_exec_enable(hGraphExec, hNode, isEnabled != 0, NULL));
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_exec_enable(hGraphExec, hNode, -1, isEnabled));
}

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)flags;
	return sg_driver_result(sg_graph_draw(hGraph, path));
}

CUresult cuGraphKernelNodeGetAttribute(
	CUgraphNode hNode, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_attribute(hNode, (int)attr, value_out, 0));
}

CUresult cuGraphKernelNodeSetAttribute(
	CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_attribute(hNode, (int)attr, (void *)(uintptr_t)value, 1));
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_copy_attributes(dst, src));
}

CUresult cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
	unsigned int initialRefcount, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return sg_driver_result(
		sg_user_object_create((void **)object_out, ptr, destroy, initialRefcount, flags));
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_user_object_count(object, count, 1));
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_user_object_count(object, count, 0));
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_retain(graph, object, count, flags));
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_release(graph, object, count));
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_memory_attribute(device, (int)attr, value, 0));
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_memory_attribute(device, (int)attr, value, 1));
}

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	uint64_t used;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_memory_attribute(device, 0, &used, 0));
}

CUresult cuStreamUpdateCaptureDependencies(
	CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_stream_update_capture(hStream, dependencies, numDependencies, flags));
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
	const CUgraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)dependencyData;
	return sg_driver_result(sg_stream_update_capture(hStream, dependencies, numDependencies, flags));
}
