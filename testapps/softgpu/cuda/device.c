/* cuDevice*: devices, and the primary context of each. A CUdevice is the runtime's device number. */
#include "cuda_private.h"

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	if (device == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_exists(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	if (count == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*count = sg_device_count();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	if (name == NULL || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sg_device_name(name, (size_t)len, dev);
	return CUDA_SUCCESS;
}

static CUresult uuid_of(CUuuid *uuid, CUdevice dev)
{
	if (uuid == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sg_device_uuid(uuid->bytes, dev);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return uuid_of(uuid, dev);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return uuid_of(uuid, dev);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	if (bytes == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = sg_memory_limit();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_device_attribute(pi, (enum cudaDeviceAttr)(int)attrib, dev));
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult result;

	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	result = sg_driver_result(sg_device_attribute(major, cudaDevAttrComputeCapabilityMajor, dev));
	if (result != CUDA_SUCCESS)
		return result;
	return sg_driver_result(sg_device_attribute(minor, cudaDevAttrComputeCapabilityMinor, dev));
}

CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return sg_driver_result(sg_device_bus_id(pciBusId, len, dev));
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return sg_driver_result(sg_can_access_peer(canAccessPeer, dev, peerDev));
}

/* ---- memory pools of devices ---- */

static CUresult pool_of(CUmemoryPool *out, CUdevice dev, struct sg_memory_pool *(*find)(int device))
{
	if (out == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUmemoryPool)(void *)find(dev);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return pool_of(pool_out, dev, sg_memory_pool_default);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return pool_of(pool, dev, sg_memory_pool_current);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_VALUE, SG_NEED_INIT);
	return sg_driver_result(sg_memory_pool_make_current(dev, sg_memory_pool_of(pool)));
}

/* ---- primary contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_OUT_OF_MEMORY, SG_NEED_INIT);
	if (pctx == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sg_context_retain(sg_context_primary(dev));
	*pctx = sg_context_handle(sg_context_primary(dev));
	return CUDA_SUCCESS;
}

static CUresult release(CUdevice dev)
{
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return sg_driver_result(sg_context_release(sg_context_primary(dev)));
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return release(dev);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return release(dev);
}

static CUresult reset(CUdevice dev)
{
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	sg_context_reset(sg_context_primary(dev));
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return reset(dev);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_CONTEXT, SG_NEED_INIT);
	return reset(dev);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags == NULL || active == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = sg_context_primary(dev)->flags;
	*active = atomic_load(&sg_context_primary(dev)->active);
	return CUDA_SUCCESS;
}

static CUresult set_flags(CUdevice dev, unsigned flags)
{
	if (!sg_device_exists(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if ((flags & ~SG_CONTEXT_FLAGS) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	sg_context_primary(dev)->flags = flags;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return set_flags(dev, flags);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	SG_DRIVER_AS(CUDA_ERROR_INVALID_DEVICE, SG_NEED_INIT);
	return set_flags(dev, flags);
}
