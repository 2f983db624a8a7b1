/* Clocks of a run: devices against their host, hosts among each other. */
#ifndef TIMELINE_TIMELINE_CLOCK_H
#define TIMELINE_TIMELINE_CLOCK_H

#include "timeline.h"

/*
 * Moves device intervals (a constant per device) where causality is violated: no work begins before its
 * thread's call before, no synchronisation ends before the work it waits for. Work is then cut to begin with
 * its call. Each interval must belong to one call still.
 */
void timeline_settle_devices(struct timeline *timeline, const struct timeline_process *process);

/*
 * Brings the hosts to one axis: by their wall clocks, and by the collectives, none of which ends before its
 * last rank has begun. Sets host_count and residual_ns.
 */
void timeline_settle_hosts(struct timeline *timeline);

/* Adds to all times of a process. */
void timeline_move(struct timeline *timeline, struct timeline_process *process, int64_t move_ns);

#endif
