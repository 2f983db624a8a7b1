/*
 * PyTorch's callbacks (RecordFunction): operators, nodes of autograd's graph and ranges of the program, as
 * ranges.
 */
#ifndef RECORD_FUNCTION_H
#define RECORD_FUNCTION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "guest/attribute.h"
#include "guest/thread.h"
#include "trace/sample.h"

/* Once the process records. */
void pmh_framework_begin(void);

/*
 * After each hooked call of a thread that records: operators are recorded while a sample is under way
 * (trace/sample.h), so where one has begun or ended since, they begin to be, or are no longer. Looks for
 * PyTorch now and then, until it is there. No lock of ours may be held; errno stays.
 */
extern _Atomic unsigned pmh_framework_sample; /* pmh_sample_on, as it was last followed */
void pmh_framework_follow(void);
PMH_INLINE void pmh_framework_check(void)
{
	if (__builtin_expect(atomic_load_explicit(&pmh_framework_sample, memory_order_relaxed) !=
				     atomic_load_explicit(&pmh_sample_on, memory_order_relaxed),
		    0))
		pmh_framework_follow();
}

/* A thread has made so many hooked calls. */
void pmh_framework_seek(unsigned calls);

/* At exit, before the trace is closed: what PyTorch calls afterwards does nothing. */
void pmh_framework_finish(void);

/* Around a fork: a child does not pay for operators. In the child, self may be NULL. */
void pmh_framework_fork_prepare(void);
void pmh_framework_fork_parent(void);
void pmh_framework_forget(struct pmh_thread *self);

#endif
