/*
 * What the threads of a process are in, as PyTorch, NVTX or the program says it: ranges with a begin and an end,
 * one in another on each thread (struct pm_range). Those of one process lie by thread, then in order of begin.
 */
#ifndef TIMELINE_TIMELINE_RANGE_H
#define TIMELINE_TIMELINE_RANGE_H

#include "timeline.h"

#define TIMELINE_NO_RANGE UINT32_MAX

/* A distinct range. Texts are of the timeline; NULL: not known, or none. */
struct timeline_range_name {
	enum pm_range_scope scope; /* 0: the trace does not describe it */
	const char *name, *domain, *module, *line;
	uint32_t color;
};

struct timeline_range {
	int64_t begin_ns, end_ns; /* end: INT64_MAX where the data break off in it */
	uint32_t name;            /* in timeline.range_names */
	uint32_t parent;          /* of the process's ranges, the one around it; TIMELINE_NO_RANGE: none */
	uint32_t sequence;        /* PM_RANGE_NO_SEQUENCE: none */
	uint32_t inputs; /* of an operator, in timeline.strings: its inputs' sizes, their types and their values,
			    each a list as the profiler writes it, with a tab between: "[[8, 4], [4, 2]]\t["float",
			    "float"]\t["", ""]"; 0: not recorded */
	uint16_t framework_thread; /* as PyTorch numbers it: struct pm_range */
	uint16_t thread;          /* ordinal in its process */
	bool loose;               /* it is in no other, and none in it */
};

/* The ranges of a process: process->range_count of them, numbered from 0. */
static inline const struct timeline_range *timeline_ranges(
	const struct timeline *timeline, const struct timeline_process *process)
{
	return timeline->ranges + process->first_range;
}

/* The innermost range that a thread is in at a time, by number; TIMELINE_NO_RANGE: none. A call at the time
 * of a range's start is in it. */
uint32_t timeline_range_at(const struct timeline *timeline, const struct timeline_process *process,
	uint16_t thread, int64_t ns);

/* The number of the process's first range of a thread, and the one after its last. */
void timeline_ranges_of(const struct timeline *timeline, const struct timeline_process *process,
	uint16_t thread, uint32_t *first, uint32_t *end);

/* Does a range with this name last as long as the program waits for a batch of input? As PyTorch's data
 * loader names its own, and people theirs. */
bool timeline_is_input_name(const char *name);

/* Whether operators and nodes were recorded all the time from one moment to another. */
bool timeline_operators_recorded(const struct timeline_process *process, int64_t begin_ns, int64_t end_ns);

#endif
