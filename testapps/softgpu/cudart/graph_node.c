/* cudaGraphAdd*Node, cudaGraph*SetParams: graphs built and changed node by node. */
#include "cudart_private.h"
#include "calls/kernel.h"

static cudaError_t submit_kernel(const struct cudaKernelNodeParamsV2 *params, cudaStream_t stream)
{
	struct sg_launch launch = {.grid = params->gridDim,
		.block = params->blockDim,
		.args = params->kernelParams,
		.shared_bytes = params->sharedMemBytes};

	if (params->extra != NULL)
		return cudaErrorNotSupported;
	return sg_kernel_launch(sg_kernel_find(params->func), &launch, stream);
}

/* Of pitched memory: an array is no place of a node. */
static cudaError_t submit_copy(const struct cudaMemcpy3DParms *copy, cudaStream_t stream)
{
	struct sg_box box = {.to_pitch = copy->dstPtr.pitch,
		.from_pitch = copy->srcPtr.pitch,
		.width = copy->extent.width,
		.height = copy->extent.height,
		.depth = copy->extent.depth};

	if (copy->srcArray != NULL || copy->dstArray != NULL)
		return cudaErrorNotSupported;
	if (copy->srcPtr.ptr == NULL || copy->dstPtr.ptr == NULL)
		return cudaErrorInvalidValue;
	box.to_slice = box.to_pitch * copy->dstPtr.ysize;
	box.from_slice = box.from_pitch * copy->srcPtr.ysize;
	box.to = (char *)copy->dstPtr.ptr + copy->dstPos.z * box.to_slice + copy->dstPos.y * box.to_pitch +
		 copy->dstPos.x;
	box.from = (const char *)copy->srcPtr.ptr + copy->srcPos.z * box.from_slice +
		   copy->srcPos.y * box.from_pitch + copy->srcPos.x;
	return sg_copy(&box, copy->kind, SG_FIND_BOTH, stream, SG_ASYNC);
}

static cudaError_t submit_set(const struct cudaMemsetParamsV2 *params, cudaStream_t stream)
{
	struct sg_box box = {.to = params->dst, .height = params->height, .depth = 1};

	if (params->elementSize != 1 && params->elementSize != 2 && params->elementSize != 4)
		return cudaErrorInvalidValue;
	if (params->height > 1)
		box.to_pitch = params->pitch;
	if (__builtin_mul_overflow(params->width, (size_t)params->elementSize, &box.width))
		return cudaErrorInvalidValue;
	return sg_fill(&box, params->value, params->elementSize, stream, SG_ASYNC);
}

/* What a node does, in the stream of an edit; it writes what the node answers into its parameters. */
static cudaError_t submit(struct cudaGraphNodeParams *params, cudaStream_t stream)
{
	switch ((int)params->type) {
	case cudaGraphNodeTypeKernel:
		return submit_kernel(&params->kernel, stream);
	case cudaGraphNodeTypeMemcpy:
		return submit_copy(&params->memcpy.copyParams, stream);
	case cudaGraphNodeTypeMemset:
		return submit_set(&params->memset, stream);
	case cudaGraphNodeTypeHost:
		return sg_launch_host(stream, params->host.fn, params->host.userData);
	case cudaGraphNodeTypeGraph:
		return sg_graph_add_child(stream, params->graph.graph, (int)params->graph.ownership == 1);
	case cudaGraphNodeTypeEmpty:
		return cudaSuccess;
	case cudaGraphNodeTypeWaitEvent:
		return sg_stream_wait_event(stream, params->eventWait.event, cudaEventWaitExternal);
	case cudaGraphNodeTypeEventRecord:
		return sg_event_record_on(params->eventRecord.event, stream, cudaEventRecordExternal);
	case cudaGraphNodeTypeMemAlloc:
		if (params->alloc.bytesize == 0)
			return cudaErrorInvalidValue;
		return sg_allocate_async(&params->alloc.dptr, params->alloc.bytesize, NULL, stream);
	case cudaGraphNodeTypeMemFree:
		if (params->free.dptr == NULL)
			return cudaErrorInvalidValue;
		return sg_free_async(params->free.dptr, stream);
	case cudaGraphNodeTypeConditional:
		return sg_graph_add_conditional(stream, params->conditional.handle,
			(int)params->conditional.type, params->conditional.size,
			&params->conditional.phGraph_out);
	default:
		return cudaErrorNotSupported; /* semaphores of other libraries */
	}
}

static cudaError_t add(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *depends_on,
	const cudaGraphEdgeData *data, size_t count, struct cudaGraphNodeParams *params)
{
	struct sg_graph_edit edit;
	cudaError_t error;

	if (node == NULL || params == NULL)
		return cudaErrorInvalidValue;
	error = sg_graph_check_edges(graph, depends_on, data, count);
	if (error == cudaSuccess)
		error = sg_graph_add_begin(&edit, graph, depends_on, count);
	if (error != cudaSuccess)
		return error;
	error = sg_graph_add_end(&edit, submit(params, edit.stream), node);
	return error == cudaSuccess ? sg_graph_note_edges(*node, depends_on, data, count) : error;
}

