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

DRIVER(cuGraphGetEdges, (CUgraph, hGraph, CUgraphNode *, from, CUgraphNode *, to, size_t *, numEdges),
	CUDA_ERROR_INVALID_VALUE, sg_graph_get_edges(hGraph, from, to, NULL, numEdges))
DRIVER(cuGraphGetEdges_v2,
	(CUgraph, hGraph, CUgraphNode *, from, CUgraphNode *, to, CUgraphEdgeData *, edgeData, size_t *,
		numEdges),
	CUDA_ERROR_INVALID_VALUE, sg_graph_get_edges(hGraph, from, to, edge_data(edgeData), numEdges))
DRIVER(cuGraphNodeGetDependencies,
	(CUgraphNode, hNode, CUgraphNode *, dependencies, size_t *, numDependencies),
	CUDA_ERROR_INVALID_VALUE, sg_graph_get_neighbours(hNode, 0, dependencies, NULL, numDependencies))
DRIVER(cuGraphNodeGetDependencies_v2,
	(CUgraphNode, hNode, CUgraphNode *, dependencies, CUgraphEdgeData *, edgeData, size_t *,
		numDependencies),
	CUDA_ERROR_INVALID_VALUE,
	sg_graph_get_neighbours(hNode, 0, dependencies, edge_data(edgeData), numDependencies))
DRIVER(cuGraphNodeGetDependentNodes,
	(CUgraphNode, hNode, CUgraphNode *, dependentNodes, size_t *, numDependentNodes),
	CUDA_ERROR_INVALID_VALUE, sg_graph_get_neighbours(hNode, 1, dependentNodes, NULL, numDependentNodes))
DRIVER(cuGraphNodeGetDependentNodes_v2,
	(CUgraphNode, hNode, CUgraphNode *, dependentNodes, CUgraphEdgeData *, edgeData, size_t *,
		numDependentNodes),
	CUDA_ERROR_INVALID_VALUE,
	sg_graph_get_neighbours(hNode, 1, dependentNodes, edge_data(edgeData), numDependentNodes))
DRIVER(cuGraphAddDependencies,
	(CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to, size_t, numDependencies),
	CUDA_ERROR_INVALID_VALUE, sg_graph_change_edges(hGraph, from, to, NULL, numDependencies, 1))
DRIVER(cuGraphAddDependencies_v2,
	(CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to, const CUgraphEdgeData *,
		edgeData, size_t, numDependencies),
	CUDA_ERROR_INVALID_VALUE,
	sg_graph_change_edges(
		hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies, 1))
DRIVER(cuGraphRemoveDependencies,
	(CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to, size_t, numDependencies),
	CUDA_ERROR_INVALID_VALUE, sg_graph_change_edges(hGraph, from, to, NULL, numDependencies, 0))
DRIVER(cuGraphRemoveDependencies_v2,
	(CUgraph, hGraph, const CUgraphNode *, from, const CUgraphNode *, to, const CUgraphEdgeData *,
		edgeData, size_t, numDependencies),
	CUDA_ERROR_INVALID_VALUE,
	sg_graph_change_edges(
		hGraph, from, to, (const cudaGraphEdgeData *)(const void *)edgeData, numDependencies, 0))
DRIVER(cuGraphDestroyNode, (CUgraphNode, hNode), CUDA_ERROR_INVALID_VALUE, sg_graph_node_destroy(hNode))
DRIVER(cuGraphClone, (CUgraph *, phGraphClone, CUgraph, originalGraph), CUDA_ERROR_OUT_OF_MEMORY,
	sg_graph_clone_handle(phGraphClone, originalGraph))
DRIVER(cuGraphNodeFindInClone, (CUgraphNode *, phNode, CUgraphNode, hOriginalNode, CUgraph, hClonedGraph),
	CUDA_ERROR_INVALID_VALUE, sg_graph_find_in_clone(phNode, hOriginalNode, hClonedGraph))
