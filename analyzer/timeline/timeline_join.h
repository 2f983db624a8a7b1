/* Inside timeline_*.c: the records of a trace as calls with their device intervals. */
#ifndef TIMELINE_TIMELINE_JOIN_H
#define TIMELINE_TIMELINE_JOIN_H

#include "timeline.h"
#include "timeline_graph.h"
#include "timeline_range.h"
#include "timeline_sample.h"

/* Where the tables of a trace begin in the run's: number n of the file is item first + n. */
struct timeline_bases {
	uint32_t functions, operations, descriptors, strings, queues, communicators, graphs, range_names;
};

/*
 * One trace on its way into the timeline, in steps so that several can be on theirs at once. What a step does
 * to the timeline itself is done by one thread, what it does to its part by any.
 */
struct timeline_join {
	const struct trace *trace;
	struct timeline_stretches stretches; /* that are read, of the trace's monotonic clock */
	bool *read;                          /* by chunk: it has a part in them; NULL: all are read */
	uint64_t call_most;                  /* calls that there will be at most */
	struct timeline_process *process;
	struct timeline_bases bases;
	struct timeline_replay_list replays;
	struct timeline_more *more; /* numbers of calls: in the process */
	size_t more_count, more_room;
	struct timeline_touch *touches; /* likewise */
	size_t touch_count, touch_room;
	struct timeline_range *ranges; /* by thread; `parent` is in the process */
	size_t range_count, range_room;
	const uint32_t *load_operations; /* by range name of the trace, of those that are input; 0: it is
					    none. NULL: none is */
	const uint32_t
		*load_takes; /* by range name of the trace, which of them is the one whose batch it takes
				(timeline_next.c); 0: none. NULL: none of them is of TensorFlow */
	struct trace_touch *unpacked; /* those of one call, or NULL */
};

/* What the process runs, for `command` and `program` (timeline_command.c). */
void timeline_add_command(
	struct timeline *timeline, const struct trace *trace, struct timeline_process *process);

/* When the process of a trace was recorded, and which part of it was dropped or is not read
 * (timeline_window.c). */
void timeline_add_windows(struct timeline *timeline, const struct trace *trace,
	const struct timeline_stretches *stretches, struct timeline_process *process);

/*
 * Looks how many calls there will be at most; by any thread. The trace must stay. stretches: what is read, of
 * its monotonic clock; without any, or of a ring, all is.
 */
void timeline_join_begin(
	struct timeline_join *join, const struct trace *trace, const struct timeline_stretches *stretches);

/* Adds the process with its tables, without its calls (timeline_process.c); number: of the process. */
void timeline_join_describe(struct timeline *timeline, struct timeline_join *join, uint32_t number);

/* What ranges there are, with the strings of the tables; and the ranges of the parts that are read, by any thread
 * (timeline_range.c). */
void timeline_range_describe(struct timeline *timeline, struct timeline_join *join);
void timeline_range_fill(struct timeline_join *join);

/* Waiting for input (timeline_load.c): how many calls it becomes at most, its functions and operations, and
 * the calls of the ranges that were read, in order of begin; the caller frees them. */
uint64_t timeline_load_most(const struct trace *trace, const bool *read);
void timeline_load_describe(struct timeline *timeline, struct timeline_join *join, uint32_t process);
struct timeline_call *timeline_load_calls(
	const struct timeline *timeline, const struct timeline_join *join, size_t *count);

/* Waiting for tf.data (timeline_next.c): does the operation get the next batch; which operations take those;
 * and the calls end when the batch is taken, and are left out where it was there. Returns how many are left.
 */
bool timeline_next_is(const char *name, const char *domain);
void timeline_next_describe(struct timeline *timeline, struct timeline_join *join);
size_t timeline_next_end(const struct timeline *timeline, const struct timeline_join *join,
	struct timeline_call *calls, size_t call_count);

/* The wall clock minus the monotonic clock, when the trace began. */
int64_t timeline_wall_offset(const struct trace *trace);

/*
 * Makes room for the calls and intervals of processes whose tables are in the timeline already, one after
 * the other.
 */
void timeline_join_reserve(struct timeline *timeline, struct timeline_join *joins, size_t count);

/* Fills the room, and counts in `process`; by any thread. */
void timeline_join_fill(struct timeline *timeline, struct timeline_join *join);

/* Puts a call after launches of unknown graphs for each node that ran, and how many these are at most
 * (timeline_divide.c). */
void timeline_divide(const struct timeline *timeline, struct timeline_join *join);
uint64_t timeline_divide_most(const struct trace *trace);

/* Closes the gaps that records of no use have left, in the same order as the room was made. */
void timeline_join_end(struct timeline *timeline, struct timeline_join *join);

#endif
