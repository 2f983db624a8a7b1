/* cuMem*: allocation, memory pools, and questions about addresses. Copies are in copy.c. */
#include "cuda_private.h"

#include <string.h>

/* Hands a new block's address on; &pointer, as the argument that allocates is evaluated together with it. */
static CUresult answer(CUdeviceptr *out, void *const *pointer, cudaError_t error)
{
	if (error == cudaSuccess)
		*out = sg_address(*pointer);
	return sg_driver_result(error);
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	void *pointer = NULL;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (dptr == NULL || bytesize == 0)
		return CUDA_ERROR_INVALID_VALUE;
	return answer(dptr, &pointer, sg_allocate(&pointer, bytesize, SG_DEVICE));
}

CUresult cuMemAllocPitch_v2(
	CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes)
{
	void *pointer = NULL;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (dptr == NULL || pPitch == NULL || WidthInBytes == 0 || Height == 0 ||
		(ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	return answer(dptr, &pointer, sg_allocate_pitch(&pointer, pPitch, WidthInBytes, Height));
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (pp == NULL || bytesize == 0)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_allocate(pp, bytesize, SG_PINNED));
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (pp == NULL || bytesize == 0)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_allocate_host(pp, bytesize, Flags));
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	void *pointer = NULL;

	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (dptr == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return answer(dptr, &pointer, sg_allocate_managed(&pointer, bytesize, flags));
}

DRIVER(cuMemFree_v2, (CUdeviceptr, dptr), CUDA_ERROR_INVALID_VALUE, sg_free(sg_pointer(dptr)))
DRIVER(cuMemFreeHost, (void *, p), CUDA_ERROR_INVALID_VALUE,
	sg_free_host(p, SG_PINNED, cudaErrorInvalidValue))
DRIVER(cuMemHostRegister_v2, (void *, p, size_t, bytesize, unsigned int, Flags), CUDA_ERROR_OUT_OF_MEMORY,
	sg_register(p, bytesize, Flags))
DRIVER(cuMemHostUnregister, (void *, p), CUDA_ERROR_INVALID_VALUE, sg_unregister(p))

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	void *pointer = NULL;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (pdptr == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return answer(pdptr, &pointer, sg_host_device_pointer(&pointer, p, Flags));
}

/* ---- in stream order ---- */

static CUresult allocate_async(
	CUdeviceptr *dptr, size_t size_bytes, struct sg_memory_pool *pool, CUstream stream)
{
	void *pointer = NULL;

	if (dptr == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return answer(dptr, &pointer, sg_allocate_async(&pointer, size_bytes, pool, stream));
}

DRIVER_OWN_PTSZ(cuMemAllocAsync, (CUdeviceptr *, dptr, size_t, bytesize, CUstream, hStream),
	CUDA_ERROR_OUT_OF_MEMORY, allocate_async(dptr, bytesize, NULL, hStream))

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
	SG_DRIVER(CUDA_ERROR_OUT_OF_MEMORY);
	if (sg_memory_pool_of(pool) == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return allocate_async(dptr, bytesize, sg_memory_pool_of(pool), hStream);
}

DRIVER_PTSZ(cuMemFreeAsync, (CUdeviceptr, dptr, CUstream, hStream), CUDA_ERROR_INVALID_VALUE,
	sg_free_async(sg_pointer(dptr), hStream))

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	struct sg_memory_pool *made;
	cudaError_t error;

	SG_DRIVER_AS(CUDA_ERROR_OUT_OF_MEMORY, SG_NEED_INIT);
	if (pool == NULL || poolProps == NULL ||
		(int)poolProps->location.type != (int)cudaMemLocationTypeDevice)
		return CUDA_ERROR_INVALID_VALUE;
	error = sg_memory_pool_create(&made, poolProps->location.id);
	if (error == cudaSuccess)
		*pool = (CUmemoryPool)(void *)made;
	return sg_driver_result(error);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_memory_pool_destroy(sg_memory_pool_of(pool)));
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_memory_pool_set(sg_memory_pool_of(pool), (int)attr, value));
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_memory_pool_get(sg_memory_pool_of(pool), (int)attr, value));
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	(void)minBytesToKeep;
	return sg_memory_pool_of(pool) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (sg_memory_pool_of(pool) == NULL || (count > 0 && map == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- prefetching managed memory ---- */

static CUresult prefetch(CUdeviceptr address, size_t count, int type, int id, unsigned flags, CUstream stream)
{
	struct cudaMemLocation to = {.type = (enum cudaMemLocationType)type, .id = id};

	return sg_driver_result(sg_prefetch(sg_pointer(address), count, to, flags, stream));
}

/* The first version names a device, or the host by -1. */
DRIVER_OWN_PTSZ(cuMemPrefetchAsync,
	(CUdeviceptr, devPtr, size_t, count, CUdevice, dstDevice, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE,
	prefetch(devPtr, count,
		dstDevice == -1 ? (int)cudaMemLocationTypeHost : (int)cudaMemLocationTypeDevice, dstDevice, 0,
		hStream))
DRIVER_OWN_PTSZ(cuMemPrefetchAsync_v2,
	(CUdeviceptr, devPtr, size_t, count, CUmemLocation, location, unsigned int, flags, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, prefetch(devPtr, count, (int)location.type, location.id, flags, hStream))

/* ---- questions ---- */

DRIVER(cuMemGetInfo_v2, (size_t *, free, size_t *, total), CUDA_ERROR_INVALID_VALUE,
	sg_memory_info(free, total))

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct sg_block block;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (!sg_block_find(sg_pointer(dptr), &block))
		return CUDA_ERROR_NOT_FOUND;
	if (pbase != NULL)
		*pbase = sg_address(block.base);
	if (psize != NULL)
		*psize = block.size_bytes;
	return CUDA_SUCCESS;
}

/* Attributes of an address by number, and the sizes of their values. */
enum {
	OF_CONTEXT = 1,
	OF_MEMORY_TYPE = 2,
	OF_DEVICE_POINTER = 3,
	OF_HOST_POINTER = 4,
	OF_SYNC_MEMOPS = 6,
	OF_BUFFER_ID = 7,
	OF_IS_MANAGED = 8,
	OF_DEVICE_ORDINAL = 9,
	OF_RANGE_START = 11,
	OF_RANGE_BYTES = 12,
	OF_MAPPED = 13,
	OF_POOL = 17,
};

/* What the attribute is for an address in a block (NULL: in none), written to *data. */
static CUresult attribute_of(int attribute, void *data, CUdeviceptr address, const struct sg_block *block)
{
	struct sg_context *context = block == NULL            ? NULL
				     : block->context != NULL ? block->context
							      : sg_context_primary(block->device);

	if (data == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case OF_CONTEXT:
		*(CUcontext *)data = sg_context_handle(context);
		return CUDA_SUCCESS;
	case OF_MEMORY_TYPE: /* 1: host, 2: device */
		*(unsigned *)data = block == NULL                                           ? 0
				    : block->kind == SG_DEVICE || block->kind == SG_MANAGED ? 2
											    : 1;
		return CUDA_SUCCESS;
	case OF_DEVICE_POINTER:
		*(CUdeviceptr *)data = block != NULL ? address : 0;
		return CUDA_SUCCESS;
	case OF_HOST_POINTER:
		*(void **)data = block != NULL && block->kind != SG_DEVICE ? sg_pointer(address) : NULL;
		return block != NULL && block->kind == SG_DEVICE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case OF_SYNC_MEMOPS:
		*(int *)data = 0;
		return CUDA_SUCCESS;
	case OF_BUFFER_ID:
		*(unsigned long long *)data = block != NULL ? sg_address(block->base) : 0;
		return CUDA_SUCCESS;
	case OF_IS_MANAGED:
		*(int *)data = block != NULL && block->kind == SG_MANAGED;
		return CUDA_SUCCESS;
	case OF_DEVICE_ORDINAL:
		*(int *)data = block != NULL ? block->device : -2;
		return CUDA_SUCCESS;
	case OF_RANGE_START:
		*(CUdeviceptr *)data = block != NULL ? sg_address(block->base) : 0;
		return CUDA_SUCCESS;
	case OF_RANGE_BYTES:
		*(size_t *)data = block != NULL ? block->size_bytes : 0;
		return CUDA_SUCCESS;
	case OF_MAPPED:
		*(int *)data = block != NULL;
		return CUDA_SUCCESS;
	case OF_POOL:
		*(CUmemoryPool *)data = (CUmemoryPool)(void *)(block != NULL ? block->pool : NULL);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct sg_block block;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (!sg_block_find(sg_pointer(ptr), &block))
		return CUDA_ERROR_INVALID_VALUE;
	return attribute_of((int)attribute, data, ptr, &block);
}

/* Unlike the single question it answers for unknown addresses too, with zeros. */
CUresult cuPointerGetAttributes(
	unsigned int numAttributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
	struct sg_block block;
	int known;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (attributes == NULL || data == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	known = sg_block_find(sg_pointer(ptr), &block);
	for (unsigned i = 0; i < numAttributes; i++) {
		CUresult result = attribute_of((int)attributes[i], data[i], ptr, known ? &block : NULL);

		/* A host pointer that is none is no failure here: it stays NULL. */
		if (result != CUDA_SUCCESS && (int)attributes[i] != OF_HOST_POINTER)
			return result;
	}
	return CUDA_SUCCESS;
}
