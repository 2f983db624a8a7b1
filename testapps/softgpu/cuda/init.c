/* The driver API as a whole: entering its functions, starting, versions, errors, profiler switches. */
#include "cuda_private.h"

#define VERSION 13000

CUresult sg_driver_enter_slow(const char *name, CUresult fault, enum sg_need need)
{
	const struct sg_context *context = sg_context_current();
	unsigned attention = atomic_load(&sg_attention);

	sg_call_begin(name);
	if (sg_fault(name))
		return fault;
	if (need == SG_NEED_NOTHING)
		return CUDA_SUCCESS;
	/* Started by cuInit, or by the runtime. */
	if (attention & (SG_NOT_READY | SG_FORKED))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (sg_stopped())
		return CUDA_ERROR_DEINITIALIZED;
	if (sg_self.unusual & SG_IN_HOST_FUNCTION)
		return CUDA_ERROR_NOT_PERMITTED;
	if (need == SG_NEED_INIT)
		return CUDA_SUCCESS;
	if (context == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!sg_context_usable(context))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return sg_driver_result(sg_device_error(context->device));
}

CUresult sg_driver_result_slow(cudaError_t error)
{
	switch ((int)error) {
	case cudaErrorInvalidConfiguration:
	case cudaErrorInvalidPitchValue:
	case cudaErrorInvalidHostPointer:
	case cudaErrorInvalidDevicePointer:
	case cudaErrorInvalidMemcpyDirection:
		return CUDA_ERROR_INVALID_VALUE;
	case cudaErrorInvalidSymbol:
		return CUDA_ERROR_NOT_FOUND;
	case cudaErrorInvalidDeviceFunction:
		return CUDA_ERROR_INVALID_HANDLE;
	default:
		return (CUresult)(int)error;
	}
}

CUresult cuInit(unsigned int Flags)
{
	SG_DRIVER_AS(CUDA_ERROR_NO_DEVICE, SG_NEED_NOTHING);
	if (Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (sg_device_count() == 0)
		return CUDA_ERROR_NO_DEVICE;
	return sg_ready() == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDriverGetVersion(int *driverVersion)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_NOTHING);
	if (driverVersion == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*driverVersion = VERSION;
	return CUDA_SUCCESS;
}

/* The tables are agreements between the vendor's own libraries; softgpu is in none of them. */
CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	SG_DRIVER_AS(CUDA_ERROR_NOT_FOUND, SG_NEED_NOTHING);
	if (ppExportTable == NULL || pExportTableId == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = NULL;
	return CUDA_ERROR_NOT_FOUND;
}

CUresult cuProfilerStart(void)
{
	SG_DRIVER(CUDA_ERROR_UNKNOWN);
	return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void)
{
	SG_DRIVER(CUDA_ERROR_UNKNOWN);
	return CUDA_SUCCESS;
}

/* ---- errors ---- */

static const struct {
	int code;
	const char *name;
} errors[] = {
	{0, "CUDA_SUCCESS"},
	{1, "CUDA_ERROR_INVALID_VALUE"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY"},
	{3, "CUDA_ERROR_NOT_INITIALIZED"},
	{4, "CUDA_ERROR_DEINITIALIZED"},
	{5, "CUDA_ERROR_PROFILER_DISABLED"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
	{100, "CUDA_ERROR_NO_DEVICE"},
	{101, "CUDA_ERROR_INVALID_DEVICE"},
	{200, "CUDA_ERROR_INVALID_IMAGE"},
	{201, "CUDA_ERROR_INVALID_CONTEXT"},
	{209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
	{214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
	{217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
	{300, "CUDA_ERROR_INVALID_SOURCE"},
	{301, "CUDA_ERROR_FILE_NOT_FOUND"},
	{304, "CUDA_ERROR_OPERATING_SYSTEM"},
	{400, "CUDA_ERROR_INVALID_HANDLE"},
	{401, "CUDA_ERROR_ILLEGAL_STATE"},
	{500, "CUDA_ERROR_NOT_FOUND"},
	{600, "CUDA_ERROR_NOT_READY"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
	{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
	{702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
	{704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
	{705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
	{708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
	{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
	{710, "CUDA_ERROR_ASSERT"},
	{711, "CUDA_ERROR_TOO_MANY_PEERS"},
	{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
	{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
	{714, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
	{715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
	{716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
	{719, "CUDA_ERROR_LAUNCH_FAILED"},
	{720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
	{800, "CUDA_ERROR_NOT_PERMITTED"},
	{801, "CUDA_ERROR_NOT_SUPPORTED"},
	{802, "CUDA_ERROR_SYSTEM_NOT_READY"},
	{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
	{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
	{902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
	{903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
	{904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
	{905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
	{906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
	{907, "CUDA_ERROR_CAPTURED_EVENT"},
	{908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
	{909, "CUDA_ERROR_TIMEOUT"},
	{910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
	{999, "CUDA_ERROR_UNKNOWN"},
};

CUresult cuGetErrorName(CUresult error, const char **pStr)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_NOTHING);
	if (pStr == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == (int)error)
			*pStr = errors[i].name;
	}
	return *pStr != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **pStr)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_NOTHING);
	if (pStr == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = sg_error_text((int)error);
	return *pStr != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
