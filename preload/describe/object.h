/*
 * What is known of the vendor's objects (streams, handles, descriptors, communicators), by their addresses.
 *
 * Look-ups take no lock. Descriptors are taken out when they are destroyed, as programs make them for each
 * call; the rest stays, and what is made at the address of a destroyed one is set up again before use. Fields
 * of an object are written by the thread that sets it up, before others use it.
 */
#ifndef OBJECT_H
#define OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pm_abi.h"

#define OBJECTS (1u << 14)
#define OBJECT_TRIES 64u /* slots that are looked at */
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
	int rank, size;              /* a communicator's */
	uint64_t hash;               /* a communicator's */
	unsigned splits;             /* a communicator's, so far */
	_Atomic unsigned generation; /* a stream's: how many were destroyed at this address */
	int64_t values[DESCRIPTOR_VALUES];
};

extern struct object pmh_objects[OBJECTS];

#define OBJECT_GONE \
	((uintptr_t)1) /* in the place of an address: was taken out; a look-up goes on, a new object may \
			  take it */

/* Makes the object at an address, in a slot that was empty or gone when it was looked at. NULL: the table is
 * full. */
struct object *pmh_object_make(uintptr_t address);

/* An object is about to be destroyed. */
void pmh_object_gone(const void *address);

/* In a child after fork: numbers belong to the parent's trace. */
void pmh_objects_forget(void);

static inline unsigned object_slot(uintptr_t address)
{
	return (unsigned)((address >> 3) * 0x9e3779b1u >> 7) % OBJECTS;
}

/* The object at an address; with `make`, one is made. NULL: not known, or the table is full. */
static inline struct object *object_of(const void *address, bool make)
{
	uintptr_t wanted = (uintptr_t)address;
	unsigned i = object_slot(wanted);

	if (!wanted)
		return NULL;
	for (unsigned tries = 0; tries < OBJECT_TRIES; tries++, i = (i + 1) % OBJECTS) {
		uintptr_t there = atomic_load_explicit(&pmh_objects[i].address, memory_order_acquire);

		if (there == wanted)
			return &pmh_objects[i];
		if (!there)
			break;
	}
	return make ? pmh_object_make(wanted) : NULL;
}

#endif
