/* What the calls about devices do: attributes, synchronising, peer access. See calls.h. */
#include "calls.h"
#include "core/model.h"

#include <stdio.h>
#include <string.h>

cudaError_t sg_device_synchronize(int device)
{
	cudaError_t error = sg_capture_refuse_device(device);

	if (error != cudaSuccess)
		return error;
	sg_device_drain(device);
	return sg_device_error(device);
}

/* Attributes by the numbers of enum cudaDeviceAttr; all others up to ATTRIBUTE_LIMIT are 0. A memory clock is
 * not among them: no rate follows from it. */
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
	{38, 1 << 20},                       /* second-level cache */
	{39, 2048},                          /* threads per multiprocessor */
	{40, 2},                             /* copy engines */
	{41, 1},                             /* unified addressing */
	{51, 32},                            /* texture pitch alignment */
	{75, 9},                             /* compute capability */
	{76, 0}, {78, 1},                    /* stream priorities */
	{81, 233472},                        /* shared memory per multiprocessor */
	{82, 65536},                         /* registers per multiprocessor */
	{83, 1},                             /* managed memory */
	{89, 1},                             /* concurrent managed access */
	{95, 1},                             /* cooperative launch */
	{97, 232448},                        /* shared memory per block, by choice */
	{102, 1},                            /* memory without an address of its own (calls/virtual.c) */
	{106, 32},                           /* blocks per multiprocessor */
	{111, 1024},                         /* shared memory that a block has besides its own */
	{115, 1},                            /* memory pools */
	{120, 1},                            /* clusters of blocks */
};

/* The clock at which the profile's units reach its peak: 128 of FP32 in a multiprocessor from 8.6 on, 64
 * before; a multiplication and an addition a clock. In kHz, of the device as it is without a scale. */
static int modelled_clock(void)
{
	double capability = 10 * sg_profile.capability_major + sg_profile.capability_minor;

	return (int)(sg_profile.peak[SG_COST_F32] * sg_time_scale /
		     (2 * (capability >= 86 ? 128 : 64) * sg_profile.multiprocessors) * 1e6);
}

/* Those that the profile knows. */
static void modelled_attribute(int *value, enum cudaDeviceAttr attr)
{
	switch ((int)attr) {
	case 13:
		*value = modelled_clock();
		break;
	case 36: /* memory moves data twice a clock; a profile without a bus has none */
		*value = sg_profile.memory_bus_bits > 0 ? (int)(sg_profile.memory_rate * sg_time_scale * 8 /
								  (2 * sg_profile.memory_bus_bits) * 1e6)
							: 0;
		break;
	case 37:
		*value = (int)sg_profile.memory_bus_bits;
		break;
	case 16:
		*value = (int)sg_profile.multiprocessors;
		break;
	case 75:
		*value = (int)sg_profile.capability_major;
		break;
	case 76:
		*value = (int)sg_profile.capability_minor;
		break;
	case 120:
		*value = sg_capability() >= 90;
		break;
	default:
		break;
	}
}

cudaError_t sg_device_attribute(int *value, enum cudaDeviceAttr attr, int device)
{
	if (value == NULL || (int)attr <= 0 || (int)attr > ATTRIBUTE_LIMIT)
		return cudaErrorInvalidValue;
	if (device < 0 || device >= sg_device_count())
		return cudaErrorInvalidDevice;
	*value = 0;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].attribute == (int)attr)
			*value = attributes[i].value;
	}
	if ((int)attr == 16) /* multiprocessors */
		*value = sg_threads();
	if (sg_modelled() && sg_ready() == 0)
		modelled_attribute(value, attr);
	if ((int)attr == 33) /* bus number */
		*value = sg_device_place(device) + 1;
	return cudaSuccess;
}

void sg_device_name(char *name, size_t room, int device)
{
	if (sg_modelled() && sg_ready() == 0)
		snprintf(name, room, "%s", sg_profile.name);
	else
		snprintf(name, room, "softgpu %d", device);
}

void sg_device_uuid(char bytes[16], int device)
{
	memset(bytes, 0, 16);
	memcpy(bytes, "softgpu", 7);
	bytes[15] = (char)(sg_device_place(device) + 1);
}

cudaError_t sg_device_bus_id(char *text, int room, int device)
{
	if (text == NULL || room <= 0)
		return cudaErrorInvalidValue;
	if (device < 0 || device >= sg_device_count())
		return cudaErrorInvalidDevice;
	return snprintf(text, (size_t)room, "0000:%02x:00.0", (unsigned)sg_device_place(device) + 1) < room
		       ? cudaSuccess
		       : cudaErrorInvalidValue;
}

cudaError_t sg_can_access_peer(int *canAccessPeer, int device, int peerDevice)
{
	if (canAccessPeer == NULL)
		return cudaErrorInvalidValue;
	if (device < 0 || device >= sg_device_count() || peerDevice < 0 || peerDevice >= sg_device_count())
		return cudaErrorInvalidDevice;
	*canAccessPeer = device != peerDevice;
	return cudaSuccess;
}

cudaError_t sg_enable_peer(int peerDevice, unsigned int flags)
{
	static _Atomic uint64_t enabled[SG_DEVICE_LIMIT];

	if (flags != 0)
		return cudaErrorInvalidValue;
	if (peerDevice < 0 || peerDevice >= sg_device_count() || peerDevice == sg_self.device)
		return cudaErrorInvalidDevice;
	if (atomic_fetch_or(&enabled[sg_self.device], (uint64_t)1 << peerDevice) & (uint64_t)1 << peerDevice)
		return cudaErrorPeerAccessAlreadyEnabled;
	return cudaSuccess;
}
