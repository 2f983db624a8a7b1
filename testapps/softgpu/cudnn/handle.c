/*
 * cuDNN handles, versions and error names, and the way from a call to its stream.
 *
 * The one idea: a handle is a stream and the device it was made on; it owns nothing else.
 */
#include "cudnn_private.h"

#include "onednn.h"

#include <stdlib.h>

cudnnStatus_t sg_cudnn_submit(
	cudnnHandle_t handle, const struct sg_cost *cost, sg_work *fn, const void *arg, size_t size)
{
	return sg_submit_cost(handle->stream, cost, fn, arg, size) == cudaSuccess
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
	SG_ENTER();
	if (handle == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	if (sg_onednn_open() != 0)
		return CUDNN_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	if (*handle == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	(*handle)->device = sg_device();
	return CUDNN_STATUS_SUCCESS;
}

SG_DESTROY(cudnnDestroy, cudnnHandle_t)

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId)
{
	int device;

	SG_ENTER();
	if (handle == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	device = sg_stream_device(streamId);
	if (device < 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (streamId != NULL && streamId != cudaStreamLegacy && streamId != cudaStreamPerThread &&
		device != handle->device)
		return SG_STATUS_MAPPING_ERROR;
	handle->stream = streamId;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)
{
	SG_ENTER();
	if (handle == NULL || streamId == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*streamId = handle->stream;
	return CUDNN_STATUS_SUCCESS;
}

/* The version that softgpu passes for, whichever headers it was built with: PyTorch refuses one that is older
 * than that which it was built with, and cudnn-frontend decides by it what it asks for. */
#define VERSION_MAJOR 9
#define VERSION_MINOR 26

size_t cudnnGetVersion(void)
{
	return sg_fault(__func__) ? 0 : VERSION_MAJOR * 10000 + VERSION_MINOR * 100;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)
{
	SG_ENTER();
	if (value == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	switch (type) {
	case MAJOR_VERSION:
		*value = VERSION_MAJOR;
		return CUDNN_STATUS_SUCCESS;
	case MINOR_VERSION:
		*value = VERSION_MINOR;
		return CUDNN_STATUS_SUCCESS;
	case PATCH_LEVEL:
		*value = 0;
		return CUDNN_STATUS_SUCCESS;
	}
	return CUDNN_STATUS_BAD_PARAM;
}

size_t cudnnGetCudartVersion(void)
{
	return sg_fault(__func__) ? 0 : CUDART_VERSION;
}

struct status_name {
	int status;
	const char *name;
};

static const struct status_name status_names[] = {
	{0, "CUDNN_STATUS_SUCCESS"},
	{1001, "CUDNN_STATUS_NOT_INITIALIZED"},
	{1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"},
	{1003, "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH"},
	{1004, "CUDNN_STATUS_DEPRECATED"},
	{1005, "CUDNN_STATUS_LICENSE_ERROR"},
	{1006, "CUDNN_STATUS_RUNTIME_IN_PROGRESS"},
	{1007, "CUDNN_STATUS_RUNTIME_FP_OVERFLOW"},
	{1008, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED"},
	{2000, "CUDNN_STATUS_BAD_PARAM"},
	{2001, "CUDNN_STATUS_INVALID_VALUE"},
	{2002, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"},
	{2003, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER"},
	{2004, "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"},
	{2005, "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND"},
	{2006, "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT"},
	{2007, "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH"},
	{2008, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"},
	{2009, "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES"},
	{2010, "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE"},
	{2011, "CUDNN_STATUS_BAD_PARAM_CUDA_GRAPH_MISMATCH"},
	{2012, "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE"},
	{3000, "CUDNN_STATUS_NOT_SUPPORTED"},
	{3001, "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN"},
	{3002, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"},
	{3003, "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE"},
	{3004, "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT"},
	{3005, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER"},
	{3006, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART"},
	{3007, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH"},
	{3008, "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING"},
	{3009, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE"},
	{3010, "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT"},
	{3011, "CUDNN_STATUS_NOT_SUPPORTED_PADDING"},
	{3012, "CUDNN_STATUS_NOT_SUPPORTED_BAD_LAUNCH_PARAM"},
	{3013, "CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API"},
	{3014, "CUDNN_STATUS_NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE"},
	{4000, "CUDNN_STATUS_INTERNAL_ERROR"},
	{4001, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED"},
	{4002, "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE"},
	{4003, "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED"},
	{4004, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"},
	{4005, "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM"},
	{4006, "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED"},
	{5000, "CUDNN_STATUS_EXECUTION_FAILED"},
	{5001, "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER"},
	{5002, "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS"},
	{5003, "CUDNN_STATUS_EXECUTION_FAILED_CUDART"},
	{5004, "CUDNN_STATUS_EXECUTION_FAILED_CURAND"},
};

const char *cudnnGetErrorString(cudnnStatus_t status)
{
	if (!sg_fault(__func__)) {
		for (size_t i = 0; i < sizeof(status_names) / sizeof(status_names[0]); i++) {
			if (status_names[i].status == (int)status)
				return status_names[i].name;
		}
	}
	return "CUDNN_UNKNOWN_STATUS";
}

/* The stand-in keeps no sentences beside its statuses. */
void cudnnGetLastErrorString(char *message, size_t max_size)
{
	if (message != NULL && max_size > 0)
		message[0] = 0;
}
