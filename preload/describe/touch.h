/*
 * Which device memory a launch works on: the device addresses among its arguments, packed as the trace has
 * them (struct pm_touch). Off the samples (trace/sample.h) nothing is looked at.
 */
#ifndef TOUCH_H
#define TOUCH_H

#include <stdint.h>

#include "guest/attribute.h"
#include "pm_format.h"
#include "trace/sample.h"

uint8_t pmh_touches_sampled(const void *function, void **arguments, void **extra);

/*
 * Looks at the arguments of a launch that is about to be made: pointers to each, or the driver's `extra`
 * list; either may be NULL. Returns the flags of its record: PM_FLAG_TOUCHES if the thread has the list ready
 * for it, else 0.
 */
PMH_INLINE uint8_t pmh_touches(const void *function, void **arguments, void **extra)
{
	if (__builtin_expect(!atomic_load_explicit(&pmh_sample_on, memory_order_relaxed), 1))
		return 0;
	return pmh_touches_sampled(function, arguments, extra);
}

struct pmh_thread;
void pmh_touch_leave(struct pmh_thread *thread); /* the thread ends */
void pmh_touch_forget(void);                     /* in a child after fork */

#endif
