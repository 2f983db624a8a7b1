/*
 * What the hook itself takes: of calls, from samples, one call in so many is measured; of descriptions, all. In
 * ticks of the clock.
 */
#ifndef OWN_COST_H
#define OWN_COST_H

#include <stdatomic.h>
#include <stdint.h>

#define PMH_COST_EVERY 64u
#define PMH_COST_BUCKETS 256u
struct pmh_cost {
	_Atomic uint32_t buckets[PMH_COST_BUCKETS];
};

/* Adds a sample. By the thread whose it is; others may read meanwhile. */
void pmh_cost_sample(struct pmh_cost *cost, uint64_t ticks);
void pmh_cost_add(struct pmh_cost *sum, const struct pmh_cost *cost);

/* The sum over all calls that the samples stand for. */
double pmh_cost_ticks(const struct pmh_cost *cost);

/* What a thread takes for the descriptions of what is new: time that went by, and while it had a processor. */
struct pmh_new_cost {
	_Atomic uint64_t ticks, processor_ns;
};

/* Before and after a description, by the thread whose the cost is; others may read meanwhile. */
struct pmh_moment {
	uint64_t ticks, processor_ns;
};
struct pmh_moment pmh_moment(void);
void pmh_new_cost_since(struct pmh_new_cost *cost, struct pmh_moment begin);

#endif
