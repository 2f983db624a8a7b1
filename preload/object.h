/*
 * What is known of the vendor's objects (streams, handles, descriptors, communicators, kernels), by their
 * addresses.
 *
 * An object that is made at the address of a destroyed one is set up again before use, so nothing is ever
 * taken out, and destroying is not watched. Look-ups take no lock. Fields of an object are written by the
 * thread that sets it up, before others use it.
 */
#ifndef OBJECT_H
#define OBJECT_H

#include "hook.h"

#define OBJECTS (1u << 14)
#define DESCRIPTOR_VALUES 28

/* What calls ask for comes first, in one cache line. */
struct object {
	_Alignas(64) _Atomic uintptr_t address;
	_Atomic uint32_t number; /* of a descriptor, string or communicator in this trace, 0: not yet */
	_Atomic uint16_t queue;  /* a stream's or a handle's number, 0: not asked yet */
	uint16_t kind;           /* enum pm_descriptor_kind */
	cudaStream_t stream;     /* a handle's */
	int device;              /* a stream's, a handle's or a communicator's */
	bool device_pointers;    /* a cuBLAS handle's scalars lie on the device */
	uint16_t value_count;
	int rank, size;   /* a communicator's */
	uint64_t hash;    /* a communicator's */
	unsigned splits;  /* a communicator's, so far */
	const char *name; /* a kernel's */
	int64_t values[DESCRIPTOR_VALUES];
};

extern struct object pmh_objects[OBJECTS];

/* The object at an address; with `make`, one is made. NULL: not known, or the table is full. */
static inline struct object *object_of(const void *address, bool make)
{
	uintptr_t wanted = (uintptr_t)address;
	unsigned i = (unsigned)((wanted >> 3) * 0x9e3779b1u >> 7) % OBJECTS;

	if (!wanted)
		return NULL;
	for (unsigned tries = 0; tries < 64; tries++, i = (i + 1) % OBJECTS) {
		uintptr_t there = atomic_load_explicit(&pmh_objects[i].address, memory_order_acquire);

		if (there == wanted)
			return &pmh_objects[i];
		if (there)
			continue;
		if (!make)
			return NULL;
		if (atomic_compare_exchange_strong(&pmh_objects[i].address, &there, wanted) ||
			there == wanted)
			return &pmh_objects[i];
	}
	return NULL;
}

#endif
