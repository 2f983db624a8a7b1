/*
 * Where work goes: the device and the queue after a stream, or after a handle that was given one; and the
 * contexts of the driver. Any thread; what is set of a stream or a handle, by the thread that sets it.
 */
#ifndef PLACE_H
#define PLACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "describe/value.h"
#include "guest/attribute.h"
#include "guest/thread.h"
#include "pm_abi.h"

/* What is rare in the inline functions below. */
struct pmh_place pmh_find_stream(cudaStream_t stream);
struct pmh_place pmh_find_handle(const void *handle);

/* Grows when a stream or handle comes to mean another place. */
extern _Atomic unsigned pmh_place_epoch;

/* A thread mostly asks for the same place again. Streams and handles are addresses, so they can share one
 * memory. */
PMH_INLINE bool pmh_same_place(const void *asked)
{
	return pmh_self.last_asked == asked &&
	       pmh_self.last_epoch == atomic_load_explicit(&pmh_place_epoch, memory_order_acquire);
}
PMH_INLINE struct pmh_place pmh_place_of_stream(cudaStream_t stream)
{
	return stream && pmh_same_place(stream) ? pmh_self.last_place : pmh_find_stream(stream);
}
PMH_INLINE struct pmh_place pmh_place_of_handle(const void *handle)
{
	return handle && pmh_same_place(handle) ? pmh_self.last_place : pmh_find_handle(handle);
}
/* The same for the twins of functions, in which 0 is the thread's own default stream. */
#define PMH_PER_THREAD_STREAM ((cudaStream_t)2) /* cudaStreamPerThread, CU_STREAM_PER_THREAD */
PMH_INLINE struct pmh_place pmh_place_of_per_thread_stream(cudaStream_t stream)
{
	return pmh_place_of_stream(stream ? stream : PMH_PER_THREAD_STREAM);
}

/* What calls do to streams, the current device, the driver's contexts and the libraries' handles. */
void pmh_stream_created(cudaStream_t stream);
void pmh_stream_gone(cudaStream_t stream); /* its handle may come again, and is another queue then */
void pmh_streams_gone(int device);         /* all of a device */
void pmh_device_set(int device);
void pmh_context_made(const void *context, int device);
void pmh_context_created(const void *context, int device); /* and made current */
void pmh_context_current(const void *context);
void pmh_context_popped(void);
int pmh_context_device(const void *context); /* the current one where it is not known */
bool pmh_primary_context_active(int device);
void pmh_handle_created(const void *handle);
void pmh_handle_stream(const void *handle, cudaStream_t stream);
void pmh_pointer_mode(cublasHandle_t handle, cublasPointerMode_t mode);

/* What a scalar of cuBLAS multiplies with. */
static inline uint64_t pmh_scale_of(cublasHandle_t handle, const void *beta, uint64_t type)
{
	return pmh_place_of_handle(handle).device_pointers ? 3 : pmh_scale_typed(beta, type);
}

/* In a child after fork, with pmh_objects_forget: queues have no numbers yet. */
void pmh_place_forget(void);

#endif
