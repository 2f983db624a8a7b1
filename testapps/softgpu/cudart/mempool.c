/* cudaMemPool*, the pools of devices, and allocation in stream order, which takes from them
 * (core/memory_pool.c). */
#include "cudart_private.h"

/* ---- the runtime's functions ---- */

static cudaError_t pool_of_device(cudaMemPool_t *out, int device, struct sg_memory_pool *(*find)(int device))
{
	if (out == NULL)
		return cudaErrorInvalidValue;
	if (!sg_device_exists(device))
		return cudaErrorInvalidDevice;
	*out = (cudaMemPool_t)(void *)find(device);
	return cudaSuccess;
}

RUNTIME(cudaDeviceGetDefaultMemPool, (cudaMemPool_t *, memPool, int, device), cudaErrorInvalidDevice,
	pool_of_device(memPool, device, sg_memory_pool_default))
RUNTIME(cudaDeviceGetMemPool, (cudaMemPool_t *, memPool, int, device), cudaErrorInvalidDevice,
	pool_of_device(memPool, device, sg_memory_pool_current))
RUNTIME(cudaDeviceSetMemPool, (int, device, cudaMemPool_t, memPool), cudaErrorInvalidValue,
	sg_memory_pool_make_current(device, sg_memory_pool_of(memPool)))

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	struct sg_memory_pool *pool;
	cudaError_t error;

	SG_ENTER(cudaErrorMemoryAllocation);
	if (memPool == NULL || poolProps == NULL || poolProps->location.type != cudaMemLocationTypeDevice)
		return sg_result(cudaErrorInvalidValue);
	error = sg_memory_pool_create(&pool, poolProps->location.id);
	if (error == cudaSuccess)
		*memPool = (cudaMemPool_t)(void *)pool;
	return sg_result(error);
}

RUNTIME(cudaMemPoolDestroy, (cudaMemPool_t, memPool), cudaErrorInvalidValue,
	sg_memory_pool_destroy(sg_memory_pool_of(memPool)))
RUNTIME(cudaMemPoolSetAttribute, (cudaMemPool_t, memPool, enum cudaMemPoolAttr, attr, void *, value),
	cudaErrorInvalidValue, sg_memory_pool_set(sg_memory_pool_of(memPool), (int)attr, value))
RUNTIME(cudaMemPoolGetAttribute, (cudaMemPool_t, memPool, enum cudaMemPoolAttr, attr, void *, value),
	cudaErrorInvalidValue, sg_memory_pool_get(sg_memory_pool_of(memPool), (int)attr, value))

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	SG_ENTER(cudaErrorInvalidValue);
	(void)minBytesToKeep;
	return sg_result(sg_memory_pool_of(memPool) != NULL ? cudaSuccess : cudaErrorInvalidValue);
}

/* Every device reaches all memory here. */
cudaError_t cudaMemPoolSetAccess(
	cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count)
{
	SG_ENTER(cudaErrorInvalidValue);
	if (sg_memory_pool_of(memPool) == NULL || (count > 0 && descList == NULL))
		return sg_result(cudaErrorInvalidValue);
	return cudaSuccess;
}

/* ---- allocation in stream order ---- */

RUNTIME_PTSZ(cudaMallocAsync, (void **, devPtr, size_t, size, cudaStream_t, handle),
	cudaErrorMemoryAllocation, sg_allocate_async(devPtr, size, NULL, handle))

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
	struct sg_memory_pool *pool;

	SG_ENTER(cudaErrorMemoryAllocation);
	pool = sg_memory_pool_of(memPool);
	if (pool == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(sg_allocate_async(ptr, size, pool, stream));
}

RUNTIME_PTSZ(cudaFreeAsync, (void *, devPtr, cudaStream_t, handle), cudaErrorInvalidValue,
	sg_free_async(devPtr, handle))
