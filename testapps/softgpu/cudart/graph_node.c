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

#define BEHIND const cudaGraphNode_t *pDependencies, size_t numDependencies

/* To add a node, to set what it does in its graph, and to change it where it is executable. */
#define ADD(name, parameter, assignments) \
	cudaError_t cudaGraphAdd##name##Node( \
		cudaGraphNode_t *pGraphNode, cudaGraph_t graph, BEHIND, parameter) \
	{ \
		struct cudaGraphNodeParams all = {0}; \
		SG_ENTER(cudaErrorMemoryAllocation); \
		assignments; \
		return sg_result(add(pGraphNode, graph, pDependencies, NULL, numDependencies, &all)); \
	}
#define SET(function, parameter, assignments) \
	cudaError_t cudaGraph##function(cudaGraphNode_t node, parameter) \
	{ \
		struct cudaGraphNodeParams all = {0}; \
		SG_ENTER(cudaErrorInvalidValue); \
		assignments; \
		return sg_result(set(node, &all)); \
	}
#define CHANGE(function, parameter, assignments) \
	cudaError_t cudaGraphExec##function(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, parameter) \
	{ \
		struct cudaGraphNodeParams all = {0}; \
		SG_ENTER(cudaErrorInvalidValue); \
		assignments; \
		return sg_result(change(hGraphExec, node, &all)); \
	}
#define NODE(name, function, parameter, assignments) \
	ADD(name, parameter, assignments) \
	SET(name##Node##function, parameter, assignments) \
	CHANGE(name##Node##function, parameter, assignments)

#define OF_KERNEL \
	if (pNodeParams == NULL) \
		return sg_result(cudaErrorInvalidValue); \
	all.type = cudaGraphNodeTypeKernel; \
	all.kernel.func = pNodeParams->func; \
	all.kernel.gridDim = pNodeParams->gridDim; \
	all.kernel.blockDim = pNodeParams->blockDim; \
	all.kernel.sharedMemBytes = pNodeParams->sharedMemBytes; \
	all.kernel.kernelParams = pNodeParams->kernelParams; \
	all.kernel.extra = pNodeParams->extra
#define OF_COPY \
	if (pCopyParams == NULL) \
		return sg_result(cudaErrorInvalidValue); \
	all.type = cudaGraphNodeTypeMemcpy; \
	all.memcpy.copyParams = *pCopyParams
#define OF_SET \
	if (pMemsetParams == NULL) \
		return sg_result(cudaErrorInvalidValue); \
	all.type = cudaGraphNodeTypeMemset; \
	all.memset.dst = pMemsetParams->dst; \
	all.memset.pitch = pMemsetParams->pitch; \
	all.memset.value = pMemsetParams->value; \
	all.memset.elementSize = pMemsetParams->elementSize; \
	all.memset.width = pMemsetParams->width; \
	all.memset.height = pMemsetParams->height
#define OF_HOST \
	if (pNodeParams == NULL) \
		return sg_result(cudaErrorInvalidValue); \
	all.type = cudaGraphNodeTypeHost; \
	all.host.fn = pNodeParams->fn; \
	all.host.userData = pNodeParams->userData
#define OF_GRAPH \
	all.type = cudaGraphNodeTypeGraph; \
	all.graph.graph = childGraph
#define OF_RECORD \
	all.type = cudaGraphNodeTypeEventRecord; \
	all.eventRecord.event = event
#define OF_WAIT \
	all.type = cudaGraphNodeTypeWaitEvent; \
	all.eventWait.event = event

/* clang-format off */
NODE(Kernel, SetParams, const struct cudaKernelNodeParams *pNodeParams, OF_KERNEL)
NODE(Memcpy, SetParams, const struct cudaMemcpy3DParms *pCopyParams, OF_COPY)
NODE(Memset, SetParams, const struct cudaMemsetParams *pMemsetParams, OF_SET)
NODE(Host, SetParams, const struct cudaHostNodeParams *pNodeParams, OF_HOST)
NODE(EventRecord, SetEvent, cudaEvent_t event, OF_RECORD)
NODE(EventWait, SetEvent, cudaEvent_t event, OF_WAIT)
ADD(ChildGraph, cudaGraph_t childGraph, OF_GRAPH)
CHANGE(ChildGraphNodeSetParams, cudaGraph_t childGraph, OF_GRAPH)
/* clang-format on */

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
