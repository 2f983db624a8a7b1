/* Inside timeline_*.c: the calls of a trace, those of all threads together, in order of begin. */
#ifndef TIMELINE_TIMELINE_MERGE_H
#define TIMELINE_TIMELINE_MERGE_H

#include "timeline.h"
#include "trace/trace.h"

/* The calls of one thread, chunk by chunk, and the one in front. */
struct timeline_lane {
	struct trace_record record;
	int64_t begin_ns, end_ns; /* end >= begin */
	uint16_t thread;
	size_t chunk, chunk_end; /* in the merge's order */
	struct trace_cursor cursor;
	size_t pair; /* of clocks, used last */
};

struct timeline_merge {
	const struct trace *trace;
	struct timeline_process *process; /* counts what is refused and dropped, and the threads */
	uint32_t *order;                  /* chunks, by thread */
	struct timeline_lane *lanes;      /* a heap: the earliest call first */
	size_t lane_count;
};

/* The trace and the process must stay. What was begun is ended. */
void timeline_merge_begin(
	struct timeline_merge *merge, const struct trace *trace, struct timeline_process *process);
void timeline_merge_end(struct timeline_merge *merge);

/* The earliest call, which stays until the next is asked for; NULL: there is none. */
static inline const struct timeline_lane *timeline_merge_first(const struct timeline_merge *merge)
{
	return merge->lane_count ? merge->lanes : NULL;
}

/* Goes on behind the earliest call. */
void timeline_merge_next(struct timeline_merge *merge);

#endif
