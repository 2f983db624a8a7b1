/*
 * A period in the last operations of one thread: how iterations and steps are found without help of the program
 * (window.h, steps.h). The thread alone uses it.
 */
#ifndef PERIOD_H
#define PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/attribute.h"

struct pmh_period {
	uint64_t *ring; /* of the last operations, `room` of them, a power of two */
	unsigned room;
	uint64_t seen; /* operations in all */
};

PMH_INLINE void pmh_period_add(struct pmh_period *p, uint64_t operation)
{
	p->ring[p->seen++ & (p->room - 1)] = operation;
}

/* The one so many steps before the last. */
PMH_INLINE uint64_t pmh_period_back(const struct pmh_period *p, unsigned steps)
{
	return p->ring[(p->seen - 1 - steps) & (p->room - 1)];
}

/*
 * Whether all repeats with the period, over half of what is known at least: equal layers of a net repeat too,
 * but not across the ends of an iteration. `work` becomes less by each comparison; at 0 the answer is false.
 * Long runs of equal operations would take a square of them.
 */
PMH_INLINE bool pmh_period_repeats(const struct pmh_period *p, unsigned period, unsigned *work)
{
	const unsigned known = p->seen < p->room ? (unsigned)p->seen : p->room;
	const unsigned span = known / 2 > 2 * period ? known / 2 : 2 * period;

	if (span + period > known)
		return false;
	for (unsigned i = 0; i < span; i++, --*work)
		if (*work == 0 || pmh_period_back(p, i) != pmh_period_back(p, i + period))
			return false;
	return true;
}

PMH_INLINE bool pmh_period_has_once(const struct pmh_period *p, uint64_t operation, unsigned period)
{
	unsigned times = 0;

	for (unsigned i = 0; i < period && times < 2; i++)
		times += pmh_period_back(p, i) == operation;
	return times == 1;
}

#endif
