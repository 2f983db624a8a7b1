/*
 * The functions of CUDA that the hook itself calls for device times, and what it may do while streams are
 * captured.
 */
#ifndef CUDA_FUNCTIONS_H
#define CUDA_FUNCTIONS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "pm_abi.h"

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

/* Finds the CUDA functions that are needed, if they are there. Takes the loader's lock, so no lock of ours
 * may be held.
 */
void pmh_device_prepare(void);

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

/* Whether a call goes into a graph. Beside a capture the default stream does its work, but takes no events.
 */
enum pmh_captured_as {
	PMH_NOT_CAPTURED,
	PMH_IS_CAPTURED,
	PMH_BESIDE_CAPTURE,
};
enum pmh_captured_as pmh_capturing(cudaStream_t stream);

/* An error that a call of ours left in the runtime; the host must not find it. */
void pmh_device_clear_error(void);

#endif