/* Neither memory nor a condition can be exchanged. */
static int is_fixed(const struct cudaGraphNodeParams *params)
{
	return params == NULL || (int)params->type >= cudaGraphNodeTypeMemAlloc;
}

static cudaError_t change(
	cudaGraphExec_t executable, cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	struct sg_graph_edit edit;
	cudaError_t error;

	if (is_fixed(params))
		return cudaErrorInvalidValue;
	error = sg_graph_change_begin(&edit, executable);
	if (error != cudaSuccess)
		return error;
	return sg_graph_change_end(&edit, submit(params, edit.stream), executable, node);
}

static cudaError_t set(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
	struct sg_graph_edit edit;
	cudaError_t error;

	if (is_fixed(params))
		return cudaErrorInvalidValue;
	error = sg_graph_set_begin(&edit, node);
	if (error != cudaSuccess)
		return error;
	return sg_graph_set_end(&edit, submit(params, edit.stream), node);
}

RUNTIME(cudaGraphAddNode,
	(cudaGraphNode_t *, pGraphNode, cudaGraph_t, graph, const cudaGraphNode_t *, pDependencies,
		const cudaGraphEdgeData *, dependencyData, size_t, numDependencies,
		struct cudaGraphNodeParams *, nodeParams),
	cudaErrorMemoryAllocation,
	add(pGraphNode, graph, pDependencies, dependencyData, numDependencies, nodeParams))
RUNTIME(cudaGraphNodeSetParams, (cudaGraphNode_t, node, struct cudaGraphNodeParams *, nodeParams),
	cudaErrorInvalidValue, set(node, nodeParams))
RUNTIME(cudaGraphExecNodeSetParams,
	(cudaGraphExec_t, graphExec, cudaGraphNode_t, node, struct cudaGraphNodeParams *, nodeParams),
	cudaErrorInvalidValue, change(graphExec, node, nodeParams))

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph,
	unsigned defaultLaunchValue, unsigned flags)
{
	uint64_t handle = 0;
	cudaError_t error;

	SG_ENTER(cudaErrorMemoryAllocation);
	if (pHandle_out == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_condition_create(&handle, graph, defaultLaunchValue, flags);
	*pHandle_out = handle;
	return sg_result(error);
}

/* ---- a function for each kind, and its parameters as the general ones ---- */

/* Parameters of a kind, to be filled; a conversion of NULL is NULL. */
#define NODE(kind, ...) (&(struct cudaGraphNodeParams){.type = cudaGraphNodeType##kind, ##__VA_ARGS__})

static struct cudaGraphNodeParams *of_kernel(
	struct cudaGraphNodeParams *all, const struct cudaKernelNodeParams *params)
{
	if (params == NULL)
		return NULL;
	all->kernel.func = params->func;
	all->kernel.gridDim = params->gridDim;
	all->kernel.blockDim = params->blockDim;
	all->kernel.sharedMemBytes = params->sharedMemBytes;
	all->kernel.kernelParams = params->kernelParams;
	all->kernel.extra = params->extra;
	return all;
}

static struct cudaGraphNodeParams *of_copy(
	struct cudaGraphNodeParams *all, const struct cudaMemcpy3DParms *params)
{
	if (params == NULL)
		return NULL;
	all->memcpy.copyParams = *params;
	return all;
}

static struct cudaGraphNodeParams *of_set(
	struct cudaGraphNodeParams *all, const struct cudaMemsetParams *params)
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

static struct cudaGraphNodeParams *of_host(
	struct cudaGraphNodeParams *all, const struct cudaHostNodeParams *params)
{
	if (params == NULL)
		return NULL;
	all->host.fn = params->fn;
	all->host.userData = params->userData;
	return all;
}

/*
 * Rows to add a node, to set what it does in its graph, and to change it where it is executable: name, the
 * parameter after those that all of them have, the parameters as the general ones.
 */
#define ADD(name, parameter, params) \
	cudaError_t name(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, \
		const cudaGraphNode_t *pDependencies, size_t numDependencies, parameter) \
	{ \
		SG_ENTER(cudaErrorMemoryAllocation); \
		return sg_result(add(pGraphNode, graph, pDependencies, NULL, numDependencies, params)); \
	}
#define SET(name, parameter, params) \
	cudaError_t name(cudaGraphNode_t node, parameter) \
	{ \
		SG_ENTER(cudaErrorInvalidValue); \
		return sg_result(set(node, params)); \
	}
#define CHANGE(name, parameter, params) \
	cudaError_t name(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, parameter) \
	{ \
		SG_ENTER(cudaErrorInvalidValue); \
		return sg_result(change(hGraphExec, node, params)); \
	}

ADD(cudaGraphAddKernelNode, const struct cudaKernelNodeParams *pNodeParams,
	of_kernel(NODE(Kernel), pNodeParams))
SET(cudaGraphKernelNodeSetParams, const struct cudaKernelNodeParams *pNodeParams,
	of_kernel(NODE(Kernel), pNodeParams))
CHANGE(cudaGraphExecKernelNodeSetParams, const struct cudaKernelNodeParams *pNodeParams,
	of_kernel(NODE(Kernel), pNodeParams))
ADD(cudaGraphAddMemcpyNode, const struct cudaMemcpy3DParms *pCopyParams, of_copy(NODE(Memcpy), pCopyParams))
SET(cudaGraphMemcpyNodeSetParams, const struct cudaMemcpy3DParms *pCopyParams,
	of_copy(NODE(Memcpy), pCopyParams))
CHANGE(cudaGraphExecMemcpyNodeSetParams, const struct cudaMemcpy3DParms *pCopyParams,
	of_copy(NODE(Memcpy), pCopyParams))
ADD(cudaGraphAddMemsetNode, const struct cudaMemsetParams *pMemsetParams, of_set(NODE(Memset), pMemsetParams))
SET(cudaGraphMemsetNodeSetParams, const struct cudaMemsetParams *pMemsetParams,
	of_set(NODE(Memset), pMemsetParams))
CHANGE(cudaGraphExecMemsetNodeSetParams, const struct cudaMemsetParams *pMemsetParams,
	of_set(NODE(Memset), pMemsetParams))
ADD(cudaGraphAddHostNode, const struct cudaHostNodeParams *pNodeParams, of_host(NODE(Host), pNodeParams))
SET(cudaGraphHostNodeSetParams, const struct cudaHostNodeParams *pNodeParams,
	of_host(NODE(Host), pNodeParams))
CHANGE(cudaGraphExecHostNodeSetParams, const struct cudaHostNodeParams *pNodeParams,
	of_host(NODE(Host), pNodeParams))
ADD(cudaGraphAddEventRecordNode, cudaEvent_t event, NODE(EventRecord, .eventRecord.event = event))
SET(cudaGraphEventRecordNodeSetEvent, cudaEvent_t event, NODE(EventRecord, .eventRecord.event = event))
CHANGE(cudaGraphExecEventRecordNodeSetEvent, cudaEvent_t event, NODE(EventRecord, .eventRecord.event = event))
ADD(cudaGraphAddEventWaitNode, cudaEvent_t event, NODE(WaitEvent, .eventWait.event = event))
SET(cudaGraphEventWaitNodeSetEvent, cudaEvent_t event, NODE(WaitEvent, .eventWait.event = event))
CHANGE(cudaGraphExecEventWaitNodeSetEvent, cudaEvent_t event, NODE(WaitEvent, .eventWait.event = event))
ADD(cudaGraphAddChildGraphNode, cudaGraph_t childGraph, NODE(Graph, .graph.graph = childGraph))
CHANGE(cudaGraphExecChildGraphNodeSetParams, cudaGraph_t childGraph, NODE(Graph, .graph.graph = childGraph))

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies)
{
	struct cudaGraphNodeParams all = {.type = cudaGraphNodeTypeEmpty};

	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(add(pGraphNode, graph, pDependencies, NULL, numDependencies, &all));
}

