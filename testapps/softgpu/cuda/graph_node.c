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

/* Parameters of a kind, to be filled; a conversion of NULL is NULL. */
#define NODE(kind, ...) (&(CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_##kind, ##__VA_ARGS__})

static CUgraphNodeParams *of_kernel(CUgraphNodeParams *all, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	if (params == NULL)
		return NULL;
	all->kernel.func = params->func;
	all->kernel.gridDimX = params->gridDimX;
	all->kernel.gridDimY = params->gridDimY;
	all->kernel.gridDimZ = params->gridDimZ;
	all->kernel.blockDimX = params->blockDimX;
	all->kernel.blockDimY = params->blockDimY;
	all->kernel.blockDimZ = params->blockDimZ;
	all->kernel.sharedMemBytes = params->sharedMemBytes;
	all->kernel.kernelParams = params->kernelParams;
	all->kernel.extra = params->extra;
	all->kernel.kern = params->kern;
	return all;
}

static CUgraphNodeParams *of_copy(CUgraphNodeParams *all, const CUDA_MEMCPY3D *params)
{
	if (params == NULL)
		return NULL;
	all->memcpy.copyParams = *params;
	return all;
}

static CUgraphNodeParams *of_set(CUgraphNodeParams *all, const CUDA_MEMSET_NODE_PARAMS_v1 *params)
{
	if (params == NULL)
		return NULL;
	all->memset.dst = params->dst;
	all->memset.pitch = params->pitch;
	all->memset.value = params->value;
	all->memset.elementSize = params->elementSize;
	all->memset.width = params->width;
	all->memset.height = params->height;
	return all;
}

static CUgraphNodeParams *of_host(CUgraphNodeParams *all, const CUDA_HOST_NODE_PARAMS_v1 *params)
{
	if (params == NULL)
		return NULL;
	all->host.fn = params->fn;
	all->host.userData = params->userData;
	return all;
}

/*
 * Rows to add a node, to set what it does in its graph, and to change it where it is executable: name, what
 * follows the parameters that all of them have, the parameters as the general ones.
 */
#define ADD(name, parameters, params) \
	CUresult name(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, \
		size_t numDependencies, PM_OPEN parameters) \
	{ \
		SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY); \
		return add(phGraphNode, hGraph, dependencies, numDependencies, params); \
	}
#define SET(name, parameters, params) \
	CUresult name(CUgraphNode hNode, PM_OPEN parameters) \
	{ \
		SG_DRIVER(CUDA_ERROR_INVALID_VALUE); \
		return set(hNode, params); \
	}
#define CHANGE(name, parameters, params) \
	CUresult name(CUgraphExec hGraphExec, CUgraphNode hNode, PM_OPEN parameters) \
	{ \
		SG_DRIVER(CUDA_ERROR_INVALID_VALUE); \
		return change(hGraphExec, hNode, params); \
	}

ADD(cuGraphAddKernelNode_v2, (const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams),
	of_kernel(NODE(KERNEL), nodeParams))
SET(cuGraphKernelNodeSetParams_v2, (const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams),
	of_kernel(NODE(KERNEL), nodeParams))
CHANGE(cuGraphExecKernelNodeSetParams_v2, (const CUDA_KERNEL_NODE_PARAMS_v2 *nodeParams),
	of_kernel(NODE(KERNEL), nodeParams))
ADD(cuGraphAddMemcpyNode, (const CUDA_MEMCPY3D *copyParams, CUcontext ctx),
	((void)ctx, of_copy(NODE(MEMCPY), copyParams)))
SET(cuGraphMemcpyNodeSetParams, (const CUDA_MEMCPY3D *nodeParams), of_copy(NODE(MEMCPY), nodeParams))
CHANGE(cuGraphExecMemcpyNodeSetParams, (const CUDA_MEMCPY3D *copyParams, CUcontext ctx),
	((void)ctx, of_copy(NODE(MEMCPY), copyParams)))
ADD(cuGraphAddMemsetNode, (const CUDA_MEMSET_NODE_PARAMS_v1 *memsetParams, CUcontext ctx),
	((void)ctx, of_set(NODE(MEMSET), memsetParams)))
SET(cuGraphMemsetNodeSetParams, (const CUDA_MEMSET_NODE_PARAMS_v1 *nodeParams),
	of_set(NODE(MEMSET), nodeParams))
CHANGE(cuGraphExecMemsetNodeSetParams, (const CUDA_MEMSET_NODE_PARAMS_v1 *memsetParams, CUcontext ctx),
	((void)ctx, of_set(NODE(MEMSET), memsetParams)))
ADD(cuGraphAddHostNode, (const CUDA_HOST_NODE_PARAMS_v1 *nodeParams), of_host(NODE(HOST), nodeParams))
SET(cuGraphHostNodeSetParams, (const CUDA_HOST_NODE_PARAMS_v1 *nodeParams), of_host(NODE(HOST), nodeParams))
CHANGE(cuGraphExecHostNodeSetParams, (const CUDA_HOST_NODE_PARAMS_v1 *nodeParams),
	of_host(NODE(HOST), nodeParams))
ADD(cuGraphAddChildGraphNode, (CUgraph childGraph), NODE(GRAPH, .graph.graph = childGraph))
CHANGE(cuGraphExecChildGraphNodeSetParams, (CUgraph childGraph), NODE(GRAPH, .graph.graph = childGraph))
ADD(cuGraphAddEventRecordNode, (CUevent event), NODE(EVENT_RECORD, .eventRecord.event = event))
CHANGE(cuGraphExecEventRecordNodeSetEvent, (CUevent event), NODE(EVENT_RECORD, .eventRecord.event = event))
ADD(cuGraphAddEventWaitNode, (CUevent event), NODE(WAIT_EVENT, .eventWait.event = event))
CHANGE(cuGraphExecEventWaitNodeSetEvent, (CUevent event), NODE(WAIT_EVENT, .eventWait.event = event))
DRIVER_OWN(cuGraphAddEmptyNode,
	(CUgraphNode *, phGraphNode, CUgraph, hGraph, const CUgraphNode *, dependencies, size_t,
		numDependencies),
	CUDA_ERROR_OUT_OF_MEMORY, add(phGraphNode, hGraph, dependencies, numDependencies, NODE(EMPTY)))

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
