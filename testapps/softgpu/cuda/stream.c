/* cuStream* and cuLaunchHostFunc: the runtime's streams under the driver's names. */
#include "cuda_private.h"

DRIVER(cuStreamCreate, (CUstream *, phStream, unsigned int, Flags), CUDA_ERROR_OUT_OF_MEMORY,
	sg_stream_create(phStream, Flags, 0))
DRIVER(cuStreamCreateWithPriority, (CUstream *, phStream, unsigned int, flags, int, priority),
	CUDA_ERROR_OUT_OF_MEMORY, sg_stream_create(phStream, flags, priority))
DRIVER(cuStreamDestroy, (CUstream, hStream), CUDA_ERROR_INVALID_HANDLE, sg_stream_destroy(hStream))
DRIVER(cuStreamDestroy_v2, (CUstream, hStream), CUDA_ERROR_INVALID_HANDLE, sg_stream_destroy(hStream))
DRIVER_PTSZ(
	cuStreamSynchronize, (CUstream, hStream), CUDA_ERROR_LAUNCH_FAILED, sg_stream_synchronize(hStream))
DRIVER_PTSZ(cuStreamQuery, (CUstream, hStream), CUDA_ERROR_LAUNCH_FAILED, sg_stream_query(hStream))
DRIVER_PTSZ(cuStreamWaitEvent, (CUstream, hStream, CUevent, hEvent, unsigned int, Flags),
	CUDA_ERROR_INVALID_HANDLE, sg_stream_wait_event(hStream, hEvent, Flags))

/* ---- questions ---- */

CUresult cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
	struct sg_stream *stream;

	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	stream = sg_stream_of(hStream);
	if (stream == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = stream->flags;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream hStream, int *priority)
{
	struct sg_stream *stream;

	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	stream = sg_stream_of(hStream);
	if (stream == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (priority == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*priority = stream->priority;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
	struct sg_stream *stream;

	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	stream = sg_stream_of(hStream);
	if (stream == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (device == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*device = stream->device;
	return CUDA_SUCCESS;
}

static CUresult context_of(CUstream handle, CUcontext *context)
{
	struct sg_stream *stream = sg_stream_of(handle);

	if (stream == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (context == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	/* The default streams are those of whatever context is current. */
	*context = sg_context_handle(stream->kind == SG_CREATED ? stream->context : sg_context_current());
	return CUDA_SUCCESS;
}

DRIVER_OWN_PTSZ(cuStreamGetCtx, (CUstream, hStream, CUcontext *, pctx), CUDA_ERROR_INVALID_HANDLE,
	context_of(hStream, pctx))

CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	if (pGreenCtx != NULL)
		*pGreenCtx = NULL;
	return context_of(hStream, pCtx);
}

/* ---- the application's code in streams ---- */

DRIVER_PTSZ(cuLaunchHostFunc, (CUstream, hStream, CUhostFn, fn, void *, userData), CUDA_ERROR_UNKNOWN,
	sg_launch_host(hStream, fn, userData))

struct callback_arg {
	CUstreamCallback callback;
	CUstream stream;
	void *data;
};

static void callback_work(void *arg)
{
	struct callback_arg *call = arg;
	CUresult status = sg_driver_result(sg_device_error(sg_self.device));

	sg_host_begin();
	call->callback(call->stream, status, call->data);
	sg_host_end();
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
	struct callback_arg call = {callback, hStream, userData};
	struct sg_stream *stream;

	SG_DRIVER(CUDA_ERROR_UNKNOWN);
	stream = sg_stream_of(hStream);
	if (stream == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (callback == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	/* Unlike cuLaunchHostFunc it has no form as a graph node. */
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_driver_result(sg_capture_refuse(stream));
	return sg_driver_result(sg_queue(stream, callback_work, &call, sizeof(call), NULL));
}

/* ---- capture ---- */

/* The first version has no mode. */
DRIVER_PTSZ(cuStreamBeginCapture, (CUstream, hStream), CUDA_ERROR_UNKNOWN,
	sg_stream_begin_capture(hStream, cudaStreamCaptureModeGlobal))
DRIVER_PTSZ(cuStreamBeginCapture_v2, (CUstream, hStream, CUstreamCaptureMode, mode), CUDA_ERROR_UNKNOWN,
	sg_stream_begin_capture(hStream, (enum cudaStreamCaptureMode)(int)mode))

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
	const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode)
{
	SG_DRIVER(CUDA_ERROR_UNKNOWN);
	(void)dependencyData;
	return sg_driver_result(sg_stream_begin_capture_to_graph(
		hStream, hGraph, dependencies, NULL, numDependencies, (enum cudaStreamCaptureMode)(int)mode));
}

DRIVER_PTSZ(cuStreamEndCapture, (CUstream, hStream, CUgraph *, phGraph), CUDA_ERROR_UNKNOWN,
	sg_stream_end_capture(hStream, phGraph))

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	enum cudaStreamCaptureStatus status;
	cudaError_t error;

	SG_DRIVER(CUDA_ERROR_UNKNOWN);
	if (captureStatus == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_stream_is_capturing(hStream, &status);
	if (error == cudaSuccess)
		*captureStatus = (CUstreamCaptureStatus)(int)status;
	return sg_driver_result(error);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	enum cudaStreamCaptureMode exchanged;
	cudaError_t error;

	SG_DRIVER_AS(CUDA_ERROR_UNKNOWN, SG_NEED_INIT);
	if (mode == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	exchanged = (enum cudaStreamCaptureMode)(int)*mode;
	error = sg_exchange_capture_mode(&exchanged);
	if (error == cudaSuccess)
		*mode = (CUstreamCaptureMode)(int)exchanged;
	return sg_driver_result(error);
}

/* What all versions answer; each of the pointers but the first may be NULL. */
static CUresult capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
	const CUgraphNode **nodes, size_t *node_count)
{
	struct sg_capture_info info;
	cudaError_t error;

	if (status == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_stream_capture_info(stream, &info);
	if (error != cudaSuccess)
		return sg_driver_result(error);
	*status = (CUstreamCaptureStatus)(int)info.status;
	if (id != NULL)
		*id = info.id;
	if (graph != NULL)
		*graph = (CUgraph)(void *)info.graph;
	if (nodes != NULL)
		*nodes = info.nodes;
	if (node_count != NULL)
		*node_count = info.node_count;
	return CUDA_SUCCESS;
}

DRIVER_OWN_PTSZ(cuStreamGetCaptureInfo,
	(CUstream, hStream, CUstreamCaptureStatus *, captureStatus_out, cuuint64_t *, id_out),
	CUDA_ERROR_UNKNOWN, capture_info(hStream, captureStatus_out, id_out, NULL, NULL, NULL))
DRIVER_OWN_PTSZ(cuStreamGetCaptureInfo_v2,
	(CUstream, hStream, CUstreamCaptureStatus *, captureStatus_out, cuuint64_t *, id_out, CUgraph *,
		graph_out, const CUgraphNode **, dependencies_out, size_t *, numDependencies_out),
	CUDA_ERROR_UNKNOWN,
	capture_info(hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out))

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
	cuuint64_t *id_out, CUgraph *graph_out, const CUgraphNode **dependencies_out,
	const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
	SG_DRIVER(CUDA_ERROR_UNKNOWN);
	/* No edge has data of its own. */
	if (edgeData_out != NULL)
		*edgeData_out = NULL;
	return capture_info(
		hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out);
}
