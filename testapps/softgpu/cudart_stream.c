/* cudaStream* and host functions in streams; the queues themselves are in sg_stream.c. */
#include "sg_rt.h"

static cudaError_t create(cudaStream_t *out, unsigned flags, int priority)
{
	struct sg_stream *stream;
	cudaError_t error;

	if (out == NULL || (flags & ~(unsigned)cudaStreamNonBlocking) != 0)
		return cudaErrorInvalidValue;
	if (priority < -5)
		priority = -5;
	if (priority > 0)
		priority = 0;
	error = sg_stream_open(&stream, sg_self.device, flags, priority, SG_CREATED);
	if (error == cudaSuccess)
		*out = (cudaStream_t)(void *)stream;
	return error;
}

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(create(pStream, cudaStreamDefault, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(create(pStream, flags, 0));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(create(pStream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
	struct sg_stream *stream;

	SG_ENTER(cudaErrorInvalidResourceHandle);
	stream = sg_pool_check(&sg_streams, handle);
	if (stream == NULL || stream->kind != SG_CREATED)
		return sg_result(cudaErrorInvalidResourceHandle);
	return sg_result(sg_stream_close(stream));
}

/* Refuses what would wait for a stream that is being captured. */
static cudaError_t check_wait(struct sg_stream *stream)
{
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (SG_LIKELY(atomic_load_explicit(&sg_capture_count, memory_order_acquire) == 0))
		return cudaSuccess;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_capture_refuse(stream);
	return stream->kind == SG_LEGACY ? sg_capture_refuse_legacy(stream->device) : cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
	struct sg_stream *stream;
	cudaError_t error;

	SG_ENTER(cudaErrorLaunchFailure);
	stream = sg_stream_of(handle);
	error = check_wait(stream);
	if (error != cudaSuccess)
		return sg_result(error);
	sg_stream_drain(stream);
	return sg_result(sg_device_error(stream->device));
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
	struct sg_stream *stream;
	cudaError_t error;

	SG_ENTER(cudaErrorLaunchFailure);
	stream = sg_stream_of(handle);
	error = check_wait(stream);
	if (error != cudaSuccess)
		return sg_result(error);
	if (!sg_stream_idle(stream))
		return sg_result(cudaErrorNotReady);
	return sg_result(sg_device_error(stream->device));
}

struct host_arg {
	cudaHostFn_t fn;
	void *data;
};

static void host_work(void *arg)
{
	struct host_arg *host = arg;

	sg_wait_begin();
	sg_self.in_host_function = 1;
	host->fn(host->data);
	sg_self.in_host_function = 0;
	sg_wait_end();
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t fn, void *userData)
{
	struct host_arg host = {fn, userData};
	struct sg_stream *stream;

	SG_ENTER(cudaErrorUnknown);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (fn == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(sg_queue(stream, host_work, &host, sizeof(host), NULL));
}

struct callback_arg {
	cudaStreamCallback_t callback;
	cudaStream_t stream;
	void *data;
};

static void callback_work(void *arg)
{
	struct callback_arg *call = arg;
	cudaError_t status = sg_device_error(sg_self.device);

	sg_wait_begin();
	sg_self.in_host_function = 1;
	call->callback(call->stream, status, call->data);
	sg_self.in_host_function = 0;
	sg_wait_end();
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

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
	struct sg_stream *stream;

	SG_ENTER(cudaErrorUnknown);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if ((int)mode < 0 || mode > cudaStreamCaptureModeRelaxed)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(sg_capture_begin(stream, NULL, NULL, 0, mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData, size_t numDependencies,
	enum cudaStreamCaptureMode mode)
{
	struct sg_stream *stream;
	struct sg_graph *into;

	SG_ENTER(cudaErrorUnknown);
	(void)dependencyData;
	stream = sg_stream_of(handle);
	into = sg_pool_check(&sg_graphs, graph);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (into == NULL || into->executable || (int)mode < 0 || mode > cudaStreamCaptureModeRelaxed ||
		(numDependencies > 0 && dependencies == NULL))
		return sg_result(cudaErrorInvalidValue);
	return sg_result(sg_capture_begin(stream, into, dependencies, numDependencies, mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *pGraph)
{
	struct sg_stream *stream;
	struct sg_graph *graph;
	cudaError_t error;

	SG_ENTER(cudaErrorUnknown);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (pGraph == NULL)
		return sg_result(cudaErrorInvalidValue);
	error = sg_capture_end(stream, &graph);
	*pGraph = (cudaGraph_t)(void *)graph;
	return sg_result(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *pCaptureStatus)
{
	struct sg_stream *stream;

	SG_ENTER(cudaErrorUnknown);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (pCaptureStatus == NULL)
		return sg_result(cudaErrorInvalidValue);
	*pCaptureStatus = cudaStreamCaptureStatusNone;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		*pCaptureStatus = sg_capture_status(stream);
	else if (stream->kind == SG_LEGACY && atomic_load(&sg_capture_count) != 0)
		return sg_result(sg_capture_refuse_legacy(stream->device));
	return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	enum cudaStreamCaptureMode before = sg_self.capture_mode;

	SG_ENTER(cudaErrorUnknown);
	if (mode == NULL || (int)*mode < 0 || *mode > cudaStreamCaptureModeRelaxed)
		return sg_result(cudaErrorInvalidValue);
	sg_self.capture_mode = *mode;
	*mode = before;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	SG_ENTER(cudaErrorUnknown);
	if (leastPriority != NULL)
		*leastPriority = 0;
	if (greatestPriority != NULL)
		*greatestPriority = -5;
	return cudaSuccess;
}
