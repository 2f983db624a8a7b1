/*
 * What devices are: name, capability, units, clocks, memory, for the rates that they could reach.
 *
 * The driver is asked, never the runtime: its questions need no context, make none, are allowed while a
 * stream is being captured, and leave no error behind for the host to find. A device is asked for when an
 * operation is new, until the driver answers: before the host's first call has started it, it does not.
 */
#include "device.h"

#include <string.h>

#include "guest/resolve.h"
#include "guest/thread.h"
#include "trace/intern.h"

#define TRIES 64 /* new operations of a device, after which it is given up */
#define GIVEN_UP UINT8_MAX

static _Atomic uint8_t tries[PMH_DEVICES]; /* GIVEN_UP: nothing is left to do */

/* Where an answer goes. */
static const struct {
	CUdevice_attribute attribute;
	size_t offset;
} wanted[] = {
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, offsetof(struct pm_entry_device, capability_major)},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, offsetof(struct pm_entry_device, capability_minor)},
	{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, offsetof(struct pm_entry_device, multiprocessors)},
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, offsetof(struct pm_entry_device, clock_khz)},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, offsetof(struct pm_entry_device, memory_clock_khz)},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, offsetof(struct pm_entry_device, memory_bus_bits)},
};

struct questions {
	CUresult (*get)(CUdevice *, int);
	CUresult (*name)(char *, int, CUdevice);
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*memory)(size_t *, CUdevice);
};

static bool ask(int ordinal, struct pm_entry_device *entry, char *name, int name_bytes)
{
	struct questions q;
	CUdevice device;
	size_t memory;

	*(void **)&q.get = pmh_real_driver("cuDeviceGet");
	*(void **)&q.name = pmh_real_driver("cuDeviceGetName");
	*(void **)&q.attribute = pmh_real_driver("cuDeviceGetAttribute");
	*(void **)&q.memory = pmh_real_driver("cuDeviceTotalMem_v2");
	if (!q.get || !q.name || !q.attribute || q.get(&device, ordinal) != CUDA_SUCCESS ||
		q.name(name, name_bytes, device) != CUDA_SUCCESS)
		return false;
	for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
		int value = 0;

		if (q.attribute(&value, wanted[i].attribute, device) != CUDA_SUCCESS)
			value = 0;
		memcpy((char *)entry + wanted[i].offset, &value, sizeof value);
	}
	if (q.memory && q.memory(&memory, device) == CUDA_SUCCESS)
		entry->memory_bytes = memory;
	return true;
}

void pmh_device_describe(int ordinal)
{
	struct pm_entry_device entry = {.device = ordinal};
	char name[256] = "";
	uint8_t before;

	if (ordinal < 0 || ordinal >= PMH_DEVICES)
		return;
	before = atomic_load_explicit(&tries[ordinal], memory_order_relaxed);
	if (before == GIVEN_UP || !atomic_compare_exchange_strong(&tries[ordinal], &before,
					  before + 1 < TRIES ? (uint8_t)(before + 1) : GIVEN_UP))
		return;
	if (!ask(ordinal, &entry, name, sizeof name))
		return;
	/* another thread may have come as far: one of the two writes */
	if (atomic_exchange(&tries[ordinal], GIVEN_UP) == GIVEN_UP && before + 1 < TRIES)
		return;
	name[sizeof name - 1] = 0;
	pmh_device_entry(&entry, name);
}

/* In a child after fork: its trace knows of no device yet. */
void pmh_device_describe_forget(void)
{
	for (unsigned i = 0; i < PMH_DEVICES; i++)
		atomic_store_explicit(&tries[i], 0, memory_order_relaxed);
}
