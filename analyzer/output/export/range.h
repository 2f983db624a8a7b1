/*
 * Ranges of NVTX and record_function as slices of their own: for each thread a track, whose further lanes are the ranges
 * in ranges. Domain, line and colour are among their arguments.
 */
#ifndef OUTPUT_EXPORT_RANGE_H
#define OUTPUT_EXPORT_RANGE_H

#include "timeline/timeline.h"
#include "track.h"

/* Those of a process; first_order: of thread 0's track. Names of tracks live in the arena. */
void export_ranges(struct export_tracks *tracks, const struct timeline *timeline,
	const struct timeline_process *process, uint32_t first_order, struct arena *names);

#endif
