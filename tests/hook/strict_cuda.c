/*
 * A CUDA that does nothing and is strict about its handles: whoever touches an event, a stream or a context
 * that is gone, or lets an event into a capture, ends the process with a sentence. Addresses of destroyed
 * streams and events come again at once.
 *
 * What is submitted is done at once, unless strict_hold is set: then no event has happened. The functions are
 * those that the hook and losses_host.c call.
 */
#include "strict_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CONTEXTS 512
#define STREAMS 128
#define EVENTS (1 << 18) /* 64 threads, each with all its pairs */
#define EXPORT __attribute__((visibility("default")))
#ifdef NO_EVENTS /* what is found is a CUDA that cannot time */
#define EVENT_EXPORT
#else
#define EVENT_EXPORT EXPORT
#endif

struct context {
	bool alive, is_primary;
	int device;
};
struct stream {
	bool alive, captured, broken;
	enum cudaStreamCaptureMode mode;
	pthread_t thread; /* that began its capture */
	struct context *context;
};
struct event {
	bool alive;
	struct context *context;
	unsigned time;
};

EXPORT int strict_hold, strict_worked_on;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context contexts[CONTEXTS], *primary[STRICT_DEVICES];
static struct stream streams[STREAMS];
static struct event events[EVENTS];
static unsigned now;
static _Thread_local int current_device;
static _Thread_local struct context *current; /* made by the program; NULL: the device's primary one */
static _Thread_local enum cudaStreamCaptureMode capture_mode; /* of the thread */
static _Thread_local cudaError_t last_error;

static _Noreturn void complain(const char *what)
{
	fprintf(stderr, "strict_cuda: %s\n", what);
	abort();
}

static cudaError_t fail(cudaError_t error)
{
	last_error = error;
	return error;
}

static struct context *new_context(int device, bool is_primary)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (!contexts[i].device && !contexts[i].alive) {
			contexts[i] = (struct context){true, is_primary, device};
			return &contexts[i];
		}
	complain("too many contexts");
}

static struct context *context_now(void)
{
	if (current)
		return current;
	if (!primary[current_device])
		primary[current_device] = new_context(current_device, true);
	return primary[current_device];
}

static void end_context(struct context *context)
{
	if (!context)
		return;
	for (int i = 0; i < STREAMS; i++)
		if (streams[i].context == context)
			streams[i] = (struct stream){0};
	for (int i = 0; i < EVENTS; i++)
		if (events[i].context == context)
			events[i].alive = false;
	context->alive = false;
	context->device = -1; /* its place is not used again */
	if (context->is_primary)
		for (int i = 0; i < STRICT_DEVICES; i++)
			primary[i] = primary[i] == context ? NULL : primary[i];
}

static struct event *event_of(cudaEvent_t handle)
{
	struct event *e = (struct event *)(void *)handle;

	if (e < events || e >= events + EVENTS || !e->alive)
		complain("an event was used that is gone");
	return e;
}

static struct stream *stream_of(cudaStream_t handle)
{
	struct stream *s = (struct stream *)(void *)handle;

	return s >= streams && s < streams + STREAMS && s->alive ? s : NULL;
}

static struct context *context_of(cudaStream_t stream)
{
	return (uintptr_t)stream <= 2 ? context_now() : stream_of(stream) ? stream_of(stream)->context : NULL;
}

/* ---- the runtime ---- */

EXPORT cudaError_t cudaSetDevice(int device)
{
	current_device = device;
	current = NULL;
	return cudaSuccess;
}

EXPORT cudaError_t cudaGetDevice(int *device)
{
	*device = context_now()->device;
	return cudaSuccess;
}

EXPORT cudaError_t cudaMemsetAsync(void *pointer, int value, size_t size, cudaStream_t stream)
{
	(void)pointer, (void)value, (void)size;
	strict_worked_on = context_now()->device;
	return context_of(stream) ? cudaSuccess : fail(cudaErrorInvalidResourceHandle);
}

EXPORT cudaError_t cudaDeviceSynchronize(void)
{
	return cudaSuccess;
}

