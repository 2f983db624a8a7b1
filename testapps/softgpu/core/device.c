/*
 * The process's state: devices and their failures, what each thread has, start, fork and exit.
 *
 * The one idea: everything unusual is one bit in sg_attention, so that an ordinary call tests one word and
 * goes on.
 */
#include "model.h"

#include <stdlib.h>

__thread struct sg_thread sg_self = {.unusual = SG_UNBOUND};
_Atomic unsigned sg_attention = SG_NOT_READY;

/* For pmrun --version, which reads the file. Exported, since linkers drop data that nothing refers to. */
extern const char sg_version[];
const char sg_version[] = "softgpu version " SG_VERSION;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int started;
static _Atomic int device_errors[SG_DEVICE_LIMIT];

/* Only this thread exists in the child, and no worker: the devices cannot be used there any more. */
static void in_child(void)
{
	if (started)
		atomic_fetch_or(&sg_attention, SG_FORKED);
}

static void start(void)
{
	if (sg_device_count() == 0)
		return;
	sg_model_start();
	for (int i = 0; i < sg_device_count(); i++) {
		struct sg_stream *legacy;

		if (sg_context_open(i, 0, 1) == NULL)
			return;
		if (sg_stream_open(&legacy, i, 0, 0, SG_LEGACY) != cudaSuccess)
			return;
	}
	started = 1;
	pthread_atfork(NULL, NULL, in_child);
	atexit(sg_streams_stop);
	atomic_fetch_and(&sg_attention, ~(unsigned)SG_NOT_READY);
}

int sg_ready(void)
{
	unsigned attention = atomic_load_explicit(&sg_attention, memory_order_acquire);

	if (attention & SG_FORKED)
		return -1;
	if (attention & SG_NOT_READY)
		pthread_once(&once, start);
	return started ? 0 : -1;
}

cudaError_t sg_enter_slow(const char *name, cudaError_t fault, enum sg_call call)
{
	sg_call_begin(name);
	if (sg_fault(name))
		return fault;
	if (call == SG_CALL_HOST)
		return cudaSuccess;
	if (sg_device_count() == 0)
		return cudaErrorNoDevice;
	if (sg_ready() != 0)
		return cudaErrorInitializationError;
	if (sg_stopped())
		return cudaErrorCudartUnloading;
	if (sg_self.unusual & SG_IN_HOST_FUNCTION)
		return cudaErrorNotPermitted;
	if (sg_self.unusual & SG_UNBOUND)
		sg_context_bind(sg_self.device);
	else if (!sg_context_usable(sg_context_current())) {
		if (!sg_context_current()->primary)
			return cudaErrorContextIsDestroyed;
		sg_context_bind(sg_self.device);
	}
	return sg_device_error(sg_self.device);
}

int sg_device(void)
{
	return sg_self.device;
}

cudaError_t sg_set_device(int device)
{
	if (device < 0 || device >= sg_device_count())
		return cudaErrorInvalidDevice;
	if (sg_ready() != 0)
		return cudaErrorInitializationError;
	if (device != sg_self.device || sg_context_current() == NULL)
		sg_context_bind(device);
	return cudaSuccess;
}

void sg_device_reset(int device)
{
	sg_device_drain(device);
	sg_device_close_streams(device, NULL);
	sg_device_close_events(device, NULL);
	sg_device_drain(device);
	sg_block_free_device(device, NULL);
	sg_device_clear_error(device);
}

void sg_host_begin(void)
{
	sg_wait_begin();
	if (sg_modelled() && sg_self.worker != NULL)
		sg_timed_host_begin(sg_self.worker);
	sg_self.unusual |= SG_IN_HOST_FUNCTION;
}

void sg_host_end(void)
{
	sg_self.unusual &= ~(unsigned)SG_IN_HOST_FUNCTION;
	if (sg_modelled() && sg_self.worker != NULL)
		sg_timed_host_end(sg_self.worker);
	sg_wait_end();
}

cudaError_t sg_device_error(int device)
{
	return (cudaError_t)atomic_load_explicit(&device_errors[device], memory_order_acquire);
}

void sg_async_error(int device, cudaError_t error)
{
	int none = cudaSuccess;

	if (device < 0 || device >= sg_device_count() || error == cudaSuccess)
		return;
	atomic_compare_exchange_strong(&device_errors[device], &none, (int)error);
	atomic_fetch_or(&sg_attention, SG_FAILED);
}

void sg_device_clear_error(int device)
{
	atomic_store(&device_errors[device], (int)cudaSuccess);
}

uint64_t sg_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
