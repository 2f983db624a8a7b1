/* Steps by a period of one thread's operations: see steps.h. */
#include "steps.h"

#include <errno.h>
#include <stdbool.h>

#include "device/stretch.h"
#include "guest/clock.h"
#include "period.h"
#include "trace/live.h"

#define RING (1u << 17) /* operations kept; the longest period is a third of it */
#define PATIENT 16u     /* periods without the mark: another loop runs */
#define WORK (8 * RING) /* comparisons of a look: a millisecond */
#define SHORT_TICKS \
	(1u << 16)      /* tens of microseconds, whichever the clock: shorter steps are published together */
#define LOOKS 256u      /* without a period; then there is none to be found */

const struct pmh_thread *_Atomic pmh_steps_thread;
uint32_t pmh_steps_mark, pmh_steps_unseen, pmh_steps_patience;

/* What follows is the watched thread's alone. An operation and its kind, which is below 32. */
static uint64_t ring[RING];
static struct pmh_period operations = {ring, RING, 0};
static uint64_t next_look, last_ns, last_ticks;
static unsigned looks, together; /* steps that have ended since the last was published */
static bool was_timed;

/* The loop that the mark is of is over, or none has begun. */
static void start_again(void)
{
	pmh_steps_mark = pmh_steps_unseen = 0;
	operations.seen = last_ns = last_ticks = 0;
	together = 0;
	next_look = 16;
	looks = 0;
}

void pmh_steps_begin(void)
{
	atomic_store(&pmh_steps_thread, NULL);
	start_again();
}

void pmh_steps_leave(const struct pmh_thread *self)
{
	if (atomic_load(&pmh_steps_thread) == self)
		pmh_steps_begin();
}

/* Its number is the same where calls are looked at for their addresses (trace/sample.h). */
static bool is_without_addresses(uint64_t entry)
{
	const enum pm_kind kind = (enum pm_kind)(entry & 31);

	return kind == PM_KIND_LAUNCH || kind == PM_KIND_SYNC;
}

/* The operation that stands for a step, 0: none does. Few are tried: each takes a walk over the period. */
static uint32_t mark_of(uint32_t period)
{
	uint32_t other = 0;
	unsigned tries = 0;

	for (uint32_t i = 0; i < period && tries < LOOKS; i++) {
		const uint64_t entry = pmh_period_back(&operations, i);
		const bool is_good = is_without_addresses(entry);

		if (!is_good && other)
			continue;
		tries++;
		if (!pmh_period_has_once(&operations, entry, period))
			continue;
		if (is_good)
			return (uint32_t)(entry >> 5);
		other = (uint32_t)(entry >> 5);
	}
	return other;
}

static void look(void)
{
	const uint64_t last = pmh_period_back(&operations, 0);
	unsigned work = WORK;

	next_look = operations.seen + operations.seen / 8 + 16;
	looks++;
	for (uint32_t period = 1; period <= RING / 3 && 3 * (uint64_t)period <= operations.seen && work > 0;
		period++)
		if (last == pmh_period_back(&operations, period) &&
			pmh_period_repeats(&operations, period, &work)) {
			pmh_steps_mark = mark_of(period);
			pmh_steps_patience = PATIENT * period;
			pmh_steps_unseen = together = 0;
			last_ns = last_ticks = 0;
			return;
		}
}

/* A loop of one kernel has a step in each call: the clock of the system and the page would cost more than the
 * call. */
static void step_ends(uint64_t ticks)
{
	uint64_t now_ns;
	bool is_timed;

	pmh_steps_unseen = 0;
	together++;
	if (ticks - last_ticks < SHORT_TICKS)
		return;
	now_ns = pmh_monotonic_ns();
	is_timed = !atomic_load_explicit(&pmh_stretch_is_off, memory_order_relaxed);
	pmh_live_steps(now_ns, last_ns ? now_ns - last_ns : 0, together, is_timed && was_timed);
	last_ns = now_ns;
	last_ticks = ticks;
	was_timed = is_timed;
	together = 0;
}

void pmh_steps_see_slowly(const struct pmh_thread *self, uint32_t op, enum pm_kind kind, uint64_t ticks)
{
	const struct pmh_thread *nobody = NULL;
	const int saved_errno = errno;

	if (atomic_load(&pmh_steps_thread) != self &&
		(kind == PM_KIND_SYNC || !atomic_compare_exchange_strong(&pmh_steps_thread, &nobody, self)))
		return;
	if (pmh_steps_mark && op == pmh_steps_mark) {
		step_ends(ticks);
	} else if (pmh_steps_mark) {
		start_again();
	} else if (looks < LOOKS) {
		pmh_period_add(&operations, (uint32_t)(op << 5) | ((uint32_t)kind & 31));
		if (operations.seen >= next_look)
			look();
	}
	errno = saved_errno;
}
