/*
 * What the recording costs the program, measured in the run itself (PMHOOK_COST=measure): for some seconds,
 * once the loop is steady, stretches with recording and without take turns, and each is written to the trace
 * with its time and the calls that one thread made in it (struct pm_entry_turn). Without recording, calls of
 * work are let through at once; those that later calls depend on, such as the making of descriptors, are
 * still looked at; device times are off. Any thread; errno stays.
 */
#ifndef TURNS_H
#define TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "guest/resolve.h"
#include "guest/thread.h"
#include "pm_hooks.h"

extern _Atomic bool pmh_resting; /* calls of work are let through */

/* Whether calls of this kind are let through then: nothing depends on having seen them. Calls of
 * communication are counted, so that those of all ranks can be matched. */
PMH_INLINE bool pmh_may_rest(enum pm_kind kind, enum pm_role role)
{
	const bool is_work = pmh_runs_on_device(kind) && kind != PM_KIND_COMM && kind != PM_KIND_SEARCH;

	return is_work || (kind == PM_KIND_SYNC && role != PM_ROLE_RESETS_DEVICE);
}

PMH_INLINE bool pmh_rests(enum pm_kind kind, enum pm_role role)
{
	return pmh_may_rest(kind, role) &&
	       __builtin_expect(atomic_load_explicit(&pmh_resting, memory_order_relaxed), 0);
}

/* The thread comes to a call that is let through, with the wrapper's mark; and returns from it. */
struct pmh_thread *pmh_rest_begin(const uint64_t *mark);
void pmh_rest_end(struct pmh_thread *self, const uint64_t *mark);

/* Reads the setting, when recording begins. And at the end of the process. */
void pmh_turns_init(void);
void pmh_turns_finish(void);

/* Looks whether it is another stretch's turn: now and then, by each thread. */
void pmh_turns_look(struct pmh_thread *self);
extern bool pmh_turns_wanted;
static inline void pmh_turns_check(struct pmh_thread *self)
{
	if (__builtin_expect(pmh_turns_wanted, 0))
		pmh_turns_look(self);
}

#endif
