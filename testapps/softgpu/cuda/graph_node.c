/* cuGraphAdd*Node, cuGraphExec*SetParams: graphs built and changed node by node. */
#include "cuda_private.h"

static CUresult submit_kernel(const CUDA_KERNEL_NODE_PARAMS_v3 *params, CUstream stream)
{
	struct sg_launch launch = {.grid = {params->gridDimX, params->gridDimY, params->gridDimZ},
		.block = {params->blockDimX, params->blockDimY, params->blockDimZ},
		.args = params->kernelParams,
		.shared_bytes = params->sharedMemBytes};
	CUfunction kernel = params->func != NULL ? params->func : (CUfunction)(void *)params->kern;

	return sg_driver_launch(kernel, &launch, params->extra, stream);
}

static CUresult submit_set(const CUDA_MEMSET_NODE_PARAMS_v2 *params, CUstream stream)
{
	struct sg_box box = {.to = sg_pointer(params->dst), .height = params->height, .depth = 1};

	if (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->height > 1)
		box.to_pitch = params->pitch;
	if (__builtin_mul_overflow(params->width, (size_t)params->elementSize, &box.width))
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_fill(&box, params->value, params->elementSize, stream, SG_ASYNC));
}

/* A node holds a copy of the graph as it is now. */
static CUresult submit_graph(CUgraph graph, CUstream stream)
{
	cudaGraphExec_t executable;
	cudaError_t error = sg_graph_instantiate_handle(&executable, graph);

	if (error != cudaSuccess)
		return sg_driver_result(error);
	error = sg_graph_launch_handle(executable, stream);
	sg_graph_exec_destroy(executable);
	return sg_driver_result(error);
}

static CUresult submit(const CUgraphNodeParams *params, CUstream stream)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return submit_kernel(&params->kernel, stream);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sg_driver_copy3d(&params->memcpy.copyParams, stream, SG_ASYNC);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return submit_set(&params->memset, stream);
	case CU_GRAPH_NODE_TYPE_HOST:
		return sg_driver_result(sg_launch_host(stream, params->host.fn, params->host.userData));
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return submit_graph(params->graph.graph, stream);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* Failures pass through the edit as the runtime's errors, which have the same numbers. */
static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *depends_on, size_t count,
	const CUgraphNodeParams *params)
{
	struct sg_graph_edit edit;
	CUresult result;
	cudaError_t error;

	if (node == NULL || params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_add_begin(&edit, graph, depends_on, count);
	if (error != cudaSuccess)
		return sg_driver_result(error);
	result = submit(params, edit.stream);
	return sg_driver_result(sg_graph_add_end(&edit, (cudaError_t)result, node));
}

static CUresult change(CUgraphExec executable, CUgraphNode node, const CUgraphNodeParams *params)
{
	struct sg_graph_edit edit;
	CUresult result;
	cudaError_t error;

	if (params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_change_begin(&edit, executable);
	if (error != cudaSuccess)
		return sg_driver_result(error);
	result = submit(params, edit.stream);
	return sg_driver_result(sg_graph_change_end(&edit, (cudaError_t)result, executable, node));
}

CUresult cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	const CUgraphEdgeData *dependencyData, size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	(void)dependencyData;
	return add(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return change(hGraphExec, hNode, nodeParams);
}

/* ---- a function for each kind, and its parameters as the general ones ---- */

static CUgraphNodeParams of_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	all.kernel.func = params->func;
	all.kernel.gridDimX = params->gridDimX;
	all.kernel.gridDimY = params->gridDimY;
	all.kernel.gridDimZ = params->gridDimZ;
	all.kernel.blockDimX = params->blockDimX;
	all.kernel.blockDimY = params->blockDimY;
	all.kernel.blockDimZ = params->blockDimZ;
	all.kernel.sharedMemBytes = params->sharedMemBytes;
	all.kernel.kernelParams = params->kernelParams;
	all.kernel.extra = params->extra;
	all.kernel.kern = params->kern;
	return all;
}

static CUgraphNodeParams of_copy(const CUDA_MEMCPY3D *params)
{
	CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};

	all.memcpy.copyParams = *params;
	return all;
}

static CUgraphNodeParams of_set(const CUDA_MEMSET_NODE_PARAMS_v1 *params)
{
	CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_MEMSET};

	all.memset.dst = params->dst;
	all.memset.pitch = params->pitch;
	all.memset.value = params->value;
	all.memset.elementSize = params->elementSize;
	all.memset.width = params->width;
	all.memset.height = params->height;
	return all;
}

static CUgraphNodeParams of_graph(CUgraph graph)
{
	CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_GRAPH};

	all.graph.graph = graph;
	return all;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_kernel(nodeParams);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphExecKernelNodeSetParams_v2(
	CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_kernel(nodeParams);
	return change(hGraphExec, hNode, &params);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	(void)ctx;
	if (copyParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_copy(copyParams);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphExecMemcpyNodeSetParams(
	CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)ctx;
	if (copyParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_copy(copyParams);
	return change(hGraphExec, hNode, &params);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS_v1 *memsetParams, CUcontext ctx)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	(void)ctx;
	if (memsetParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_set(memsetParams);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
	const CUDA_MEMSET_NODE_PARAMS_v1 *memsetParams, CUcontext ctx)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)ctx;
	if (memsetParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_set(memsetParams);
	return change(hGraphExec, hNode, &params);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, CUgraph childGraph)
{
	const CUgraphNodeParams params = of_graph(childGraph);

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
	const CUgraphNodeParams params = of_graph(childGraph);

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return change(hGraphExec, hNode, &params);
}

CUresult cuGraphAddEmptyNode(
	CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies)
{
	const CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (hNode == NULL || type == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*type = (CUgraphNodeType)sg_graph_node_type((const struct sg_node *)(const void *)hNode);
	return CUDA_SUCCESS;
}
