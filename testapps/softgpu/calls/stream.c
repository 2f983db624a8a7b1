/* What the calls about streams do, host functions and capture among them. See calls.h; the queues are in
 * core/queue.c. */
#include "calls.h"

cudaError_t sg_stream_create(cudaStream_t *out, unsigned flags, int priority)
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

cudaError_t sg_stream_destroy(cudaStream_t handle)
{
	struct sg_stream *stream;

	stream = sg_pool_check(&sg_streams, handle);
	if (stream == NULL || stream->kind != SG_CREATED)
		return cudaErrorInvalidResourceHandle;
	return sg_stream_close(stream);
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

cudaError_t sg_stream_synchronize(cudaStream_t handle)
{
	struct sg_stream *stream;
	cudaError_t error;

	stream = sg_stream_of(handle);
	error = check_wait(stream);
	if (error != cudaSuccess)
		return error;
	sg_stream_drain(stream);
	return sg_device_error(stream->device);
}

cudaError_t sg_stream_query(cudaStream_t handle)
{
	struct sg_stream *stream;
	cudaError_t error;

	stream = sg_stream_of(handle);
	error = check_wait(stream);
	if (error != cudaSuccess)
		return error;
	if (!sg_stream_idle(stream))
		return cudaErrorNotReady;
	return sg_device_error(stream->device);
}

struct host_arg {
	cudaHostFn_t fn;
	void *data;
};

static void host_work(void *arg)
{
	struct host_arg *host = arg;

	sg_host_begin();
	host->fn(host->data);
	sg_host_end();
}

cudaError_t sg_launch_host(cudaStream_t handle, cudaHostFn_t fn, void *userData)
{
	struct host_arg host = {fn, userData};
	struct sg_stream *stream;

	stream = sg_stream_of(handle);
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (fn == NULL)
		return cudaErrorInvalidValue;
	return sg_queue(stream, host_work, &host, sizeof(host), NULL);
}

cudaError_t sg_stream_begin_capture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
	struct sg_stream *stream;

	stream = sg_stream_of(handle);
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if ((int)mode < 0 || mode > cudaStreamCaptureModeRelaxed)
		return cudaErrorInvalidValue;
	return sg_capture_begin(stream, NULL, NULL, 0, mode);
}

cudaError_t sg_stream_begin_capture_to_graph(cudaStream_t handle, cudaGraph_t graph,
	const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData, size_t numDependencies,
	enum cudaStreamCaptureMode mode)
{
	struct sg_stream *stream;
	struct sg_graph *into;

	(void)dependencyData;
	stream = sg_stream_of(handle);
	into = sg_pool_check(&sg_graphs, graph);
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (into == NULL || into->executable || (int)mode < 0 || mode > cudaStreamCaptureModeRelaxed ||
		(numDependencies > 0 && dependencies == NULL))
		return cudaErrorInvalidValue;
	return sg_capture_begin(stream, into, dependencies, numDependencies, mode);
}

cudaError_t sg_stream_update_capture(
	cudaStream_t handle, const cudaGraphNode_t *dependencies, size_t count, unsigned flags)
{
	struct sg_stream *stream = sg_stream_of(handle);

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	/* 0: beside what is there, 1: in its place */
	if (flags > 1 || (count > 0 && dependencies == NULL))
		return cudaErrorInvalidValue;
	return sg_capture_follow(stream, dependencies, count, flags == 1);
}

cudaError_t sg_stream_end_capture(cudaStream_t handle, cudaGraph_t *pGraph)
{
	struct sg_stream *stream;
	struct sg_graph *graph;
	cudaError_t error;

	stream = sg_stream_of(handle);
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	/* who began to capture into a graph of their own has it */
	if (pGraph == NULL && !sg_capture_is_into(stream))
		return cudaErrorInvalidValue;
	error = sg_capture_end(stream, &graph);
	if (pGraph != NULL)
		*pGraph = (cudaGraph_t)(void *)graph;
	return error;
}

cudaError_t sg_stream_is_capturing(cudaStream_t handle, enum cudaStreamCaptureStatus *pCaptureStatus)
{
	struct sg_stream *stream;

	stream = sg_stream_of(handle);
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (pCaptureStatus == NULL)
		return cudaErrorInvalidValue;
	*pCaptureStatus = cudaStreamCaptureStatusNone;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		*pCaptureStatus = sg_capture_status(stream);
	else if (stream->kind == SG_LEGACY && atomic_load(&sg_capture_count) != 0)
		return sg_capture_refuse_legacy(stream->device);
	return cudaSuccess;
}

cudaError_t sg_stream_capture_info(cudaStream_t handle, struct sg_capture_info *info)
{
	struct sg_stream *stream = sg_stream_of(handle);

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (stream->kind == SG_LEGACY && atomic_load(&sg_capture_count) != 0) {
		cudaError_t error = sg_capture_refuse_legacy(stream->device);

		if (error != cudaSuccess)
			return error;
	}
	return sg_capture_info(stream, info);
}

cudaError_t sg_exchange_capture_mode(enum cudaStreamCaptureMode *mode)
{
	enum cudaStreamCaptureMode before = sg_self.capture_mode;

	if (mode == NULL || (int)*mode < 0 || *mode > cudaStreamCaptureModeRelaxed)
		return cudaErrorInvalidValue;
	sg_self.capture_mode = *mode;
	*mode = before;
	return cudaSuccess;
}
