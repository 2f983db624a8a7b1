/*
 * Finds the functions of CUDA that the hook itself calls, early or late.
 *
 * The first hooked call may come before any of CUDA is loaded: NCCL's, or the driver's in a program that
 * opens the runtime later. So what was not found is sought again when work for a device comes, which somebody
 * must have loaded a library for; where it is still not there, less and less often.
 */
#include "cuda_functions.h"

#include <errno.h>

#include "capture.h"
#include "event_time.h"
#include "guest/guest.h"
#include "guest/resolve.h"

struct pmh_cuda pmh_cuda;
_Atomic bool pmh_cuda_found;

static pmh_lock lock = ATOMIC_FLAG_INIT;
static _Atomic uint32_t misses;

static cudaError_t no_error(void)
{
	return cudaSuccess;
}

/* A context belongs to one device, and the host has made its own current. */
static cudaError_t stay(int device)
{
	(void)device;
	return cudaSuccess;
}

static void find_in_runtime(struct pmh_cuda *f)
{
	*(void **)&f->event_record = pmh_real(PM_CALL_cudaEventRecord);
	*(void **)&f->event_destroy = pmh_real(PM_CALL_cudaEventDestroy);
	*(void **)&f->event_query = pmh_real(PM_CALL_cudaEventQuery);
	*(void **)&f->event_elapsed = pmh_real(PM_CALL_cudaEventElapsedTime);
	*(void **)&f->set_device = pmh_real(PM_CALL_cudaSetDevice);
	*(void **)&f->get_device = pmh_real_cudart("cudaGetDevice");
	*(void **)&f->is_capturing = pmh_real_cudart("cudaStreamIsCapturing");
	*(void **)&f->exchange_mode = pmh_real_cudart("cudaThreadExchangeStreamCaptureMode");
	*(void **)&f->get_last_error = pmh_real_cudart("cudaGetLastError");
	*(void **)&f->peek_last_error = pmh_real_cudart("cudaPeekAtLastError");
}

static void find_in_driver(struct pmh_cuda *f)
{
	*(void **)&f->event_create = pmh_real(PM_CALL_cuEventCreate);
	*(void **)&f->event_record = pmh_real(PM_CALL_cuEventRecord);
	*(void **)&f->event_destroy = pmh_real(PM_CALL_cuEventDestroy_v2);
	*(void **)&f->event_query = pmh_real(PM_CALL_cuEventQuery);
	*(void **)&f->event_elapsed = pmh_real(PM_CALL_cuEventElapsedTime);
	*(void **)&f->get_device = pmh_real_driver("cuCtxGetDevice");
	*(void **)&f->is_capturing = pmh_real_driver("cuStreamIsCapturing");
	*(void **)&f->exchange_mode = pmh_real_driver("cuThreadExchangeStreamCaptureMode");
	f->set_device = stay;
	f->get_last_error = no_error;
	f->peek_last_error = no_error;
}

/*
 * The runtime's functions where a runtime is loaded; else the driver's, which do the same under other names:
 * then the runtime is linked statically into the program, or there is none. The driver keeps no last error.
 */
void pmh_device_prepare(void)
{
	struct pmh_cuda f = {0};

	if (pmh_cuda_ready())
		return;
	*(void **)&f.event_create = pmh_real(PM_CALL_cudaEventCreateWithFlags);
	if (f.event_create)
		find_in_runtime(&f);
	else
		find_in_driver(&f);
	if (!f.event_create || !f.event_record || !f.event_destroy || !f.event_query || !f.event_elapsed ||
		!f.set_device || !f.get_device || !f.is_capturing || !f.exchange_mode || !f.get_last_error ||
		!f.peek_last_error)
		return;
	pmh_acquire(&lock);
	if (!pmh_cuda_ready()) {
		pmh_cuda = f;
		atomic_store_explicit(&pmh_cuda_found, true, memory_order_release);
	}
	pmh_release(&lock);
}

static void seek(void *unused)
{
	(void)unused;
	pmh_device_prepare();
	pmh_graph_prepare();
	pmh_device_found();
}

bool pmh_cuda_seek(void)
{
	const int saved_errno = errno;
	uint32_t n;

	if (pmh_cuda_ready())
		return true;
	n = atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed);
	if ((n & (n - 1)) != 0)
		return false;
	pmh_run_on_own_stack(seek, NULL);
	errno = saved_errno;
	return pmh_cuda_ready();
}

/* In a child after fork: what was found stays where it is. */
void pmh_cuda_forget(void)
{
	pmh_lock_forget(&lock);
}

void pmh_device_clear_error(void)
{
	if (pmh_cuda_ready())
		pmh_cuda.get_last_error();
}

enum pmh_captured_as pmh_capturing(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;

	if (__builtin_expect(!pmh_capture_under_way(), 1) || !pmh_cuda_seek())
		return PMH_NOT_CAPTURED;
	/* asking about the legacy stream during a capture may break the capture; so may an event in it */
	if ((uintptr_t)stream <= 1)
		return PMH_BESIDE_CAPTURE;
	return pmh_cuda.is_capturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone
		       ? PMH_IS_CAPTURED
		       : PMH_NOT_CAPTURED;
}

void pmh_relax_begin(enum cudaStreamCaptureMode *mode)
{
	*mode = cudaStreamCaptureModeRelaxed;
	if (pmh_capture_under_way())
		pmh_cuda.exchange_mode(mode);
}

void pmh_relax_end(enum cudaStreamCaptureMode *mode)
{
	if (*mode != cudaStreamCaptureModeRelaxed)
		pmh_cuda.exchange_mode(mode);
}
