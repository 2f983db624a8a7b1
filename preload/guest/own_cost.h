/*
 * What the hook itself takes of calls, told from samples: one call in so many is measured.
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
void pmh_cost_sample(struct pmh_cost *cost, uint64_t ticks); /* by the thread whose it is */
void pmh_cost_add(struct pmh_cost *sum, const struct pmh_cost *cost);
double pmh_cost_ticks(const struct pmh_cost *cost); /* of all calls that the samples stand for */

#endif
