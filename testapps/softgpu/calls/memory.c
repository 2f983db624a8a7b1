/* What the calls that allocate and free do, and the questions about memory. See calls.h. */
#include "calls.h"

#define PITCH_BYTES 512

cudaError_t sg_allocate(void **pointer, size_t size_bytes, enum sg_block_kind kind)
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

cudaError_t sg_allocate_pitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	if (pitch == NULL)
		return cudaErrorInvalidValue;
	if (width > SIZE_MAX - PITCH_BYTES)
		return cudaErrorMemoryAllocation;
	*pitch = (width + PITCH_BYTES - 1) & ~(size_t)(PITCH_BYTES - 1);
	if (height != 0 && *pitch > SIZE_MAX / height)
		return cudaErrorMemoryAllocation;
	return sg_allocate(devPtr, *pitch * height, SG_DEVICE);
}

cudaError_t sg_allocate_managed(void **devPtr, size_t size, unsigned int flags)
{
	if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
		return cudaErrorInvalidValue;
	return sg_allocate(devPtr, size, SG_MANAGED);
}

cudaError_t sg_allocate_host(void **pHost, size_t size, unsigned int flags)
{
	if ((flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) !=
		0)
		return cudaErrorInvalidValue;
	return sg_allocate(pHost, size, SG_PINNED);
}

cudaError_t sg_free_host(void *pointer, enum sg_block_kind kind, cudaError_t unknown)
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

cudaError_t sg_register(void *ptr, size_t size, unsigned int flags)
{
	cudaError_t error;

	(void)flags;
	if (ptr == NULL || size == 0)
		return cudaErrorInvalidValue;
	error = sg_capture_unsafe();
	return error != cudaSuccess ? error : sg_block_register(ptr, size, sg_self.device);
}

cudaError_t sg_unregister(void *ptr)
{
	if (ptr == NULL)
		return cudaErrorInvalidValue;
	return sg_free_host(ptr, SG_REGISTERED, cudaErrorHostMemoryNotRegistered);
}

cudaError_t sg_free(void *devPtr)
{
	cudaError_t error;

	if (devPtr == NULL)
		return cudaSuccess;
	error = sg_capture_unsafe();
	return error != cudaSuccess ? error : sg_memory_free(devPtr);
}

cudaError_t sg_allocate_async(void **devPtr, size_t size, struct sg_memory_pool *pool, cudaStream_t handle)
{
	struct sg_stream *stream = sg_stream_of(handle);
	cudaError_t error;
	int capturing;

	if (devPtr == NULL)
		return cudaErrorInvalidValue;
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
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
	if (error == cudaSuccess && capturing)
		error = sg_capture_memory(stream, SG_NODE_ALLOC, *devPtr);
	else if (error == cudaSuccess)
		sg_block_set_pool(*devPtr, pool != NULL ? pool : sg_memory_pool_current(stream->device));
	return error;
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

cudaError_t sg_free_async(void *devPtr, cudaStream_t handle)
{
	struct sg_stream *stream;

	stream = sg_stream_of(handle);
	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (devPtr == NULL)
		return cudaSuccess;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL) {
		struct sg_block block;

		/* Each launch needs it again: the graph keeps it. */
		if (!sg_block_find(devPtr, &block) || block.base != devPtr)
			return cudaErrorInvalidValue;
		return sg_capture_memory(stream, SG_NODE_FREE, devPtr);
	}
	if (!sg_block_mark(devPtr))
		return cudaErrorInvalidValue;
	return sg_queue_as(stream, &sg_quick, free_work, &devPtr, sizeof(devPtr), NULL);
}

cudaError_t sg_memory_info(size_t *free, size_t *total)
{
	if (free == NULL || total == NULL)
		return cudaErrorInvalidValue;
	*total = sg_memory_limit();
	*free = sg_memory_limit() - sg_memory_used(sg_self.device);
	return cudaSuccess;
}

/* Are those bytes managed memory, and is there such a device? */
static cudaError_t check_managed(const void *devPtr, size_t count, struct cudaMemLocation location)
{
	struct sg_block block;

	if (count == 0 || !sg_block_find(devPtr, &block) || block.kind != SG_MANAGED ||
		count > block.size_bytes - (size_t)((const char *)devPtr - block.base))
		return cudaErrorInvalidValue;
	if (location.type == cudaMemLocationTypeDevice &&
		(location.id < 0 || location.id >= sg_device_count()))
		return cudaErrorInvalidDevice;
	return cudaSuccess;
}

cudaError_t sg_advise(
	const void *devPtr, size_t count, enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
	if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
		return cudaErrorInvalidValue;
	return check_managed(devPtr, count, location);
}

cudaError_t sg_prefetch(const void *devPtr, size_t count, struct cudaMemLocation location, unsigned int flags,
	cudaStream_t handle)
{
	struct sg_stream *stream = sg_stream_of(handle);
	cudaError_t error;

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	error = flags != 0 ? cudaErrorInvalidValue : check_managed(devPtr, count, location);
	if (error != cudaSuccess)
		return error;
	return sg_queue_as(stream, &sg_quick, keep_work, NULL, 0, NULL);
}

cudaError_t sg_host_device_pointer(void **device, void *host, unsigned flags)
{
	struct sg_block block;

	if (device == NULL || flags != 0)
		return cudaErrorInvalidValue;
	*device = NULL;
	if (!sg_block_find(host, &block) || block.kind == SG_DEVICE)
		return cudaErrorInvalidValue;
	*device = host;
	return cudaSuccess;
}
