/*
 * Where a process stands, by its trace alone, while it runs or after it was killed: the call that each thread
 * has entered and not left, the last call of those that are in none, and how many collectives each
 * communicator has had.
 */
#ifndef TRACE_STANDING_H
#define TRACE_STANDING_H

#include "trace.h"

struct standing_thread {
	uint32_t thread, tid;
	bool inside;      /* of the call; else it was the last one, as far as the trace says */
	uint32_t op;      /* 0: not known */
	int64_t begin_ns; /* of CLOCK_MONOTONIC */
};

struct standing_comm {
	uint32_t number; /* of the communicator in the trace */
	uint64_t count;  /* of recorded collectives, with one that is entered; sends and receives are none */
	uint32_t op;     /* the last of them */
};

struct standing {
	struct standing_thread *threads; /* by their numbers */
	size_t thread_count, thread_room;
	struct standing_comm *comms; /* those that have had a collective, by their numbers */
	size_t comm_count, comm_room;
};

/* Walks the whole trace. The tables are freed with standing_free. */
void standing_find(const struct trace *trace, struct standing *standing);
void standing_free(struct standing *standing);

#endif
