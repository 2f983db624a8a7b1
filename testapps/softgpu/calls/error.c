/* The names and texts of error numbers. */
#include "calls.h"

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{0, "cudaSuccess", "no error"},
	{1, "cudaErrorInvalidValue", "invalid argument"},
	{2, "cudaErrorMemoryAllocation", "out of memory"},
	{3, "cudaErrorInitializationError", "initialization error"},
	{4, "cudaErrorCudartUnloading", "driver shutting down"},
	{5, "cudaErrorProfilerDisabled", "profiler disabled while using external profiling tool"},
	{9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
	{12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
	{13, "cudaErrorInvalidSymbol", "invalid device symbol"},
	{16, "cudaErrorInvalidHostPointer", "invalid host pointer"},
	{17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
	{20, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"},
	{21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
	{35, "cudaErrorInsufficientDriver", "CUDA driver version is insufficient for CUDA runtime version"},
	{46, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
	{52, "cudaErrorMissingConfiguration", "__global__ function call is not configured"},
	{98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
	{100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{101, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
	{201, "cudaErrorDeviceUninitialized", "invalid device context"},
	{209, "cudaErrorNoKernelImageForDevice", "no kernel image is available for execution on the device"},
	{214, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
	{217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
	{300, "cudaErrorInvalidSource", "device kernel image is invalid"},
	{301, "cudaErrorFileNotFound", "file not found"},
	{304, "cudaErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
	{400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
	{401, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
	{402, "cudaErrorLossyQuery", "the answer has no place for all that there is"},
	{500, "cudaErrorSymbolNotFound", "named symbol not found"},
	{600, "cudaErrorNotReady", "device not ready"},
	{700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
	{701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
	{702, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
	{704, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
	{705, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
	{708, "cudaErrorSetOnActiveProcess", "cannot set while device is active in this process"},
	{709, "cudaErrorContextIsDestroyed", "context is destroyed"},
	{710, "cudaErrorAssert", "device-side assert triggered"},
	{711, "cudaErrorTooManyPeers", "peer mapping resources exhausted"},
	{712, "cudaErrorHostMemoryAlreadyRegistered",
		"part or all of the requested memory range is already mapped"},
	{713, "cudaErrorHostMemoryNotRegistered",
		"pointer does not correspond to a registered memory region"},
	{714, "cudaErrorHardwareStackError", "hardware stack error"},
	{715, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
	{716, "cudaErrorMisalignedAddress", "misaligned address"},
	{719, "cudaErrorLaunchFailure", "unspecified launch failure"},
	{720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
	{800, "cudaErrorNotPermitted", "operation not permitted"},
	{801, "cudaErrorNotSupported", "operation not supported"},
	{802, "cudaErrorSystemNotReady", "system not yet initialized"},
	{900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
	{901, "cudaErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
	{902, "cudaErrorStreamCaptureMerge",
		"operation would result in a merge of separate capture sequences"},
	{903, "cudaErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
	{904, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
	{905, "cudaErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
	{906, "cudaErrorStreamCaptureImplicit",
		"operation would make the legacy stream depend on a capturing blocking stream"},
	{907, "cudaErrorCapturedEvent",
		"operation not permitted on an event last recorded in a capturing stream"},
	{908, "cudaErrorStreamCaptureWrongThread",
		"attempt to terminate a thread-local capture sequence from another thread"},
	{909, "cudaErrorTimeout", "wait operation timed out"},
	{910, "cudaErrorGraphExecUpdateFailure",
		"the graph update was not performed because it included changes which violated constraints specific to "
		"instantiated graph update"},
	{912, "cudaErrorInvalidClusterSize", "cluster misconfiguration"},
	{999, "cudaErrorUnknown", "unknown error"},
};

const char *sg_error_name(int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == error)
			return errors[i].name;
	}
	return NULL;
}

const char *sg_error_text(int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == error)
			return errors[i].text;
	}
	return NULL;
}
