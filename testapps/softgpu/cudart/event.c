/* cudaEvent* and cudaStreamWaitEvent. */
#include "cudart_private.h"

RUNTIME(cudaEventCreate, (cudaEvent_t *, event), cudaErrorMemoryAllocation,
	sg_event_create(event, cudaEventDefault))
RUNTIME(cudaEventCreateWithFlags, (cudaEvent_t *, event, unsigned int, flags), cudaErrorMemoryAllocation,
	sg_event_create(event, flags))
RUNTIME(cudaEventDestroy, (cudaEvent_t, event), cudaErrorInvalidResourceHandle, sg_event_destroy(event))
RUNTIME_PTSZ(cudaEventRecord, (cudaEvent_t, event, cudaStream_t, stream), cudaErrorInvalidResourceHandle,
	sg_event_record_on(event, stream, cudaEventRecordDefault))
RUNTIME_PTSZ(cudaEventRecordWithFlags, (cudaEvent_t, event, cudaStream_t, stream, unsigned int, flags),
	cudaErrorInvalidResourceHandle, sg_event_record_on(event, stream, flags))
RUNTIME(cudaEventQuery, (cudaEvent_t, event), cudaErrorLaunchFailure, sg_event_query(event))
RUNTIME(cudaEventSynchronize, (cudaEvent_t, event), cudaErrorLaunchFailure, sg_event_synchronize(event))
RUNTIME(cudaEventElapsedTime, (float *, ms, cudaEvent_t, start, cudaEvent_t, end), cudaErrorUnknown,
	sg_event_elapsed(ms, start, end))
RUNTIME_PTSZ(cudaStreamWaitEvent, (cudaStream_t, stream, cudaEvent_t, event, unsigned int, flags),
	cudaErrorInvalidResourceHandle, sg_stream_wait_event(stream, event, flags))
RUNTIME(cudaIpcGetEventHandle, (cudaIpcEventHandle_t *, handle, cudaEvent_t, event), cudaErrorInvalidValue,
	sg_event_share(handle, event))
RUNTIME(cudaIpcOpenEventHandle, (cudaEvent_t *, event, cudaIpcEventHandle_t, handle), cudaErrorInvalidValue,
	sg_event_open(event, &handle))
