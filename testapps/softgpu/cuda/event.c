/* cuEvent*: the runtime's events under the driver's names. */
#include "cuda_private.h"

CUresult cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	return sg_driver_result(sg_event_create(phEvent, Flags));
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	return sg_driver_result(sg_event_record_on(hEvent, hStream, cudaEventRecordDefault));
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	return sg_driver_result(sg_event_record_on(hEvent, hStream, flags));
}

CUresult cuEventQuery(CUevent hEvent)
{
	SG_DRIVER(CUDA_ERROR_LAUNCH_FAILED);
	return sg_driver_result(sg_event_query(hEvent));
}

CUresult cuEventSynchronize(CUevent hEvent)
{
	SG_DRIVER(CUDA_ERROR_LAUNCH_FAILED);
	return sg_driver_result(sg_event_synchronize(hEvent));
}

CUresult cuEventDestroy(CUevent hEvent)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	return sg_driver_result(sg_event_destroy(hEvent));
}

CUresult cuEventDestroy_v2(CUevent hEvent)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	return sg_driver_result(sg_event_destroy(hEvent));
}

CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	return sg_driver_result(sg_event_elapsed(pMilliseconds, hStart, hEnd));
}

CUresult cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	SG_DRIVER(CUDA_ERROR_INVALID_HANDLE);
	return sg_driver_result(sg_event_elapsed(pMilliseconds, hStart, hEnd));
}
