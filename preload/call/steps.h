/*
 * Steps of the training, as far as they show in the calls of one thread: for the figures of now
 * (trace/live.h) alone. Once the last operations repeat with some period, one that the period has once is the
 * mark of a step; from then on a call costs one comparison.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stdatomic.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "guest/thread.h"
#include "pm_hooks.h"

/* When recording begins. And a thread ends. */
void pmh_steps_begin(void);
void pmh_steps_leave(const struct pmh_thread *self);

extern const struct pmh_thread
	*_Atomic pmh_steps_thread; /* that is watched: the first that gives a device work */
extern uint32_t pmh_steps_mark;    /* the operation; 0: not found yet */
extern uint32_t pmh_steps_unseen;  /* calls since it came */
extern uint32_t pmh_steps_patience;
void pmh_steps_see_slowly(const struct pmh_thread *self, uint32_t op, enum pm_kind kind, uint64_t ticks);

/* A call that gives a device work, or waits for it, has returned, at that time. */
PMH_INLINE void pmh_steps_see(const struct pmh_thread *self, uint32_t op, enum pm_kind kind, uint64_t ticks)
{
	const struct pmh_thread *thread = atomic_load_explicit(&pmh_steps_thread, memory_order_relaxed);

	if (thread && thread != self)
		return;
	if (__builtin_expect(thread && pmh_steps_mark && op != pmh_steps_mark &&
				     ++pmh_steps_unseen < pmh_steps_patience,
		    1))
		return;
	pmh_steps_see_slowly(self, op, kind, ticks);
}

#endif
