/* cudaEvent* and cudaStreamWaitEvent. */
#include "calls/calls.h"

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(sg_event_create(event, cudaEventDefault));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(sg_event_create(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	SG_ENTER(cudaErrorInvalidResourceHandle);
	return sg_result(sg_event_destroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidResourceHandle);
	return sg_result(sg_event_record_on(event, stream, cudaEventRecordDefault));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidResourceHandle);
	return sg_result(sg_event_record_on(event, stream, flags));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	SG_ENTER(cudaErrorLaunchFailure);
	return sg_result(sg_event_query(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	SG_ENTER(cudaErrorLaunchFailure);
	return sg_result(sg_event_synchronize(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	SG_ENTER(cudaErrorUnknown);
	return sg_result(sg_event_elapsed(ms, start, end));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidResourceHandle);
	return sg_result(sg_stream_wait_event(stream, event, flags));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_event_share(handle, event));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_event_open(event, &handle));
}
