/* Inside timeline_*.c: addresses for the calls beyond the samples. */
#ifndef TIMELINE_TIMELINE_ADDRESS_H
#define TIMELINE_TIMELINE_ADDRESS_H

#include "timeline.h"

/*
 * Addresses are recorded in samples alone (struct pm_entry_placed). A loop makes the same calls in the same
 * order, so a call beyond the samples is given the operation with the addresses that the same call has in a
 * sample: that which follows the same calls of the thread. Where nothing that was sampled follows the same
 * calls the operation stays as it is. `calls`: the process's, in order; by any thread.
 */
void timeline_give_addresses(
	const struct timeline *timeline, const struct timeline_process *process, struct timeline_call *calls);

#endif
