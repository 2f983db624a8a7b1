/* Allocation: cudaMalloc, cudaFree, pinned and registered host memory, and questions about pointers. */
#include "cudart_private.h"

#include <string.h>

RUNTIME(cudaMalloc, (void **, devPtr, size_t, size), cudaErrorMemoryAllocation,
	sg_allocate(devPtr, size, SG_DEVICE))
RUNTIME(cudaMallocPitch, (void **, devPtr, size_t *, pitch, size_t, width, size_t, height),
	cudaErrorMemoryAllocation, sg_allocate_pitch(devPtr, pitch, width, height))
RUNTIME(cudaMallocManaged, (void **, devPtr, size_t, size, unsigned int, flags), cudaErrorMemoryAllocation,
	sg_allocate_managed(devPtr, size, flags))
RUNTIME(cudaMallocHost, (void **, ptr, size_t, size), cudaErrorMemoryAllocation,
	sg_allocate(ptr, size, SG_PINNED))
RUNTIME(cudaHostAlloc, (void **, pHost, size_t, size, unsigned int, flags), cudaErrorMemoryAllocation,
	sg_allocate_host(pHost, size, flags))

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
	struct cudaPitchedPtr box = {NULL, 0, extent.width, extent.height};
	size_t rows;
	cudaError_t error;

	SG_ENTER(cudaErrorMemoryAllocation);
	if (pitchedDevPtr == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
		return sg_result(cudaErrorMemoryAllocation);
	error = sg_allocate_pitch(&box.ptr, &box.pitch, extent.width, rows);
	if (error == cudaSuccess)
		*pitchedDevPtr = box;
	return sg_result(error);
}

cudaError_t cudaFreeHost(void *ptr)
{
	SG_ENTER(cudaErrorInvalidValue);
	return ptr == NULL ? cudaSuccess : sg_result(sg_free_host(ptr, SG_PINNED, cudaErrorInvalidValue));
}

RUNTIME(cudaHostRegister, (void *, ptr, size_t, size, unsigned int, flags), cudaErrorMemoryAllocation,
	sg_register(ptr, size, flags))
RUNTIME(cudaHostUnregister, (void *, ptr), cudaErrorInvalidValue, sg_unregister(ptr))
RUNTIME(cudaFree, (void *, devPtr), cudaErrorInvalidValue, sg_free(devPtr))
RUNTIME(cudaMemGetInfo, (size_t *, free, size_t *, total), cudaErrorUnknown, sg_memory_info(free, total))

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	struct sg_block block;
	union {
		const void *in;
		void *out;
	} pointer = {ptr};

	SG_ENTER(cudaErrorInvalidValue);
	if (attributes == NULL)
		return sg_result(cudaErrorInvalidValue);
	memset(attributes, 0, sizeof(*attributes));
	if (!sg_block_find(ptr, &block)) {
		attributes->type = cudaMemoryTypeUnregistered;
		attributes->device = -2;
		attributes->hostPointer = pointer.out;
		return cudaSuccess;
	}
	attributes->device = block.device;
	attributes->devicePointer = pointer.out;
	if (block.kind == SG_DEVICE) {
		attributes->type = cudaMemoryTypeDevice;
		return cudaSuccess;
	}
	attributes->type = block.kind == SG_MANAGED ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
	attributes->hostPointer = pointer.out;
	return cudaSuccess;
}

RUNTIME_PTSZ(cudaMemPrefetchAsync,
	(const void *, devPtr, size_t, count, struct cudaMemLocation, location, unsigned int, flags,
		cudaStream_t, handle),
	cudaErrorInvalidValue, sg_prefetch(devPtr, count, location, flags, handle))
RUNTIME(cudaMemAdvise,
	(const void *, devPtr, size_t, count, enum cudaMemoryAdvise, advice, struct cudaMemLocation,
		location),
	cudaErrorInvalidValue, sg_advise(devPtr, count, advice, location))
RUNTIME(cudaIpcGetMemHandle, (cudaIpcMemHandle_t *, handle, void *, devPtr), cudaErrorInvalidValue,
	sg_share(handle, devPtr))
RUNTIME(cudaIpcOpenMemHandle, (void **, devPtr, cudaIpcMemHandle_t, handle, unsigned int, flags),
	cudaErrorInvalidValue, sg_share_open(devPtr, &handle, flags))
RUNTIME(cudaIpcCloseMemHandle, (void *, devPtr), cudaErrorInvalidValue, sg_share_close(devPtr))
RUNTIME(cudaHostGetDevicePointer, (void **, pDevice, void *, pHost, unsigned int, flags),
	cudaErrorInvalidValue, sg_host_device_pointer(pDevice, pHost, flags))
