/*
 * A program that makes new operations without end, because something in them never comes again, would pay for a
 * description in each call. What comes in the first seconds is what any program has to say of itself; they begin
 * with its first operation, as a large program may import its libraries for as long.
 */
#include "budget.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "guest/clock.h"
#include "guest/settings_hook.h"
#include "guest/thread.h"
#include "trace/write.h"

#define FREE_NS 10000000000u
#define MORE_NS 1000000000u /* beyond them: on a busy machine ten seconds are short */
#define NO_LIMIT 100 /* percent */

static _Atomic uint64_t spent; /* in ticks, after the first seconds */
static _Atomic uint64_t run;   /* when the run began that it was spent in: a child of fork has another */
static _Atomic uint64_t first; /* ns, when that run's first operation came */

/* Ticks that may be spent by now; UINT64_MAX: the run is in its first seconds, or there is no limit. */
static uint64_t allowed(void)
{
	const unsigned long percent = strtoul(pmh_settings.new_share, NULL, 10);
	uint64_t ticks, ns, now, passed;

	if (!pmh_trace_begin(&ticks, &ns))
		return UINT64_MAX;
	now = pmh_monotonic_ns();
	if (atomic_exchange(&run, ticks) != ticks) {
		atomic_store(&spent, 0);
		atomic_store(&first, now);
	}
	if (now <= ns || now - atomic_load(&first) < FREE_NS || percent == NO_LIMIT)
		return UINT64_MAX;
	passed = pmh_ticks() - ticks;
	return passed / 100 * percent + (uint64_t)((double)passed / (double)(now - ns) * MORE_NS);
}

bool pmh_budget_left(void)
{
	return atomic_load(&spent) < allowed();
}

void pmh_budget_spent(struct pmh_moment begin)
{
	pmh_new_cost_since(&pmh_self.new_cost, begin);
	if (allowed() != UINT64_MAX)
		atomic_fetch_add(&spent, pmh_ticks() - begin.ticks);
}
