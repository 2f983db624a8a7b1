/* cuEvent*: the runtime's events under the driver's names. */
#include "cuda_private.h"

DRIVER(cuEventCreate, (CUevent *, phEvent, unsigned int, Flags), CUDA_ERROR_OUT_OF_MEMORY,
	sg_event_create(phEvent, Flags))
DRIVER_PTSZ(cuEventRecord, (CUevent, hEvent, CUstream, hStream), CUDA_ERROR_INVALID_HANDLE,
	sg_event_record_on(hEvent, hStream, cudaEventRecordDefault))
DRIVER_PTSZ(cuEventRecordWithFlags, (CUevent, hEvent, CUstream, hStream, unsigned int, flags),
	CUDA_ERROR_INVALID_HANDLE, sg_event_record_on(hEvent, hStream, flags))
DRIVER(cuEventQuery, (CUevent, hEvent), CUDA_ERROR_LAUNCH_FAILED, sg_event_query(hEvent))
DRIVER(cuEventSynchronize, (CUevent, hEvent), CUDA_ERROR_LAUNCH_FAILED, sg_event_synchronize(hEvent))
DRIVER(cuEventDestroy, (CUevent, hEvent), CUDA_ERROR_INVALID_HANDLE, sg_event_destroy(hEvent))
DRIVER(cuEventDestroy_v2, (CUevent, hEvent), CUDA_ERROR_INVALID_HANDLE, sg_event_destroy(hEvent))
DRIVER(cuEventElapsedTime, (float *, pMilliseconds, CUevent, hStart, CUevent, hEnd),
	CUDA_ERROR_INVALID_HANDLE, sg_event_elapsed(pMilliseconds, hStart, hEnd))
DRIVER(cuEventElapsedTime_v2, (float *, pMilliseconds, CUevent, hStart, CUevent, hEnd),
	CUDA_ERROR_INVALID_HANDLE, sg_event_elapsed(pMilliseconds, hStart, hEnd))
