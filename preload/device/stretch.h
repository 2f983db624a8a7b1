/*
 * When device times are taken: in the whole run, or (PMHOOK_DEVICE=auto) in the first minute from the first
 * work for a device on, and then in stretches that make up a share of the time (PMHOOK_DEVICE_SHARE). They
 * lie where the wall clock says, so that all ranks have them together: one that alone was slower would hold
 * up the others in each of its own.
 *
 * Calls are recorded all the time; outside of a stretch they have no correlation. Any thread.
 */
#ifndef STRETCH_H
#define STRETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "guest/thread.h"

/* Reads the settings; device times are taken from now on. With the trace's opening. */
void pmh_stretch_init(void);

/* Whether device times are to be taken now; and for how many ns more that holds, -1: for ever. The first call
 * begins the first minute. */
bool pmh_stretch_wanted(long *left_ns);

/* Device times are taken from here on, or not any more: says so in the trace. Nothing if it is so already. */
void pmh_stretch_turn(bool taken);

/* They are taken whatever the clock says, or again as it says. */
void pmh_stretch_hold(bool hold);

/* Where pairs of events are used: sees whether it is time to turn. */
void pmh_stretch_look(void);

#define PMH_STRETCH_EVERY 16u /* calls of a thread between looks */

extern bool pmh_stretches;              /* there are any: not all of the run is one */
extern _Atomic bool pmh_stretch_is_off; /* device times are not taken */

/* Whether the work of the call that the thread is in has no device times because it is in no stretch. */
PMH_INLINE bool pmh_stretch_rests(struct pmh_thread *self)
{
	if (__builtin_expect(pmh_stretches, 1) && self->stretch_count++ % PMH_STRETCH_EVERY == 0)
		pmh_stretch_look();
	return atomic_load_explicit(&pmh_stretch_is_off, memory_order_relaxed);
}

#endif
