/* What the parts of the search for arrivals share: see arrivals.h. */
#ifndef IMPORT_ARRIVALS_SETTLE_H
#define IMPORT_ARRIVALS_SETTLE_H

#include "arrivals.h"

/* Kernels of one collective end together; what is off by more than this has another clock, or is another's.
 */
#define ARRIVALS_TOLERANCE_NS 20000

/* Orders the numbers; 0 of none. */
int64_t arrivals_median(int64_t *numbers, size_t count);

/*
 * Collectives were matched by order alone: drops what cannot be, corrects clocks where that makes most of
 * them possible, else takes those apart that are of several groups of ranks.
 */
void arrivals_settle(struct arrivals *arrivals);

#endif
