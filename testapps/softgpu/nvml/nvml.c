/*
 * libnvidia-ml.so.1: the devices as the management library numbers them, which is by the machine and not by
 * CUDA_VISIBLE_DEVICES. A handle is a device's number + 1. What else programs ask for is not supported
 * (absent/nvidia-ml.def).
 */
#include "core/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUCCESS = 0,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7,
	ARGUMENT_VERSION = 25
};

/* The vendor's header is not part of the toolkit everywhere. */
int nvmlInit(void);
int nvmlInit_v2(void);
int nvmlInitWithFlags(unsigned flags);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlSystemGetDriverVersion(char *version, unsigned length);
int nvmlSystemGetNVMLVersion(char *version, unsigned length);
int nvmlSystemGetCudaDriverVersion(int *version);
int nvmlSystemGetCudaDriverVersion_v2(int *version);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
int nvmlDeviceGetIndex(const void *device, unsigned *index);
int nvmlDeviceGetCurrPcieLinkGeneration(const void *device, unsigned *generation);
int nvmlDeviceGetCurrPcieLinkWidth(const void *device, unsigned *width);

/* What is asked for, in its second and its third version: `version` has the size in bytes, and from bit 24 on
 * the number. */
struct fabric_info {
	unsigned version;
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state; /* 0: there is none, 3: the device has joined */
	unsigned health;
	unsigned char summary; /* from the third on */
};
int nvmlDeviceGetGpuFabricInfoV(const void *device, struct fabric_info *info);

int nvmlInit(void)
{
	return SUCCESS;
}

int nvmlInit_v2(void)
{
	return SUCCESS;
}

int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return SUCCESS;
}

int nvmlShutdown(void)
{
	return SUCCESS;
}

const char *nvmlErrorString(int result)
{
	switch (result) {
	case SUCCESS:
		return "Success";
	case INVALID_ARGUMENT:
		return "Invalid Argument";
	case NOT_SUPPORTED:
		return "Not Supported";
	case NOT_FOUND:
		return "Not Found";
	case INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case ARGUMENT_VERSION:
		return "Argument Version Mismatch";
	default:
		return "Unknown Error";
	}
}

static int write_text(char *to, unsigned length, const char *text)
{
	if (to == NULL)
		return INVALID_ARGUMENT;
	return snprintf(to, length, "%s", text) < (int)length ? SUCCESS : INSUFFICIENT_SIZE;
}

/* Of the driver that CUDA 13.0 came with. */
int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	return write_text(version, length, "580.65.06");
}

int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
	return write_text(version, length, "13.580.65.06");
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
	if (version == NULL)
		return INVALID_ARGUMENT;
	*version = 13000;
	return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return nvmlSystemGetCudaDriverVersion(version);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	if (count == NULL)
		return INVALID_ARGUMENT;
	*count = (unsigned)sg_machine_device_count();
	return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	if (device == NULL || index >= (unsigned)sg_machine_device_count())
		return INVALID_ARGUMENT;
	*device = (void *)(uintptr_t)(index + 1);
	return SUCCESS;
}

/* DOMAIN:BUS:DEVICE.FUNCTION; the bus is the number + 1 (sg_device_bus_id). */
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
	const char *colon = bus_id != NULL ? strchr(bus_id, ':') : NULL;
	unsigned long bus = colon != NULL ? strtoul(colon + 1, NULL, 16) : 0;

	if (colon == NULL || device == NULL)
		return INVALID_ARGUMENT;
	if (bus == 0 || bus > (unsigned long)sg_machine_device_count())
		return NOT_FOUND;
	*device = (void *)(uintptr_t)bus;
	return SUCCESS;
}

int nvmlDeviceGetIndex(const void *device, unsigned *index)
{
	if (device == NULL || index == NULL)
		return INVALID_ARGUMENT;
	*index = (unsigned)(uintptr_t)device - 1;
	return SUCCESS;
}

/* An A100's, whatever the profile: programs choose algorithms by it (XLA), and copies take the profile's
 * time. */
int nvmlDeviceGetCurrPcieLinkGeneration(const void *device, unsigned *generation)
{
	if (device == NULL || generation == NULL)
		return INVALID_ARGUMENT;
	*generation = 4;
	return SUCCESS;
}

int nvmlDeviceGetCurrPcieLinkWidth(const void *device, unsigned *width)
{
	if (device == NULL || width == NULL)
		return INVALID_ARGUMENT;
	*width = 16;
	return SUCCESS;
}

/* Of one machine, whose cluster and clique are zeros. From Hopper on: XLA ends the process if it fails there.
 */
int nvmlDeviceGetGpuFabricInfoV(const void *device, struct fabric_info *info)
{
	unsigned version;

	if (device == NULL || info == NULL)
		return INVALID_ARGUMENT;
	if (sg_ready() != 0 || sg_profile.capability_major < 9)
		return NOT_SUPPORTED;
	version = info->version & 0xffffff;
	if (version != offsetof(struct fabric_info, summary) && version != sizeof(*info))
		return ARGUMENT_VERSION;
	memset(info->cluster, 0, sizeof(info->cluster));
	info->status = SUCCESS;
	info->clique = 0;
	info->state = 3;
	info->health = 0;
	if (version == sizeof(*info))
		info->summary = 1; /* healthy */
	return SUCCESS;
}
