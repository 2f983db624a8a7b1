/* Inside timeline_*.c: the records of a trace as calls with their device intervals. */
#ifndef TIMELINE_JOIN_H
#define TIMELINE_JOIN_H

#include "timeline.h"
#include "trace.h"

/* Where the tables of a trace begin in the run's: number n of the file is item first + n. */
struct timeline_bases {
	uint32_t functions, operations, descriptors, strings, queues, communicators, graphs;
};

/* Adds the calls and intervals of a process whose tables are there already, and counts them in `process`. */
void timeline_join(struct timeline *timeline, const struct trace *trace, struct timeline_process *process,
	const struct timeline_bases *bases);

#endif
