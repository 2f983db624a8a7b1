/*
 * The rings of event pairs, as event_time.c fills them around calls and event_collect.c empties them.
 */
#ifndef EVENT_RING_H
#define EVENT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/guest.h"
#include "guest/thread.h"
#include "pm_abi.h"

#define PMH_RING_SLOTS 1024u
enum pmh_slot_state {
	PMH_SLOT_FREE,    /* the owner may take it */
	PMH_SLOT_TAKEN,   /* between begin and end */
	PMH_SLOT_PENDING, /* recorded; belongs to the collector */
};

struct pmh_slot {
	cudaEvent_t begin, end; /* made once, used again */
	unsigned generation;    /* of the device, when they were made */
	uint32_t op, correlation;
	uint16_t queue;
	uint8_t flags;
	_Atomic uint8_t state;
};

struct pmh_ring {
	int device;
	_Atomic unsigned head; /* next slot to take; the owner's */
	unsigned tail;         /* oldest slot not free; the collector's */
	unsigned pair_count;   /* the owner's */
	struct pmh_slot empty; /* without work between, now and then: what a pair itself takes */
	struct pmh_slot slots[PMH_RING_SLOTS];
};

/* A device's clock: the time of a reference event, in ns near CLOCK_MONOTONIC. Under the collecting lock. */
extern struct pmh_event_clock {
	cudaEvent_t reference;
	int64_t reference_ns;
	bool has_happened;
	_Atomic unsigned generation;
	_Atomic int going; /* calls under way that may take its context away */
} pmh_event_clocks[PMH_DEVICES];

extern pmh_lock pmh_event_collecting;
extern _Atomic uint64_t pmh_event_count; /* pairs whose times are written */

/* How often the device's context went away. */
unsigned pmh_event_generation(int device);

/* Whether the slot's events may be touched: their context is there, and nobody is about to take it away. */
bool pmh_events_live(int device, const struct pmh_slot *slot);

#endif