static struct cudaGraphNodeParams of_row(void *to, const void *from, size_t count, enum cudaMemcpyKind kind)
{
	struct cudaGraphNodeParams all = {.type = cudaGraphNodeTypeMemcpy};
	struct cudaMemcpy3DParms *copy = &all.memcpy.copyParams;

	copy->dstPtr = (struct cudaPitchedPtr){to, count, count, 1};
	copy->srcPtr = (struct cudaPitchedPtr){(void *)(uintptr_t)from, count, count, 1};
	copy->extent = (struct cudaExtent){count, 1, 1};
	copy->kind = kind;
	return all;
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst, const void *src,
	size_t count, enum cudaMemcpyKind kind)
{
	struct cudaGraphNodeParams all = of_row(dst, src, count, kind);

	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(add(pGraphNode, graph, pDependencies, NULL, numDependencies, &all));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(
	cudaGraphNode_t node, void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	struct cudaGraphNodeParams all = of_row(dst, src, count, kind);

	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(set(node, &all));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
	const void *src, size_t count, enum cudaMemcpyKind kind)
{
	struct cudaGraphNodeParams all = of_row(dst, src, count, kind);

	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(change(hGraphExec, node, &all));
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies,
	struct cudaMemAllocNodeParams *nodeParams)
{
	struct cudaGraphNodeParams all = {.type = cudaGraphNodeTypeMemAlloc};
	cudaError_t error;

	SG_ENTER(cudaErrorMemoryAllocation);
	if (nodeParams == NULL)
		return sg_result(cudaErrorInvalidValue);
	all.alloc.bytesize = nodeParams->bytesize;
	error = add(pGraphNode, graph, pDependencies, NULL, numDependencies, &all);
	if (error == cudaSuccess)
		nodeParams->dptr = all.alloc.dptr;
	return sg_result(error);
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
	const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
	struct cudaGraphNodeParams all = {.type = cudaGraphNodeTypeMemFree};

	SG_ENTER(cudaErrorInvalidValue);
	all.free.dptr = dptr;
	return sg_result(add(pGraphNode, graph, pDependencies, NULL, numDependencies, &all));
}
