/* Devices: counting, choosing, describing, synchronising and resetting them; versions, profiler switches. */
#include "sg_rt.h"

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
	return sg_result(sg_set_device(device));
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

cudaError_t cudaDeviceSynchronize(void)
{
	cudaError_t error;

	SG_ENTER(cudaErrorLaunchFailure);
	error = sg_capture_refuse_device(sg_self.device);
	if (error != cudaSuccess)
		return sg_result(error);
	sg_device_drain(sg_self.device);
	return sg_result(sg_device_error(sg_self.device));
}

cudaError_t cudaDeviceReset(void)
{
	uint32_t used;

	SG_ENTER_AS(cudaErrorUnknown, SG_CALL_HOST);
	if (sg_ready() != 0)
		return sg_result(cudaErrorInitializationError);
	sg_device_drain(sg_self.device);
	sg_device_close_streams(sg_self.device);
	used = atomic_load(&sg_events.used);
	for (uint32_t i = 0; i < used; i++) {
		struct sg_event *event = sg_pool_at(&sg_events, i);

		if (atomic_load(&event->slot.live) != SG_SLOT_LIVE || event->device != sg_self.device)
			continue;
		pthread_mutex_lock(&event->lock);
		event->generation++;
		pthread_mutex_unlock(&event->lock);
		sg_pool_put(&sg_events, event);
	}
	sg_device_drain(sg_self.device);
	sg_block_free_device(sg_self.device);
	sg_device_clear_error(sg_self.device);
	sg_self.last_error = cudaSuccess;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	SG_ENTER(cudaErrorInvalidDevice);
	if (prop == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (device < 0 || device >= sg_device_count())
		return sg_result(cudaErrorInvalidDevice);
	memset(prop, 0, sizeof(*prop));
	snprintf(prop->name, sizeof(prop->name), "softgpu %d", device);
	prop->totalGlobalMem = sg_memory_limit();
	prop->multiProcessorCount = sg_threads();
	prop->major = 9;
	prop->minor = 0;
	prop->warpSize = 32;
	prop->maxThreadsPerBlock = 1024;
	return cudaSuccess;
}

/* Attributes by the numbers of enum cudaDeviceAttr; all others up to ATTRIBUTE_LIMIT are 0. */
#define ATTRIBUTE_LIMIT 150
static const struct {
	int attribute;
	int value;
} attributes[] = {
	{1, 1024},                           /* threads per block */
	{2, 1024},                           /* block dimension x, y, z */
	{3, 1024}, {4, 64}, {5, 2147483647}, /* grid dimension x, y, z */
	{6, 65535}, {7, 65535}, {8, 49152},  /* shared memory per block */
	{9, 65536},                          /* constant memory */
	{10, 32},                            /* warp size */
	{11, 2147483647},                    /* pitch */
	{12, 65536},                         /* registers per block */
	{13, 1000000},                       /* clock, kHz */
	{14, 512},                           /* texture alignment */
	{19, 1},                             /* maps host memory */
	{31, 1},                             /* concurrent kernels */
	{36, 1000000},                       /* memory clock, kHz */
	{37, 128},                           /* memory bus, bits */
	{38, 1 << 20},                       /* second-level cache */
	{39, 2048},                          /* threads per multiprocessor */
	{40, 2},                             /* copy engines */
	{41, 1},                             /* unified addressing */
	{75, 9},                             /* compute capability */
	{76, 0}, {78, 1},                    /* stream priorities */
	{81, 233472},                        /* shared memory per multiprocessor */
	{82, 65536},                         /* registers per multiprocessor */
	{83, 1},                             /* managed memory */
	{89, 1},                             /* concurrent managed access */
	{95, 1},                             /* cooperative launch */
	{97, 232448},                        /* shared memory per block, by choice */
	{115, 1},                            /* memory pools */
};

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	SG_ENTER(cudaErrorInvalidValue);
	if (value == NULL || (int)attr <= 0 || (int)attr > ATTRIBUTE_LIMIT)
		return sg_result(cudaErrorInvalidValue);
	if (device < 0 || device >= sg_device_count())
		return sg_result(cudaErrorInvalidDevice);
	*value = 0;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].attribute == (int)attr)
			*value = attributes[i].value;
	}
	if ((int)attr == 16) /* multiprocessors */
		*value = sg_threads();
	if ((int)attr == 33) /* bus number */
		*value = device + 1;
	return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
	SG_ENTER(cudaErrorInvalidDevice);
	if (canAccessPeer == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (device < 0 || device >= sg_device_count() || peerDevice < 0 || peerDevice >= sg_device_count())
		return sg_result(cudaErrorInvalidDevice);
	*canAccessPeer = device != peerDevice;
	return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	static _Atomic uint64_t enabled[SG_DEVICE_LIMIT];

	SG_ENTER(cudaErrorInvalidDevice);
	if (flags != 0)
		return sg_result(cudaErrorInvalidValue);
	if (peerDevice < 0 || peerDevice >= sg_device_count() || peerDevice == sg_self.device)
		return sg_result(cudaErrorInvalidDevice);
	if (atomic_fetch_or(&enabled[sg_self.device], (uint64_t)1 << peerDevice) & (uint64_t)1 << peerDevice)
		return sg_result(cudaErrorPeerAccessAlreadyEnabled);
	return cudaSuccess;
}

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
