#include "strict_library.h"

#include <stdbool.h>
#include <stdio.h>

#include "pm_abi.h"

_Thread_local int strict_device, strict_mode;
int strict_error, strict_comm_size, strict_comm_rank;
unsigned strict_refused, strict_events;
const void *strict_captured, *strict_graph;
unsigned long long strict_capture;
size_t strict_nodes;

#define ANSWER __attribute__((visibility("default")))

static cudaError_t refuse(const char *what)
{
	fprintf(stderr, "CUDA would refuse: %s\n", what);
	strict_refused++;
	return strict_error = cudaErrorInvalidResourceHandle;
}

/* A capture in global mode forbids what may wait or allocate, unless the thread has said that it knows. */
static bool is_forbidden(void)
{
	return strict_captured && strict_mode != cudaStreamCaptureModeRelaxed;
}

#define EVENTS 4096u
static struct event {
	int device;
	bool is_recorded;
} events[EVENTS];
static unsigned event_count;

ANSWER cudaError_t cudaSetDevice(int device);
ANSWER cudaError_t cudaSetDevice(int device)
{
	strict_device = device;
	return cudaSuccess;
}

ANSWER cudaError_t cudaGetDevice(int *device);
ANSWER cudaError_t cudaGetDevice(int *device)
{
	*device = strict_device;
	return cudaSuccess;
}

ANSWER CUresult cuCtxGetDevice(int *device);
ANSWER CUresult cuCtxGetDevice(int *device)
{
	*device = strict_device;
	return CUDA_SUCCESS;
}

ANSWER cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
ANSWER cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	(void)flags;
	if (is_forbidden())
		return refuse("an event is made during a capture");
	if (event_count + 1 == EVENTS)
		return strict_error = cudaErrorMemoryAllocation;
	events[++event_count] = (struct event){.device = strict_device};
	*event = (cudaEvent_t)&events[event_count];
	return cudaSuccess;
}

ANSWER cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
ANSWER cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct event *e = (struct event *)event;
	const int device = (uintptr_t)stream <= 2 ? strict_device : STRICT_DEVICE_OF(stream);

	if (stream && stream == strict_captured)
		return refuse("an event of ours goes into a graph");
	if (e->device != device)
		return refuse("an event of another device than the stream");
	if (strict_device != device)
		return refuse("an event is recorded while another device is current");
	e->is_recorded = true;
	strict_events++;
	return cudaSuccess;
}

ANSWER cudaError_t cudaEventQuery(cudaEvent_t event);
ANSWER cudaError_t cudaEventQuery(cudaEvent_t event)
{
	if (is_forbidden())
		return refuse("an event is asked about during a capture");
	return ((struct event *)event)->is_recorded ? cudaSuccess
						    : refuse("an event is asked about that was not recorded");
}

ANSWER cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);
ANSWER cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	if (((struct event *)start)->device != ((struct event *)end)->device)
		return refuse("the time between events of two devices");
	*ms = 0.001f;
	return cudaSuccess;
}

ANSWER cudaError_t cudaEventDestroy(cudaEvent_t event);
ANSWER cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	((struct event *)event)->device = -1;
	return cudaSuccess;
}

ANSWER cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
ANSWER cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	const enum cudaStreamCaptureMode old = (enum cudaStreamCaptureMode)strict_mode;

	strict_mode = (int)*mode;
	*mode = old;
	return cudaSuccess;
}

ANSWER cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
ANSWER cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	if ((uintptr_t)stream <= 1 && strict_captured)
		return refuse("the legacy stream is asked about during a capture");
	*status = stream == strict_captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
	return cudaSuccess;
}

/* As of CUDA 13. */
ANSWER cudaError_t cudaRuntimeGetVersion(int *version);
ANSWER cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return cudaSuccess;
}

ANSWER cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes, const void **edges,
	size_t *node_count);
ANSWER cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **nodes, const void **edges,
	size_t *node_count)
{
	(void)nodes, (void)edges, (void)node_count;
	*status = stream == strict_captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
	*id = strict_capture;
	*graph = (cudaGraph_t)(uintptr_t)strict_graph;
	return cudaSuccess;
}

ANSWER cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
ANSWER cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	(void)graph, (void)nodes;
	*count = strict_nodes;
	return cudaSuccess;
}

ANSWER cudaError_t cudaGetLastError(void);
ANSWER cudaError_t cudaGetLastError(void)
{
	const int error = strict_error;

	strict_error = cudaSuccess;
	return (cudaError_t)error;
}

ANSWER cudaError_t cudaPeekAtLastError(void);
ANSWER cudaError_t cudaPeekAtLastError(void)
{
	return (cudaError_t)strict_error;
}

ANSWER ncclResult_t ncclCommCount(ncclComm_t comm, int *count);
ANSWER ncclResult_t ncclCommCount(ncclComm_t comm, int *count)
{
	(void)comm;
	*count = strict_comm_size;
	return ncclSuccess;
}

ANSWER ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank);
ANSWER ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank)
{
	(void)comm;
	*rank = strict_comm_rank;
	return ncclSuccess;
}

/* What is hooked by hand, so that the null library does not have it. */
ANSWER cublasStatus_t cublasLtMatmul(void);
ANSWER cublasStatus_t cublasLtMatmul(void)
{
	return CUBLAS_STATUS_SUCCESS;
}

ANSWER cudnnStatus_t cudnnBackendExecute(void);
ANSWER cudnnStatus_t cudnnBackendExecute(void)
{
	return CUDNN_STATUS_SUCCESS;
}
