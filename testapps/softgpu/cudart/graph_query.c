/* What programs ask of graphs, and change in them but their nodes' arguments. */
#include "cudart_private.h"

RUNTIME(cudaGraphGetRootNodes, (cudaGraph_t, graph, cudaGraphNode_t *, pRootNodes, size_t *, pNumRootNodes),
	cudaErrorInvalidValue, sg_graph_get_nodes(graph, 1, pRootNodes, pNumRootNodes))

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
	int type = 0;
	cudaError_t error;

	SG_ENTER(cudaErrorInvalidValue);
	if (pType == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_graph_node_type_of(node, &type);
	if (error == cudaSuccess)
		*pType = (enum cudaGraphNodeType)type;
	return sg_result(error);
}

RUNTIME(cudaGraphGetEdges,
	(cudaGraph_t, graph, cudaGraphNode_t *, from, cudaGraphNode_t *, to, cudaGraphEdgeData *, edgeData,
		size_t *, numEdges),
	cudaErrorInvalidValue, sg_graph_get_edges(graph, from, to, edgeData, numEdges))
RUNTIME(cudaGraphNodeGetDependencies,
	(cudaGraphNode_t, node, cudaGraphNode_t *, pDependencies, cudaGraphEdgeData *, edgeData, size_t *,
		pNumDependencies),
	cudaErrorInvalidValue, sg_graph_get_neighbours(node, 0, pDependencies, edgeData, pNumDependencies))
RUNTIME(cudaGraphNodeGetDependentNodes,
	(cudaGraphNode_t, node, cudaGraphNode_t *, pDependentNodes, cudaGraphEdgeData *, edgeData, size_t *,
		pNumDependentNodes),
	cudaErrorInvalidValue,
	sg_graph_get_neighbours(node, 1, pDependentNodes, edgeData, pNumDependentNodes))
RUNTIME(cudaGraphAddDependencies,
	(cudaGraph_t, graph, const cudaGraphNode_t *, from, const cudaGraphNode_t *, to,
		const cudaGraphEdgeData *, edgeData, size_t, numDependencies),
	cudaErrorInvalidValue, sg_graph_change_edges(graph, from, to, edgeData, numDependencies, 1))
RUNTIME(cudaGraphRemoveDependencies,
	(cudaGraph_t, graph, const cudaGraphNode_t *, from, const cudaGraphNode_t *, to,
		const cudaGraphEdgeData *, edgeData, size_t, numDependencies),
	cudaErrorInvalidValue, sg_graph_change_edges(graph, from, to, edgeData, numDependencies, 0))
RUNTIME(cudaGraphDestroyNode, (cudaGraphNode_t, node), cudaErrorInvalidValue, sg_graph_node_destroy(node))
RUNTIME(cudaGraphClone, (cudaGraph_t *, pGraphClone, cudaGraph_t, originalGraph), cudaErrorMemoryAllocation,
	sg_graph_clone_handle(pGraphClone, originalGraph))
RUNTIME(cudaGraphNodeFindInClone,
	(cudaGraphNode_t *, pNode, cudaGraphNode_t, originalNode, cudaGraph_t, clonedGraph),
	cudaErrorInvalidValue, sg_graph_find_in_clone(pNode, originalNode, clonedGraph))
RUNTIME(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t, node, cudaGraph_t *, pGraph),
	cudaErrorInvalidValue, sg_graph_child_of(node, pGraph))
RUNTIME(cudaGraphExecGetFlags, (cudaGraphExec_t, graphExec, unsigned long long *, flags),
	cudaErrorInvalidValue, sg_graph_exec_flags(graphExec, flags))
RUNTIME(cudaGraphNodeSetEnabled,
	(cudaGraphExec_t, hGraphExec, cudaGraphNode_t, hNode, unsigned int, isEnabled), cudaErrorInvalidValue,
	sg_graph_exec_enable(hGraphExec, hNode, isEnabled != 0, NULL))
RUNTIME(cudaGraphNodeGetEnabled,
	(cudaGraphExec_t, hGraphExec, cudaGraphNode_t, hNode, unsigned int *, isEnabled),
	cudaErrorInvalidValue, sg_graph_exec_enable(hGraphExec, hNode, -1, isEnabled))

/* Names of nodes and kernels in any case; no other parameters, whatever the flags. */
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidValue);
	(void)flags;
	return sg_result(sg_graph_draw(graph, path));
}

RUNTIME(cudaUserObjectCreate,
	(cudaUserObject_t *, object_out, void *, ptr, cudaHostFn_t, destroy, unsigned int, initialRefcount,
		unsigned int, flags),
	cudaErrorMemoryAllocation,
	sg_user_object_create((void **)object_out, ptr, destroy, initialRefcount, flags))
RUNTIME(cudaUserObjectRetain, (cudaUserObject_t, object, unsigned int, count), cudaErrorInvalidValue,
	sg_user_object_count(object, count, 1))
RUNTIME(cudaUserObjectRelease, (cudaUserObject_t, object, unsigned int, count), cudaErrorInvalidValue,
	sg_user_object_count(object, count, 0))
RUNTIME(cudaGraphRetainUserObject,
	(cudaGraph_t, graph, cudaUserObject_t, object, unsigned int, count, unsigned int, flags),
	cudaErrorInvalidValue, sg_graph_retain(graph, object, count, flags))
RUNTIME(cudaGraphReleaseUserObject, (cudaGraph_t, graph, cudaUserObject_t, object, unsigned int, count),
	cudaErrorInvalidValue, sg_graph_release(graph, object, count))
RUNTIME(cudaDeviceGetGraphMemAttribute, (int, device, enum cudaGraphMemAttributeType, attr, void *, value),
	cudaErrorInvalidValue, sg_graph_memory_attribute(device, (int)attr, value, 0))
RUNTIME(cudaDeviceSetGraphMemAttribute, (int, device, enum cudaGraphMemAttributeType, attr, void *, value),
	cudaErrorInvalidValue, sg_graph_memory_attribute(device, (int)attr, value, 1))

cudaError_t cudaDeviceGraphMemTrim(int device)
{
	uint64_t used;

	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_memory_attribute(device, 0, &used, 0));
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
	const cudaGraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidValue);
	(void)dependencyData;
	return sg_result(sg_stream_update_capture(stream, dependencies, numDependencies, flags));
}
