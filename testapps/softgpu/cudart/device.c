/* Devices: counting, choosing, describing, synchronising and resetting them; versions, profiler switches. */
#include "cudart_private.h"

#include <cuda_profiler_api.h>
#include <stdio.h>
#include <string.h>

#define VERSION 13000

cudaError_t cudaGetDeviceCount(int *count)
{
	SG_ENTER(cudaErrorNoDevice);
	if (count == NULL)
		return sg_result(cudaErrorInvalidValue);
	*count = sg_device_count();
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
	SG_ENTER_AS(cudaErrorInvalidDevice, SG_CALL_HOST);
	if (sg_ready() != 0)
		return sg_result(cudaErrorInitializationError);
	if (device < 0 || device >= sg_device_count())
		return sg_result(cudaErrorInvalidDevice);
	sg_context_bind(device);
	return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
	SG_ENTER_AS(cudaErrorInvalidValue, SG_CALL_HOST);
	if (sg_ready() != 0)
		return sg_result(cudaErrorInitializationError);
	if (device == NULL)
		return sg_result(cudaErrorInvalidValue);
	*device = sg_self.device;
	return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidValue);
	/* Schedule (1, 2, 4), map host (8), local memory resize (16), synchronous copies (128). */
	if ((flags & ~0x9fu) != 0)
		return sg_result(cudaErrorInvalidValue);
	return cudaSuccess;
}

RUNTIME(cudaDeviceSynchronize, (), cudaErrorLaunchFailure, sg_device_synchronize(sg_self.device))

cudaError_t cudaDeviceReset(void)
{
	SG_ENTER_AS(cudaErrorUnknown, SG_CALL_HOST);
	if (sg_ready() != 0)
		return sg_result(cudaErrorInitializationError);
	sg_context_reset(sg_context_primary(sg_self.device));
	sg_self.last_error = cudaSuccess;
	return cudaSuccess;
}

/* The properties that are attributes too, by the attribute's number. */
static void fill_from_attributes(struct cudaDeviceProp *prop, int device)
{
	const struct {
		int *to;
		int attribute;
	} numbers[] = {{&prop->regsPerBlock, 12}, {&prop->warpSize, 10}, {&prop->maxThreadsPerBlock, 1},
		{&prop->maxThreadsDim[0], 2}, {&prop->maxThreadsDim[1], 3}, {&prop->maxThreadsDim[2], 4},
		{&prop->maxGridSize[0], 5}, {&prop->maxGridSize[1], 6}, {&prop->maxGridSize[2], 7},
		{&prop->major, 75}, {&prop->minor, 76}, {&prop->multiProcessorCount, 16},
		{&prop->canMapHostMemory, 19}, {&prop->concurrentKernels, 31}, {&prop->pciBusID, 33},
		{&prop->asyncEngineCount, 40}, {&prop->unifiedAddressing, 41}, {&prop->memoryBusWidth, 37},
		{&prop->l2CacheSize, 38}, {&prop->maxThreadsPerMultiProcessor, 39},
		{&prop->streamPrioritiesSupported, 78}, {&prop->regsPerMultiprocessor, 82},
		{&prop->managedMemory, 83}, {&prop->concurrentManagedAccess, 89},
		{&prop->cooperativeLaunch, 95}, {&prop->maxBlocksPerMultiProcessor, 106},
		{&prop->memoryPoolsSupported, 115}};
	const struct {
		size_t *to;
		int attribute;
	} sizes[] = {{&prop->sharedMemPerBlock, 8}, {&prop->memPitch, 11}, {&prop->totalConstMem, 9},
		{&prop->textureAlignment, 14}, {&prop->texturePitchAlignment, 51},
		{&prop->sharedMemPerMultiprocessor, 81}, {&prop->sharedMemPerBlockOptin, 97},
		{&prop->reservedSharedMemPerBlock, 111}};
	int value = 0;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sg_device_attribute(numbers[i].to, (enum cudaDeviceAttr)numbers[i].attribute, device);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sg_device_attribute(&value, (enum cudaDeviceAttr)sizes[i].attribute, device);
		*sizes[i].to = (size_t)value;
	}
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	SG_ENTER(cudaErrorInvalidDevice);
	if (prop == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (device < 0 || device >= sg_device_count())
		return sg_result(cudaErrorInvalidDevice);
	memset(prop, 0, sizeof(*prop));
	sg_device_name(prop->name, sizeof(prop->name), device);
	prop->totalGlobalMem = sg_memory_limit();
	fill_from_attributes(prop, device);
	sg_device_uuid(prop->uuid.bytes, device);
	return cudaSuccess;
}

RUNTIME(cudaDeviceGetPCIBusId, (char *, pciBusId, int, len, int, device), cudaErrorInvalidDevice,
	sg_device_bus_id(pciBusId, len, device))
RUNTIME(cudaDeviceGetAttribute, (int *, value, enum cudaDeviceAttr, attr, int, device), cudaErrorInvalidValue,
	sg_device_attribute(value, attr, device))
RUNTIME(cudaDeviceCanAccessPeer, (int *, canAccessPeer, int, device, int, peerDevice), cudaErrorInvalidDevice,
	sg_can_access_peer(canAccessPeer, device, peerDevice))
RUNTIME(cudaDeviceEnablePeerAccess, (int, peerDevice, unsigned int, flags), cudaErrorInvalidDevice,
	sg_enable_peer(peerDevice, flags))

static cudaError_t version(int *out)
{
	if (out == NULL)
		return cudaErrorInvalidValue;
	*out = VERSION;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
	SG_ENTER_AS(cudaErrorInvalidValue, SG_CALL_HOST);
	return sg_result(version(runtimeVersion));
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
	SG_ENTER_AS(cudaErrorInvalidValue, SG_CALL_HOST);
	return sg_result(version(driverVersion));
}

cudaError_t cudaProfilerStart(void)
{
	SG_ENTER(cudaErrorUnknown);
	return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
	SG_ENTER(cudaErrorUnknown);
	return cudaSuccess;
}
