/*
 * Ranges: what the framework, a library or the program says that its thread is in. They go into the thread's
 * own chunk, between the records of its calls. Any thread, for itself; no lock but for a range that is new;
 * errno stays.
 */
#ifndef RANGE_H
#define RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "guest/thread.h"
#include "pm_format.h"

/* What a range is: struct pm_entry_range, with the text of its name. NULL or 0: none, or not known. */
struct pmh_range {
	enum pm_range_scope scope;
	const char *name;
	uint32_t domain, module, line; /* numbers of strings */
	uint32_t color;
};

/* Its number; 0: there is no room for more of them. */
uint32_t pmh_range_number(const struct pmh_range *range);

/*
 * Between these two the thread writes ranges; a call that a signal's handler makes meanwhile is seen to
 * interrupt the hook. False: nothing is to be written now, as the thread is in a hooked call, or nothing is
 * recorded. The mark lies on the caller's stack and holds PMH_MARK.
 */
bool pmh_range_may_write(const struct pmh_thread *self);
bool pmh_range_may_end(const struct pmh_thread *self); /* the same where recording is off for now: what has begun */
PMH_INLINE bool pmh_range_enter(struct pmh_thread *self, const uint64_t *mark)
{
	if (!pmh_range_may_write(self))
		return false;
	pmh_frame_begin(mark);
	return true;
}
PMH_INLINE void pmh_range_leave(struct pmh_thread *self)
{
	self->depth = 0;
}

/* Write a begin, and an end, between those two. Nothing is kept of them: of ranges that overlap. False: no
 * room. */
bool pmh_range_begin(
	struct pmh_thread *self, uint32_t range, uint32_t sequence, uint16_t thread, uint8_t flags);
bool pmh_range_end(struct pmh_thread *self, uint32_t sequence, uint8_t flags);

/*
 * The same of ranges that lie one in another: `of` tells the range from all others that the thread has open.
 * The begin stands between enter and leave, and is at `ticks`. The end may come at any moment; one whose
 * begin was not written, or which comes on another thread, is none. Ranges inside of one that ends have ended
 * too.
 */
void pmh_range_open(struct pmh_thread *self, const void *of, enum pm_range_scope scope, uint32_t range,
	uint32_t sequence, uint16_t thread, uint64_t ticks);
void pmh_range_close_slowly(struct pmh_thread *self, const void *of);

/*
 * The same of NVTX, whose ranges have names of nvtx_name.h (0: it is not recorded) and `domain` in place of an identity:
 * a pop ends the domain's innermost. They may come at any moment, before the process records too: a begin that cannot be
 * written is pending until the thread writes its next record or range, and has the time of its push. Of a push inside of a
 * hooked call, which is a library's, nothing is written. One that ends with a range around it waits for its pop.
 */
void pmh_range_push(struct pmh_thread *self, const void *domain, uint16_t name);
void pmh_range_pop(struct pmh_thread *self, const void *domain);

/* Writes the starts that are pending, where the thread may write (it may be at the start of a call). */
void pmh_range_catch_up(struct pmh_thread *self);

/* In a child after fork, where NVTX's are open still. self may be NULL. */
void pmh_range_forget(struct pmh_thread *self);

PMH_INLINE const struct pmh_open_range *pmh_range_innermost(const struct pmh_thread *self)
{
	static const struct pmh_open_range none;
	const unsigned count = self->ranges.open_count;

	return count ? &self->ranges.open[count - 1] : &none;
}

/* Most ends are of ranges that were not written. */
PMH_INLINE void pmh_range_close(struct pmh_thread *self, const void *of)
{
	for (unsigned i = self->ranges.open_count; i-- > 0;)
		if (__builtin_expect(self->ranges.open[i].of == of, 0)) {
			pmh_range_close_slowly(self, of);
			return;
		}
}

#endif
