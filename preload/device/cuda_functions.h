/*
 * The functions of CUDA that the hook itself calls for device times, and what it may do while streams are
 * captured: device_cuda.c.
 */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H

#include "hook.h"

/* The runtime's, or the driver's under the runtime's types. All of them are there once pmh_cuda_ready says
 * so. */
struct pmh_cuda {
	cudaError_t (*event_create)(cudaEvent_t *, unsigned);
	cudaError_t (*event_record)(cudaEvent_t, cudaStream_t);
	cudaError_t (*event_query)(cudaEvent_t);
	cudaError_t (*event_destroy)(cudaEvent_t);
	cudaError_t (*event_elapsed)(float *, cudaEvent_t, cudaEvent_t);
	cudaError_t (*set_device)(int);
	cudaError_t (*get_device)(int *);
	cudaError_t (*is_capturing)(cudaStream_t, enum cudaStreamCaptureStatus *);
	cudaError_t (*exchange_mode)(enum cudaStreamCaptureMode *);
	cudaError_t (*get_last_error)(void);
	cudaError_t (*peek_last_error)(void);
};
extern struct pmh_cuda pmh_cuda;

extern _Atomic bool pmh_cuda_found;
static inline bool pmh_cuda_ready(void)
{
	return atomic_load_explicit(&pmh_cuda_found, memory_order_acquire);
}

/* The same, and looks for them again where they are not: CUDA may have been loaded since. Takes the loader's
 * lock then, so no lock of ours may be held. */
bool pmh_cuda_seek(void);

/* Calls that a global-mode capture of another stream forbids are allowed between these two. */
void pmh_relax_begin(enum cudaStreamCaptureMode *mode);
void pmh_relax_end(enum cudaStreamCaptureMode *mode);
void pmh_cuda_forget(void);

#endif
