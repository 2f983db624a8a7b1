/* cuMemAddressReserve, cuMemCreate, cuMemMap and what belongs to them: addresses and memory apart
 * (calls/virtual.h). */
#include "cuda_private.h"
#include "calls/virtual.h"

#include <assert.h>

static_assert(sizeof(CUmemAllocationProp) == SG_DESCRIBED_BYTES, "what is kept of a handle");

/* Of a device (1), with no way to hand it to other processes. */
static CUresult check_properties(const CUmemAllocationProp *prop)
{
	if (prop == NULL || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if ((int)prop->location.type != 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	return sg_device_exists(prop->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemGetAllocationGranularity(
	size_t *granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)
{
	CUresult result;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	result = check_properties(prop);
	if (result != CUDA_SUCCESS)
		return result;
	if (granularity == NULL || (unsigned)option > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = SG_GRANULARITY;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
	unsigned long long flags)
{
	uint64_t made = 0;
	CUresult result;

	SG_DRIVER_AS(CUDA_ERROR_OUT_OF_MEMORY, SG_NEED_INIT);
	result = check_properties(prop);
	if (result != CUDA_SUCCESS)
		return result;
	if (handle == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_driver_result(sg_physical_create(&made, size, prop->location.id, prop));
	if (result == CUDA_SUCCESS)
		*handle = made;
	return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_physical_release(handle));
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	uint64_t found = 0;
	CUresult result;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (handle == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_driver_result(sg_physical_at(&found, addr));
	if (result == CUDA_SUCCESS)
		*handle = found;
	return result;
}

CUresult cuMemGetAllocationPropertiesFromHandle(
	CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (prop == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_physical_describe(handle, prop));
}

/* A wish for an address is not granted, as the vendor's documentation allows. */
CUresult cuMemAddressReserve(
	CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
	void *address = NULL;
	CUresult result;

	SG_DRIVER_AS(CUDA_ERROR_OUT_OF_MEMORY, SG_NEED_INIT);
	(void)addr;
	if (ptr == NULL || flags != 0 || (alignment & (alignment - 1)) != 0 || alignment > SG_GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	result = sg_driver_result(sg_range_reserve(&address, size));
	if (result == CUDA_SUCCESS)
		*ptr = sg_address(address);
	return result;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_range_free(sg_pointer(ptr), size));
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
	unsigned long long flags)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (offset != 0 || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_map(sg_pointer(ptr), size, handle));
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_unmap(sg_pointer(ptr), size));
}

/* Every device reads and writes what is mapped. */
CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	struct sg_block block;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (desc == NULL || count == 0 || size == 0 || !sg_block_find(sg_pointer(ptr), &block) ||
		!block.reserved)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
	struct sg_block block;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (flags == NULL || location == NULL || !sg_block_find(sg_pointer(ptr), &block) || !block.reserved)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = 3;
	return CUDA_SUCCESS;
}
