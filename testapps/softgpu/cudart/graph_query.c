/* What programs ask of graphs, and change in them but their nodes' arguments. */
#include "calls/calls.h"

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_get_nodes(graph, 1, pRootNodes, pNumRootNodes));
}

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

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
	cudaGraphEdgeData *edgeData, size_t *numEdges)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_get_edges(graph, from, to, edgeData, numEdges));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
	cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_get_neighbours(node, 0, pDependencies, edgeData, pNumDependencies));
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
	cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_get_neighbours(node, 1, pDependentNodes, edgeData, pNumDependentNodes));
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
	const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_change_edges(graph, from, to, edgeData, numDependencies, 1));
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
	const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_change_edges(graph, from, to, edgeData, numDependencies, 0));
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_node_destroy(node));
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(sg_graph_clone_handle(pGraphClone, originalGraph));
}

cudaError_t cudaGraphNodeFindInClone(
	cudaGraphNode_t *pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_find_in_clone(pNode, originalNode, clonedGraph));
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_child_of(node, pGraph));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_exec_flags(graphExec, flags));
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_exec_enable(hGraphExec, hNode, isEnabled != 0, NULL));
}

cudaError_t cudaGraphNodeGetEnabled(
	cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_exec_enable(hGraphExec, hNode, -1, isEnabled));
}

/* Names of nodes and kernels in any case; no other parameters, whatever the flags. */
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidValue);
	(void)flags;
	return sg_result(sg_graph_draw(graph, path));
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
	unsigned int initialRefcount, unsigned int flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(sg_user_object_create((void **)object_out, ptr, destroy, initialRefcount, flags));
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_user_object_count(object, count, 1));
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_user_object_count(object, count, 0));
}

cudaError_t cudaGraphRetainUserObject(
	cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_retain(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_release(graph, object, count));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_memory_attribute(device, (int)attr, value, 0));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_graph_memory_attribute(device, (int)attr, value, 1));
}

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
