/* cudaStream* and host functions in streams. */
#include "cudart_private.h"

RUNTIME(cudaStreamCreate, (cudaStream_t *, pStream), cudaErrorMemoryAllocation,
	sg_stream_create(pStream, cudaStreamDefault, 0))
RUNTIME(cudaStreamCreateWithFlags, (cudaStream_t *, pStream, unsigned int, flags), cudaErrorMemoryAllocation,
	sg_stream_create(pStream, flags, 0))
RUNTIME(cudaStreamCreateWithPriority, (cudaStream_t *, pStream, unsigned int, flags, int, priority),
	cudaErrorMemoryAllocation, sg_stream_create(pStream, flags, priority))
RUNTIME(cudaStreamDestroy, (cudaStream_t, handle), cudaErrorInvalidResourceHandle, sg_stream_destroy(handle))
RUNTIME_PTSZ(
	cudaStreamSynchronize, (cudaStream_t, handle), cudaErrorLaunchFailure, sg_stream_synchronize(handle))
RUNTIME_PTSZ(cudaStreamQuery, (cudaStream_t, handle), cudaErrorLaunchFailure, sg_stream_query(handle))
RUNTIME_PTSZ(cudaLaunchHostFunc, (cudaStream_t, handle, cudaHostFn_t, fn, void *, userData), cudaErrorUnknown,
	sg_launch_host(handle, fn, userData))

struct callback_arg {
	cudaStreamCallback_t callback;
	cudaStream_t stream;
	void *data;
};

static void callback_work(void *arg)
{
	struct callback_arg *call = arg;
	cudaError_t status = sg_device_error(sg_self.device);

	sg_host_begin();
	call->callback(call->stream, status, call->data);
	sg_host_end();
}

cudaError_t cudaStreamAddCallback(
	cudaStream_t handle, cudaStreamCallback_t callback, void *userData, unsigned int flags)
{
	struct callback_arg call = {callback, handle, userData};
	struct sg_stream *stream;

	SG_ENTER(cudaErrorUnknown);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (callback == NULL || flags != 0)
		return sg_result(cudaErrorInvalidValue);
	/* Unlike cudaLaunchHostFunc it has no form as a graph node. */
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_result(sg_capture_refuse(stream));
	return sg_result(sg_queue(stream, callback_work, &call, sizeof(call), NULL));
}

RUNTIME_PTSZ(cudaStreamBeginCapture, (cudaStream_t, handle, enum cudaStreamCaptureMode, mode),
	cudaErrorUnknown, sg_stream_begin_capture(handle, mode))
RUNTIME_PTSZ(cudaStreamBeginCaptureToGraph,
	(cudaStream_t, handle, cudaGraph_t, graph, const cudaGraphNode_t *, dependencies,
		const cudaGraphEdgeData *, dependencyData, size_t, numDependencies,
		enum cudaStreamCaptureMode, mode),
	cudaErrorUnknown,
	sg_stream_begin_capture_to_graph(handle, graph, dependencies, dependencyData, numDependencies, mode))
RUNTIME_PTSZ(cudaStreamEndCapture, (cudaStream_t, handle, cudaGraph_t *, pGraph), cudaErrorUnknown,
	sg_stream_end_capture(handle, pGraph))
RUNTIME_PTSZ(cudaStreamIsCapturing, (cudaStream_t, handle, enum cudaStreamCaptureStatus *, pCaptureStatus),
	cudaErrorUnknown, sg_stream_is_capturing(handle, pCaptureStatus))

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
	unsigned long long *id_out, cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out,
	const cudaGraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
	struct sg_capture_info info;
	cudaError_t error;

	SG_ENTER(cudaErrorUnknown);
	if (captureStatus_out == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_stream_capture_info(stream, &info);
	if (error != cudaSuccess)
		return sg_result(error);
	*captureStatus_out = info.status;
	if (id_out != NULL)
		*id_out = info.id;
	if (graph_out != NULL)
		*graph_out = (cudaGraph_t)(void *)info.graph;
	if (dependencies_out != NULL)
		*dependencies_out = info.nodes;
	/* No edge has data of its own. */
	if (edgeData_out != NULL)
		*edgeData_out = NULL;
	if (numDependencies_out != NULL)
		*numDependencies_out = info.node_count;
	return cudaSuccess;
}

RUNTIME(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode *, mode), cudaErrorUnknown,
	sg_exchange_capture_mode(mode))

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	SG_ENTER(cudaErrorUnknown);
	if (leastPriority != NULL)
		*leastPriority = 0;
	if (greatestPriority != NULL)
		*greatestPriority = -5;
	return cudaSuccess;
}

/* ---- questions about streams ---- */

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags)
{
	struct sg_stream *stream;

	SG_ENTER(cudaErrorInvalidResourceHandle);
	stream = sg_stream_of(handle);
	if (stream == NULL || flags == NULL)
		return sg_result(stream == NULL ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
	*flags = stream->flags;
	return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority)
{
	struct sg_stream *stream;

	SG_ENTER(cudaErrorInvalidResourceHandle);
	stream = sg_stream_of(handle);
	if (stream == NULL || priority == NULL)
		return sg_result(stream == NULL ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
	*priority = stream->priority;
	return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *device)
{
	struct sg_stream *stream;

	SG_ENTER(cudaErrorInvalidResourceHandle);
	stream = sg_stream_of(handle);
	if (stream == NULL || device == NULL)
		return sg_result(stream == NULL ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
	*device = stream->device;
	return cudaSuccess;
}
