/* Allocation: cudaMalloc*, cudaFree*, pinned and registered host memory, and questions about pointers. */
#include "sg_rt.h"

#include <string.h>

#define PITCH_BYTES 512

static cudaError_t allocate(void **pointer, size_t size_bytes, enum sg_block_kind kind)
{
	cudaError_t error;

	if (pointer == NULL)
		return cudaErrorInvalidValue;
	error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return error;
	if (size_bytes == 0) {
		*pointer = NULL;
		return cudaSuccess;
	}
	return sg_block_alloc(pointer, size_bytes, kind, sg_self.device);
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(allocate(devPtr, size, SG_DEVICE));
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	if (pitch == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (width > SIZE_MAX - PITCH_BYTES)
		return sg_result(cudaErrorMemoryAllocation);
	*pitch = (width + PITCH_BYTES - 1) & ~(size_t)(PITCH_BYTES - 1);
	if (height != 0 && *pitch > SIZE_MAX / height)
		return sg_result(cudaErrorMemoryAllocation);
	return sg_result(allocate(devPtr, *pitch * height, SG_DEVICE));
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
		return sg_result(cudaErrorInvalidValue);
	return sg_result(allocate(devPtr, size, SG_MANAGED));
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(allocate(ptr, size, SG_PINNED));
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	if ((flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) !=
		0)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(allocate(pHost, size, SG_PINNED));
}

static cudaError_t free_host(void *pointer, enum sg_block_kind kind, cudaError_t unknown)
{
	struct sg_block block;
	cudaError_t error = sg_capture_unsafe();

	if (error != cudaSuccess)
		return error;
	if (!sg_block_find(pointer, &block) || block.base != pointer || block.kind != kind)
		return unknown;
	sg_device_drain(block.device);
	if (sg_block_take(pointer, &block))
		sg_block_release(&block);
	return cudaSuccess;
}

cudaError_t cudaFreeHost(void *ptr)
{
	SG_ENTER(cudaErrorInvalidValue);
	return ptr == NULL ? cudaSuccess : sg_result(free_host(ptr, SG_PINNED, cudaErrorInvalidValue));
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	cudaError_t error;

	SG_ENTER(cudaErrorMemoryAllocation);
	(void)flags;
	if (ptr == NULL || size == 0)
		return sg_result(cudaErrorInvalidValue);
	error = sg_capture_unsafe();
	return sg_result(error != cudaSuccess ? error : sg_block_register(ptr, size, sg_self.device));
}

cudaError_t cudaHostUnregister(void *ptr)
{
	SG_ENTER(cudaErrorInvalidValue);
	if (ptr == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(free_host(ptr, SG_REGISTERED, cudaErrorHostMemoryNotRegistered));
}

cudaError_t cudaFree(void *devPtr)
{
	cudaError_t error;

	SG_ENTER(cudaErrorInvalidValue);
	if (devPtr == NULL)
		return cudaSuccess;
	error = sg_capture_unsafe();
	return sg_result(error != cudaSuccess ? error : sg_memory_free(devPtr));
}

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t handle)
{
	struct sg_stream *stream;
	cudaError_t error;
	int capturing;

	SG_ENTER(cudaErrorMemoryAllocation);
	stream = sg_stream_of(handle);
	if (devPtr == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	*devPtr = NULL;
	if (size == 0)
		return cudaSuccess;
	capturing = atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL;
	error = sg_block_alloc(devPtr, size, SG_DEVICE, stream->device);
	if (error == cudaErrorMemoryAllocation && !capturing) {
		/* What is about to be freed in stream order counts until then. */
		sg_device_drain(stream->device);
		error = sg_block_alloc(devPtr, size, SG_DEVICE, stream->device);
	}
	if (error == cudaSuccess && capturing)
		error = sg_capture_own_memory(stream, *devPtr);
	return sg_result(error);
}

static void free_work(void *arg)
{
	struct sg_block block;

	if (sg_block_take(*(void **)arg, &block))
		sg_block_release(&block);
}

static void keep_work(void *arg)
{
	(void)arg;
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t handle)
{
	struct sg_stream *stream;

	SG_ENTER(cudaErrorInvalidValue);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (devPtr == NULL)
		return cudaSuccess;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL) {
		struct sg_block block;

		/* Each launch needs it again: the graph keeps it. */
		if (!sg_block_find(devPtr, &block) || block.base != devPtr)
			return sg_result(cudaErrorInvalidValue);
		return sg_result(sg_queue(stream, keep_work, NULL, 0, NULL));
	}
	if (!sg_block_mark(devPtr))
		return sg_result(cudaErrorInvalidValue);
	return sg_result(sg_queue(stream, free_work, &devPtr, sizeof(devPtr), NULL));
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	SG_ENTER(cudaErrorUnknown);
	if (free == NULL || total == NULL)
		return sg_result(cudaErrorInvalidValue);
	*total = sg_memory_limit();
	*free = sg_memory_limit() - sg_memory_used(sg_self.device);
	return cudaSuccess;
}

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

cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
	unsigned int flags, cudaStream_t handle)
{
	struct sg_stream *stream;
	struct sg_block block;

	SG_ENTER(cudaErrorInvalidValue);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (flags != 0 || count == 0 || !sg_block_find(devPtr, &block) || block.kind != SG_MANAGED ||
		count > block.size_bytes - (size_t)((const char *)devPtr - block.base))
		return sg_result(cudaErrorInvalidValue);
	if (location.type == cudaMemLocationTypeDevice &&
		(location.id < 0 || location.id >= sg_device_count()))
		return sg_result(cudaErrorInvalidDevice);
	return sg_result(sg_queue(stream, keep_work, NULL, 0, NULL));
}
