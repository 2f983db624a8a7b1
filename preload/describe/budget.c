/*
 * A program that makes new operations without end, because something in them never comes again, would pay for a
 * description in each call. What comes in the first seconds is what any program has to say of itself.
 */
#include "budget.h"

#include <stdatomic.h>

#include "guest/clock.h"
#include "guest/thread.h"
#include "trace/write.h"

#define FREE_NS 10000000000u
#define PART 100 /* of the run's time */

static _Atomic uint64_t spent; /* in ticks, after the first seconds */
static _Atomic uint64_t run;   /* when the run began that it was spent in: a child of fork has another */

/* Ticks since the run began; 0: it is in its first seconds. */
static uint64_t ticks_later(void)
{
	uint64_t ticks, ns;

	if (!pmh_trace_begin(&ticks, &ns) || pmh_monotonic_ns() - ns < FREE_NS)
		return 0;
	if (atomic_exchange(&run, ticks) != ticks)
		atomic_store(&spent, 0);
	return pmh_ticks() - ticks;
}

bool pmh_budget_left(void)
{
	const uint64_t ticks = ticks_later();

	return ticks == 0 || atomic_load(&spent) < ticks / PART;
}

void pmh_budget_spent(struct pmh_moment begin)
{
	pmh_new_cost_since(&pmh_self.new_cost, begin);
	if (ticks_later() != 0)
		atomic_fetch_add(&spent, pmh_ticks() - begin.ticks);
}
