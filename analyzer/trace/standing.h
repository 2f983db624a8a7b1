/*
 * Where a process stands, by its trace alone, while it runs or after it was killed: the call that each thread
 * has entered and not left, or the last one of those that are in none; the collectives that each communicator
 * has had, the last of them one by one; and its sends and receives by peer.
 */
#ifndef TRACE_STANDING_H
#define TRACE_STANDING_H

#include "trace.h"

/* So many of the last ones are kept: of each communicator, and of all communication. */
#define STANDING_RECENT 512
#define STANDING_HISTORY 4096

struct standing_thread {
	uint32_t thread, tid;
	bool inside;      /* of the call; else it was the last one, as far as the trace says */
	bool works;       /* it copies, computes, communicates or waits: not one that only asks events */
	uint32_t op;      /* 0: not known */
	int64_t begin_ns; /* of CLOCK_MONOTONIC, like all times here */
	int64_t end_ns;   /* of the last call that returned; 0: none has */
};

struct standing_entry {
	int64_t begin_ns;
	uint32_t op;
};

/* The last of some calls, by the time of their start. */
struct standing_recent {
	struct standing_entry *entries;
	size_t count, room;
};

struct standing_comm {
	uint32_t number; /* of the communicator in the trace */
	uint64_t count;  /* of recorded collectives, with one that is entered; sends and receives are none */
	struct standing_recent recent; /* the last is number `count`, from 1 */
	int64_t longest_ns;            /* between two in a row of the recent; 0: there are no two */
};

/* Sends to one rank of a communicator, and receives from it. */
struct standing_peer {
	uint32_t number; /* of the communicator in the trace */
	int peer;        /* rank in it */
	uint64_t sends, receives;
	struct standing_entry last_send, last_receive; /* op 0: none */
};

struct standing {
	struct standing_thread *threads; /* by their numbers */
	size_t thread_count, thread_room;
	struct standing_comm *comms; /* those that have had a collective, by their numbers */
	size_t comm_count, comm_room;
	struct standing_peer *peers; /* by communicator, then by peer */
	size_t peer_count, peer_room;
	struct standing_recent recent; /* collectives, sends and receives of all communicators */
	int64_t whole_ns; /* from then on all records are there; before, a ring has dropped some. 0: always */
	uint64_t joins;   /* calls that make communicators, with one that is entered */
	int64_t last_ns;  /* the last begin or end of a call of a thread that works, else the start of the
			     trace */
};

/* Walks the whole trace. The tables are freed with standing_free. */
void standing_find(const struct trace *trace, struct standing *standing);
void standing_free(struct standing *standing);

/* NULL: there was neither a send nor a receive. */
const struct standing_peer *standing_find_peer(const struct standing *standing, uint32_t number, int peer);

/* The thread whose state is the process's: of those that work one inside of a call, else the last active one;
 * of others if none works; NULL: there is none. */
const struct standing_thread *standing_principal(const struct standing *standing);

/* Is it a call that returns only when all ranks of a communicator have made it? */
bool standing_joins(const struct trace *trace, uint32_t op);

/*
 * The first work given to a device that has no device time, of the last work of each queue: what the device
 * is at, or what it waits for. It says nothing unless the device times are read while the host waits
 * (PM_DEVICE_CUPTI).
 */
struct standing_work {
	uint32_t op;      /* 0: there is none, or it is not known */
	int64_t begin_ns; /* of its call */
};
void standing_unfinished(const struct trace *trace, struct standing_work *work);

#endif
