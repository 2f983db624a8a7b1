/* cuGraphAdd*Node, cuGraphExec*SetParams: graphs built and changed node by node. */
#include "cuda_private.h"

/* Newer than some of the headers that this is built with: CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE. */
#define CHILD_MOVED 1

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

/* It writes what the node answers into its parameters. */
static CUresult submit(CUgraphNodeParams *params, CUstream stream)
{
	void *block;
	cudaError_t error;

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
		return sg_driver_result(sg_graph_add_child(
			stream, params->graph.graph, params->graph.ownership == CHILD_MOVED));
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return sg_driver_result(
			sg_stream_wait_event(stream, params->eventWait.event, cudaEventWaitExternal));
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return sg_driver_result(
			sg_event_record_on(params->eventRecord.event, stream, cudaEventRecordExternal));
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if (params->alloc.bytesize == 0)
			return CUDA_ERROR_INVALID_VALUE;
		error = sg_allocate_async(&block, params->alloc.bytesize, NULL, stream);
		if (error == cudaSuccess)
			params->alloc.dptr = sg_address(block);
		return sg_driver_result(error);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		if (params->free.dptr == 0)
			return CUDA_ERROR_INVALID_VALUE;
		return sg_driver_result(sg_free_async(sg_pointer(params->free.dptr), stream));
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return sg_driver_result(sg_graph_add_conditional(stream, params->conditional.handle,
			(int)params->conditional.type, params->conditional.size,
			(cudaGraph_t **)(void *)&params->conditional.phGraph_out));
	default:
		return CUDA_ERROR_NOT_SUPPORTED; /* semaphores of other libraries, batches of memory
						    operations */
	}
}

/* Failures pass through the edit as the runtime's errors, which have the same numbers. */
static CUresult add_with(CUgraphNode *node, CUgraph graph, const CUgraphNode *depends_on,
	const cudaGraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
	struct sg_graph_edit edit;
	CUresult result;
	cudaError_t error;

	if (node == NULL || params == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_check_edges(graph, depends_on, data, count);
	if (error == cudaSuccess)
		error = sg_graph_add_begin(&edit, graph, depends_on, count);
	if (error != cudaSuccess)
		return sg_driver_result(error);
	result = submit(params, edit.stream);
	error = sg_graph_add_end(&edit, (cudaError_t)result, node);
	if (error == cudaSuccess)
		error = sg_graph_note_edges(*node, depends_on, data, count);
	return sg_driver_result(error);
}

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *depends_on, size_t count,
	CUgraphNodeParams *params)
{
	return add_with(node, graph, depends_on, NULL, count, params);
}

/* Neither memory nor a condition can be exchanged. */
static int is_fixed(const CUgraphNodeParams *params)
{
	return params == NULL || params->type >= CU_GRAPH_NODE_TYPE_MEM_ALLOC;
}

static CUresult set(CUgraphNode node, CUgraphNodeParams *params)
{
	struct sg_graph_edit edit;
	CUresult result;
	cudaError_t error;

	if (is_fixed(params))
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_set_begin(&edit, node);
	if (error != cudaSuccess)
		return sg_driver_result(error);
	result = submit(params, edit.stream);
	return sg_driver_result(sg_graph_set_end(&edit, (cudaError_t)result, node));
}

static CUresult change(CUgraphExec executable, CUgraphNode node, CUgraphNodeParams *params)
{
	struct sg_graph_edit edit;
	CUresult result;
	cudaError_t error;

	if (is_fixed(params))
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_graph_change_begin(&edit, executable);
	if (error != cudaSuccess)
		return sg_driver_result(error);
	result = submit(params, edit.stream);
	return sg_driver_result(sg_graph_change_end(&edit, (cudaError_t)result, executable, node));
}

DRIVER_OWN(cuGraphAddNode_v2,
	(CUgraphNode *, phGraphNode, CUgraph, hGraph, const CUgraphNode *, dependencies,
		const CUgraphEdgeData *, dependencyData, size_t, numDependencies, CUgraphNodeParams *,
		nodeParams),
	CUDA_ERROR_OUT_OF_MEMORY,
	add_with(phGraphNode, hGraph, dependencies, (const cudaGraphEdgeData *)(const void *)dependencyData,
		numDependencies, nodeParams))
DRIVER_OWN(cuGraphAddNode,
	(CUgraphNode *, phGraphNode, CUgraph, hGraph, const CUgraphNode *, dependencies, size_t,
		numDependencies, CUgraphNodeParams *, nodeParams),
	CUDA_ERROR_OUT_OF_MEMORY, add(phGraphNode, hGraph, dependencies, numDependencies, nodeParams))
DRIVER_OWN(cuGraphNodeSetParams, (CUgraphNode, hNode, CUgraphNodeParams *, nodeParams),
	CUDA_ERROR_INVALID_VALUE, set(hNode, nodeParams))

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph, CUcontext ctx,
	unsigned int defaultLaunchValue, unsigned int flags)
{
	uint64_t handle = 0;
	CUresult result;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (pHandle_out == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx != NULL && sg_context_of(ctx) == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	result = sg_driver_result(sg_condition_create(&handle, hGraph, defaultLaunchValue, flags));
	*pHandle_out = handle;
	return result;
}

DRIVER_OWN(cuGraphExecNodeSetParams,
	(CUgraphExec, hGraphExec, CUgraphNode, hNode, CUgraphNodeParams *, nodeParams),
	CUDA_ERROR_INVALID_VALUE, change(hGraphExec, hNode, nodeParams))

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
	CUgraphNodeParams params = of_graph(childGraph);

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
	CUgraphNodeParams params = of_graph(childGraph);

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return change(hGraphExec, hNode, &params);
}

CUresult cuGraphAddEmptyNode(
	CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

/* ---- in the graph itself, host functions, events, memory ---- */

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_kernel(nodeParams);
	return set(hNode, &params);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_copy(nodeParams);
	return set(hNode, &params);
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS_v1 *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_set(nodeParams);
	return set(hNode, &params);
}

static CUgraphNodeParams of_host(const CUDA_HOST_NODE_PARAMS_v1 *params)
{
	CUgraphNodeParams all = {.type = CU_GRAPH_NODE_TYPE_HOST};

	all.host.fn = params->fn;
	all.host.userData = params->userData;
	return all;
}

CUresult cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, const CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_host(nodeParams);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_host(nodeParams);
	return set(hNode, &params);
}

CUresult cuGraphExecHostNodeSetParams(
	CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS_v1 *nodeParams)
{
	CUgraphNodeParams params;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params = of_host(nodeParams);
	return change(hGraphExec, hNode, &params);
}

static CUgraphNodeParams of_event(CUgraphNodeType type, CUevent event)
{
	CUgraphNodeParams all = {.type = type};

	if (type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
		all.eventWait.event = event;
	else
		all.eventRecord.event = event;
	return all;
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, CUevent event)
{
	CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, CUevent event)
{
	CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
	CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return change(hGraphExec, hNode, &params);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
	CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	return change(hGraphExec, hNode, &params);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS_v1 *nodeParams)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
	CUresult result;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (nodeParams == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	params.alloc.bytesize = nodeParams->bytesize;
	result = add(phGraphNode, hGraph, dependencies, numDependencies, &params);
	if (result == CUDA_SUCCESS)
		nodeParams->dptr = params.alloc.dptr;
	return result;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
	size_t numDependencies, CUdeviceptr dptr)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	params.free.dptr = dptr;
	return add(phGraphNode, hGraph, dependencies, numDependencies, &params);
}
