/*
 * The state has a page of its own, which is zero in a child: so one that was made without fork's handlers, by
 * clone or _Fork, does not write into its parent's trace.
 */
#include "state.h"

#include <assert.h>

#include "guest.h"

#ifdef __x86_64__
#define PAGE_BYTES 4096
#else
#define PAGE_BYTES 65536
#endif
static union {
	_Atomic int state;
	char page[PAGE_BYTES];
} wiped __attribute__((aligned(PAGE_BYTES), used));
extern _Atomic int pmh_state __attribute__((alias("wiped")));
static_assert(PMH_UNDECIDED == 0, "what a child begins with");

void pmh_state_wipe_on_fork(void)
{
	pmh_wipe_on_fork(&wiped, sizeof wiped);
}
