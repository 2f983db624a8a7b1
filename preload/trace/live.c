/* Figures of now: see live.h. Sums are added to where they lie; they are read back by nobody here. */
#include "live.h"

#include <string.h>

#include "guest/clock.h"

#define CLASSED (1u << 17) /* operations whose class is kept; the others are kernels */

static uint8_t classes[CLASSED]; /* enum pmh_live_class and one, by operation; 0: not known */
static uint64_t steps, timed_steps, changes;

static void live_add(uint64_t *to, uint64_t count)
{
	__atomic_fetch_add(to, count, __ATOMIC_RELAXED);
}

static void set(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

void pmh_live_begin(void)
{
	struct pm_live *live = pmh_live();

	memset(classes, 0, sizeof classes);
	steps = timed_steps = changes = 0;
	if (live)
		__atomic_store_n(&live->magic, PM_LIVE_MAGIC, __ATOMIC_RELEASE);
}

void pmh_live_end(void)
{
	struct pm_live *live = pmh_live();

	if (live)
		set(&live->ended_ns, pmh_monotonic_ns());
}

void pmh_live_calls(unsigned count)
{
	struct pm_live *live = pmh_live();

	if (!live)
		return;
	live_add(&live->calls, count);
	set(&live->seen_ns, pmh_monotonic_ns());
}

void pmh_live_communicated(uint32_t op)
{
	struct pm_live *live = pmh_live();

	pmh_live_classify(op, PMH_LIVE_COMMUNICATION);
	if (live)
		live_add(&live->communications, 1);
}

void pmh_live_classify(uint32_t op, enum pmh_live_class class)
{
	if (op < CLASSED && __atomic_load_n(&classes[op], __ATOMIC_RELAXED) != class + 1)
		__atomic_store_n(&classes[op], (uint8_t)(class + 1), __ATOMIC_RELAXED);
}

bool pmh_live_is_classified(uint32_t op)
{
	return op < CLASSED && __atomic_load_n(&classes[op], __ATOMIC_RELAXED) != 0;
}

void pmh_live_device(uint32_t op, uint64_t ns)
{
	struct pm_live *live = pmh_live();
	const uint8_t class = op < CLASSED ? __atomic_load_n(&classes[op], __ATOMIC_RELAXED) : 0;

	if (live)
		live_add(&live->device_ns[class ? class - 1 : PMH_LIVE_KERNEL], ns);
}

void pmh_live_steps(uint64_t now_ns, uint64_t took_ns, unsigned count, bool is_timed)
{
	struct pm_live *live = pmh_live();

	if (!live)
		return;
	/* what follows is not seen before it */
	__atomic_exchange_n(&live->changes, ++changes, __ATOMIC_ACQ_REL);
	if (took_ns) {
		steps += count;
		for (unsigned i = 1; i <= count && i <= PM_LIVE_STEPS; i++)
			set(&live->step_ns[(steps - i) % PM_LIVE_STEPS], took_ns / count);
		timed_steps += is_timed ? count : 0;
	}
	set(&live->steps, steps);
	set(&live->timed_steps, timed_steps);
	set(&live->last_step_ns, now_ns);
	set(&live->seen_ns, now_ns);
	__atomic_store_n(&live->changes, ++changes, __ATOMIC_RELEASE);
}