EXPORT cudaError_t cudaDeviceReset(void)
{
	pthread_mutex_lock(&lock);
	end_context(primary[current_device]);
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

EXPORT cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < STREAMS; i++)
		if (!streams[i].alive) {
			streams[i] = (struct stream){.alive = true, .context = context_now()};
			*stream = (cudaStream_t)(void *)&streams[i];
			break;
		}
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	if (!stream_of(stream))
		return fail(cudaErrorInvalidResourceHandle);
	*stream_of(stream) = (struct stream){0};
	return cudaSuccess;
}

EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	stream_of(stream)->captured = true;
	stream_of(stream)->mode = mode;
	stream_of(stream)->thread = pthread_self();
	return cudaSuccess;
}

EXPORT void strict_break_capture(cudaStream_t stream)
{
	stream_of(stream)->broken = true;
}

EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	struct stream *s = stream_of(stream);
	bool broken = s->broken, captured = s->captured;

	*graph = NULL;
	if (!captured)
		return fail(cudaErrorIllegalState);
	if (s->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(s->thread, pthread_self()))
		return fail(cudaErrorStreamCaptureWrongThread);
	s->captured = s->broken = false;
	return broken ? fail(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
}

EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	if ((uintptr_t)stream <= 1)
		complain("the legacy stream was asked whether it is captured");
	if ((uintptr_t)stream > 2 && !stream_of(stream))
		complain("a stream was asked that is gone");
	*status = (uintptr_t)stream > 2 && stream_of(stream)->captured ? cudaStreamCaptureStatusActive
								       : cudaStreamCaptureStatusNone;
	return cudaSuccess;
}

EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	enum cudaStreamCaptureMode before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return cudaSuccess;
}

EXPORT cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

/* A call that global captures forbid, but to threads that have said otherwise. */
static void be_unsafe(void)
{
	for (int i = 0; i < STREAMS && capture_mode != cudaStreamCaptureModeRelaxed; i++)
		if (streams[i].captured && streams[i].mode == cudaStreamCaptureModeGlobal)
			complain("an unsafe call broke a capture");
}

EVENT_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	(void)flags;
	be_unsafe();
	*event = NULL;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < EVENTS; i++)
		if (!events[i].alive) {
			events[i] = (struct event){.alive = true, .context = context_now()};
			*event = (cudaEvent_t)(void *)&events[i];
			break;
		}
	pthread_mutex_unlock(&lock);
	return *event ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

EVENT_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct event *e = event_of(event);

	if (e->context != context_of(stream))
		return fail(cudaErrorInvalidResourceHandle);
	if ((uintptr_t)stream > 2 && stream_of(stream)->captured)
		complain("an event was recorded into a capture");
	e->time = __atomic_add_fetch(&now, 1, __ATOMIC_RELAXED);
	return cudaSuccess;
}

EVENT_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event)
{
	event_of(event);
	be_unsafe();
	return strict_hold ? fail(cudaErrorNotReady) : cudaSuccess;
}

EVENT_EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	*ms = (float)(event_of(end)->time - event_of(begin)->time) * 1e-3f;
	return cudaSuccess;
}

EVENT_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	event_of(event)->alive = false;
	return cudaSuccess;
}

/* ---- the driver ---- */

EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
	(void)flags;
	current = new_context(device, false);
	*context = (CUcontext)(void *)current;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
	end_context((struct context *)(void *)context);
	current = NULL;
	return CUDA_SUCCESS;
}

static int retained[STRICT_DEVICES];

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	retained[device]++;
	*context = (CUcontext)(void *)context_now();
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	if (--retained[device] == 0)
		end_context(primary[device]);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	end_context(primary[device]);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	*flags = 0;
	*active = primary[device] != NULL;
	return CUDA_SUCCESS;
}

/* ---- NCCL ---- */

EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, ncclUniqueId id, int rank)
{
	static char comms[8];
	static int made;

	(void)size, (void)id, (void)rank;
	*comm = (ncclComm_t)(void *)&comms[made++];
	return ncclSuccess;
}

EXPORT ncclResult_t ncclGroupStart(void)
{
	return ncclSuccess;
}

EXPORT ncclResult_t ncclGroupEnd(void)
{
	return ncclSuccess;
}

EXPORT ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	(void)from, (void)to, (void)count, (void)type, (void)op, (void)comm, (void)stream;
	return ncclSuccess;
}
