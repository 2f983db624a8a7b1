/* Errors: the last one of each thread, and what they are called. */
#include "calls/calls.h"

static const char unrecognized[] = "unrecognized error code";

const char *cudaGetErrorName(cudaError_t error)
{
	const char *name = sg_error_name((int)error);

	sg_fault(__func__);
	return name != NULL ? name : unrecognized;
}

const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = sg_error_text((int)error);

	sg_fault(__func__);
	return text != NULL ? text : unrecognized;
}

/* A device's failure stays until the device is reset; other errors are returned once. */
static cudaError_t last_error(void)
{
	cudaError_t error = cudaSuccess;

	if (atomic_load_explicit(&sg_attention, memory_order_acquire) & SG_FAILED)
		error = sg_device_error(sg_self.device);
	return error != cudaSuccess ? error : sg_self.last_error;
}

static void seen(const char *name)
{
	if (SG_UNLIKELY(atomic_load_explicit(&sg_watcher, memory_order_relaxed) != NULL))
		sg_call_begin(name);
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error;

	seen(__func__);
	error = sg_fault(__func__) ? cudaErrorUnknown : last_error();
	sg_self.last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	seen(__func__);
	return sg_fault(__func__) ? cudaErrorUnknown : last_error();
}
