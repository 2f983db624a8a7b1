/*
 * Which device memory a launch works on: the device addresses among its arguments, or in a table that is
 * copied to the device for it, packed as the trace has them (struct pm_touch). Off the samples
 * (trace/sample.h) nothing is looked at.
 */
#ifndef TOUCH_H
#define TOUCH_H

#include <stddef.h>
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
	if (__builtin_expect(!atomic_load_explicit(&pmh_sample_on, memory_order_relaxed), 1) ||
		!atomic_load_explicit(&pmh_sample_kernels, memory_order_relaxed))
		return 0;
	return pmh_touches_sampled(function, arguments, extra);
}

uint8_t pmh_table_sampled(const void *source, size_t byte_count);

/*
 * Looks at what a copy is about to take to the device, if it may be a table of addresses: words of 8 bytes,
 * not more than a launch has arguments. `direction` is the runtime's. The source may be anything: what cannot
 * be read is not looked at. Returns flags as pmh_touches does.
 */
PMH_INLINE uint8_t pmh_table_touches(const void *source, size_t byte_count, int direction)
{
	if (__builtin_expect(!atomic_load_explicit(&pmh_sample_on, memory_order_relaxed), 1) ||
		!atomic_load_explicit(&pmh_sample_kernels, memory_order_relaxed) ||
		direction != PM_DIRECTION_H2D || byte_count > PM_TOUCH_WORDS * sizeof(uint64_t))
		return 0;
	return pmh_table_sampled(source, byte_count);
}

struct pmh_thread;
void pmh_touch_leave(struct pmh_thread *thread); /* the thread ends */
void pmh_touch_forget(void);                     /* in a child after fork */

#endif
