/* Inside timeline_*.c: the calls of a trace, those of all threads together, in order of begin. */
#ifndef TIMELINE_TIMELINE_MERGE_H
#define TIMELINE_TIMELINE_MERGE_H

#include "timeline.h"
#include "timeline_sample.h"

#define TIMELINE_MOST_ORDINAL 65535u /* of a thread; greater ones are damage, and go together */

static inline uint16_t timeline_ordinal(uint32_t thread)
{
	return (uint16_t)(thread < TIMELINE_MOST_ORDINAL ? thread : TIMELINE_MOST_ORDINAL);
}

/* The calls of one thread, chunk by chunk, and the one in front. */
struct timeline_lane {
	struct trace_record record;
	int64_t begin_ns, end_ns; /* end >= begin */
	uint16_t thread;
	size_t chunk, chunk_end; /* in the merge's order */
	struct trace_cursor cursor;
	size_t pair;    /* of clocks, used last */
	size_t stretch; /* likewise */
};

struct timeline_merge {
	const struct trace *trace;
	const struct timeline_stretches *stretches; /* that are read, of the trace's monotonic clock */
	const bool *read;                           /* by chunk; NULL: all are */
	struct timeline_process *process; /* counts what is refused and dropped, and the threads */
	uint32_t *order;                  /* chunks, by thread */
	struct timeline_lane *lanes;      /* a heap: the earliest call first */
	size_t lane_count;
};

/*
 * Calls outside of the stretches, of which `read` tells the chunks, are counted in the process's gap, which
 * must have its pieces then. All of them must stay. What was begun is ended.
 */
void timeline_merge_begin(struct timeline_merge *merge, const struct trace *trace,
	const struct timeline_stretches *stretches, const bool *read, struct timeline_process *process);
void timeline_merge_end(struct timeline_merge *merge);

/* The earliest call, which stays until the next is asked for; NULL: there is none. */
static inline const struct timeline_lane *timeline_merge_first(const struct timeline_merge *merge)
{
	return merge->lane_count ? merge->lanes : NULL;
}

/* Goes on after the earliest call. */
void timeline_merge_next(struct timeline_merge *merge);

#endif
