/*
 * Around each call: what wrappers written by hand share with those of the table. In the calling thread.
 */
#ifndef HOOK_H
#define HOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "guest/state.h"
#include "guest/thread.h"
#include "pm_hooks.h"

/*
 * Whether the wrapper should record: true at depth 0 while recording. Decides the state at the first call;
 * the settings, the clock and whatever else was decided come with the state. `mark` is a word of the
 * wrapper's stack frame that holds PMH_MARK: a call at a greater depth is let through while the wrapper of
 * the outer one is there; if that was left by an exception, by longjmp or the like, the thread begins anew
 * with this call (call/left.c).
 */
bool pmh_wanted_slowly(const uint64_t *mark, const void *caller);
PMH_INLINE bool pmh_wanted(const uint64_t *mark)
{
	if (__builtin_expect(pmh_local.thread && pmh_self.depth == 0 &&
				     atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_RECORDING,
		    1))
		return true;
	return pmh_wanted_slowly(mark, __builtin_return_address(0));
}

/* Around the real call in a wrapper written by hand, after pmh_frame_begin; values[0] is the function that it
 * is recorded as. */
void pmh_call_begin(struct pmh_place place, const uint64_t *values, unsigned value_count);
void pmh_call_end(const uint64_t *mark, enum pm_call call, int result);

/* The wrapper of each row, NULL for rows that have none and for libc's. */
extern void *const pmh_wrappers[PM_CALL_COUNT];

#endif