DRIVER(cuGraphChildGraphNodeGetGraph, (CUgraphNode, hNode, CUgraph *, phGraph), CUDA_ERROR_INVALID_VALUE,
	sg_graph_child_of(hNode, phGraph))

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

DRIVER(cuGraphNodeSetEnabled, (CUgraphExec, hGraphExec, CUgraphNode, hNode, unsigned int, isEnabled),
	CUDA_ERROR_INVALID_VALUE, sg_graph_exec_enable(hGraphExec, hNode, isEnabled != 0, NULL))
DRIVER(cuGraphNodeGetEnabled, (CUgraphExec, hGraphExec, CUgraphNode, hNode, unsigned int *, isEnabled),
	CUDA_ERROR_INVALID_VALUE, sg_graph_exec_enable(hGraphExec, hNode, -1, isEnabled))

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)flags;
	return sg_driver_result(sg_graph_draw(hGraph, path));
}

DRIVER(cuGraphKernelNodeGetAttribute,
	(CUgraphNode, hNode, CUkernelNodeAttrID, attr, CUkernelNodeAttrValue *, value_out),
	CUDA_ERROR_INVALID_VALUE, sg_graph_attribute(hNode, (int)attr, value_out, 0))
DRIVER(cuGraphKernelNodeSetAttribute,
	(CUgraphNode, hNode, CUkernelNodeAttrID, attr, const CUkernelNodeAttrValue *, value),
	CUDA_ERROR_INVALID_VALUE, sg_graph_attribute(hNode, (int)attr, (void *)(uintptr_t)value, 1))
DRIVER(cuGraphKernelNodeCopyAttributes, (CUgraphNode, dst, CUgraphNode, src), CUDA_ERROR_INVALID_VALUE,
	sg_graph_copy_attributes(dst, src))
DRIVER(cuUserObjectCreate,
	(CUuserObject *, object_out, void *, ptr, CUhostFn, destroy, unsigned int, initialRefcount,
		unsigned int, flags),
	CUDA_ERROR_OUT_OF_MEMORY,
	sg_user_object_create((void **)object_out, ptr, destroy, initialRefcount, flags))
DRIVER(cuUserObjectRetain, (CUuserObject, object, unsigned int, count), CUDA_ERROR_INVALID_VALUE,
	sg_user_object_count(object, count, 1))
DRIVER(cuUserObjectRelease, (CUuserObject, object, unsigned int, count), CUDA_ERROR_INVALID_VALUE,
	sg_user_object_count(object, count, 0))
DRIVER(cuGraphRetainUserObject,
	(CUgraph, graph, CUuserObject, object, unsigned int, count, unsigned int, flags),
	CUDA_ERROR_INVALID_VALUE, sg_graph_retain(graph, object, count, flags))
DRIVER(cuGraphReleaseUserObject, (CUgraph, graph, CUuserObject, object, unsigned int, count),
	CUDA_ERROR_INVALID_VALUE, sg_graph_release(graph, object, count))
DRIVER(cuDeviceGetGraphMemAttribute, (CUdevice, device, CUgraphMem_attribute, attr, void *, value),
	CUDA_ERROR_INVALID_VALUE, sg_graph_memory_attribute(device, (int)attr, value, 0))
DRIVER(cuDeviceSetGraphMemAttribute, (CUdevice, device, CUgraphMem_attribute, attr, void *, value),
	CUDA_ERROR_INVALID_VALUE, sg_graph_memory_attribute(device, (int)attr, value, 1))

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	uint64_t used;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return sg_driver_result(sg_graph_memory_attribute(device, 0, &used, 0));
}

DRIVER_PTSZ(cuStreamUpdateCaptureDependencies,
	(CUstream, hStream, CUgraphNode *, dependencies, size_t, numDependencies, unsigned int, flags),
	CUDA_ERROR_INVALID_VALUE, sg_stream_update_capture(hStream, dependencies, numDependencies, flags))

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
	const CUgraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)dependencyData;
	return sg_driver_result(sg_stream_update_capture(hStream, dependencies, numDependencies, flags));
}
