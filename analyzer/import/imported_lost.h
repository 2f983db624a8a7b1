/*
 * Launches whose kernel is not in the file, or is in it without a time, as CUPTI writes them when its buffers
 * overflow (and of CUDA 12.6 to 13.0 with times of 0). What the device did in an iteration with such a launch
 * is not known: it is no idle time, and no iteration like the others.
 */
#ifndef IMPORT_IMPORTED_LOST_H
#define IMPORT_IMPORTED_LOST_H

#include "imported_build.h"

/* All zero at the first call of a worker. */
struct imported_lost {
	int64_t *times_ns; /* of the launches, in order */
	size_t count, room;
	bool capturing;  /* into a graph: such launches have no kernel */
	int64_t last_ns; /* what is launched later may not have run before the end of the recording */
};

/* Of calls without device events, in order of time: is it a launch whose kernel is lost? */
bool imported_lost_is(struct imported_lost *lost, const struct imported *imported, uint32_t call);

/* After all calls: what of the process's time has device times. Frees what was gathered. */
void imported_lost_end(
	struct imported_lost *lost, struct timeline *timeline, struct timeline_process *process);

#endif
