/*
 * Why a job does not go on: what each rank waits for, and which rank is waited for and does not wait itself.
 *
 * From the traces alone: how many collectives each rank has entered on each communicator, its sends and
 * receives, and the call that each thread is in (trace/standing.h). A rank that entered a collective which
 * another has not waits for that one; so does one whose send has no receive, or the other way round. Who is
 * waited for and waits for nobody is the culprit; where all wait in a cycle, the order of their calls is.
 * Ranks whose calls on a communicator differ at the same place come before all that.
 *
 * Of processes of this host the system says whether they run, are stopped or gone. Nothing is asked of the
 * process itself.
 */
#ifndef ANALYSES_HANG_HANG_H
#define ANALYSES_HANG_HANG_H

#include "trace/trace_attempt.h"
#include "trace/standing.h"

enum hang_process {
	HANG_UNKNOWN, /* of another host: running, or killed */
	HANG_RUNS,
	HANG_STOPPED, /* by a signal */
	HANG_HELD,    /* by a debugger, which lets it go on when it likes */
	HANG_GONE,    /* without an end of its trace: killed, or ended by a fault */
	HANG_ENDED,   /* in order: its trace has an end */
};

#define HANG_CLASSES(X) \
	X(NONE, "none") \
	X(LATE, "late") \
	X(EXITED, "exited") \
	X(KILLED, "killed") \
	X(STOPPED, "stopped") \
	X(IN_CALL, "in_call") \
	X(OUTSIDE, "outside_calls") \
	X(DEVICE, "device") \
	X(DIFFERENT, "different_collective") \
	X(ORDER, "order_of_communicators") \
	X(UNMATCHED, "unmatched_point_to_point") \
	X(ABSENT, "absent") \
	X(HELD, "held") \
	X(UNKNOWN, "unknown")

enum hang_class {
#define HANG_ITEM(name, key) HANG_IS_##name,
	HANG_CLASSES(HANG_ITEM)
#undef HANG_ITEM
};

enum hang_strength {
	HANG_CERTAIN, /* it follows from what is recorded */
	HANG_LIKELY,  /* by the time that has passed, the majority of ranks, or what was usual before */
	HANG_OPEN,    /* one of several; or nothing is known */
};

/* What a process and its children do while it is looked at. */
struct hang_progress {
	bool works; /* it computes, reads or writes, or makes calls */
	bool calls; /* it makes calls of its own: an evaluation, a search for the quickest kernels */
	double processors, read_bytes, written_bytes; /* of a second */
};

/* Where a thread is in Python. */
struct hang_stack {
	uint32_t tid;
	const char *text; /* "load (data.py:31) < main (train.py:12)", the innermost first */
};

struct hang_rank {
	struct trace trace;
	struct standing standing;
	struct trace_attempt attempt;
	enum hang_process process;
	const char *name;                     /* "3", or "pid 71" where the rank is not known */
	const struct standing_thread *thread; /* the one whose state is the rank's, or NULL */
	struct hang_progress progress; /* of one that makes no call, where that may be a hang; else 0 */
	bool looked_inside;            /* of a culprit: its stacks were asked for */
	struct hang_stack *stacks;
	size_t stack_count, stack_room;
	int64_t stacks_ns; /* CLOCK_REALTIME when pmrun read and kept them; 0: they are of now */
};

/* A rank's place in a communicator. */
struct hang_member {
	size_t rank;     /* index into ranks */
	int place;       /* its rank in the communicator */
	uint32_t number; /* of the communicator in its trace */
	uint64_t count;
	const struct standing_comm *comm; /* NULL: it had no collective */
};

struct hang_group {
	uint64_t hash;
	int size;
	struct hang_member *members; /* those that have a trace, by their place */
	size_t member_count, member_room;
};

#define HANG_NAMED 8 /* culprits that are told one by one */

struct hang_culprit {
	size_t rank;
	const char *sentence; /* its state, and what of it is missing */
};

/* A send or receive that was entered, and has no counterpart. */
struct hang_pair {
	size_t rank, peer; /* who has not made it; who waits for it */
	bool receive;      /* it is a receive that is missing, else a send */
	uint64_t ordinal;  /* of those between the two on the communicator, from 1 */
	const struct hang_group *group;
};

struct hang {
	struct hang_rank **ranks; /* by rank, then by pid */
	size_t rank_count, rank_room;
	struct hang_group *groups;
	size_t group_count, group_room;
	size_t earlier;        /* processes of earlier attempts of the job, which are left out */
	uint32_t earlier_runs; /* one of them that still runs; 0: none */
	int restart;           /* the attempt that the job is at, from 0; -1: its launcher does not say */
	int restarts;          /* the most there will be, -1: not known */
	uint32_t launcher;     /* runs on this host, and may start the job again; 0: not known */
	int world;             /* ranks that the job has, by what its launcher says; 0: not known */
	int *absent; /* the numbers of those without a trace, in order; none where others have met them */
	size_t absent_count, absent_room;
	size_t unread;   /* files that are no traces */
	int64_t read_ns; /* CLOCK_REALTIME before the first of them was read */
	int64_t now_ns;  /* CLOCK_REALTIME: now, or the last time that is known of a job that is over */
	bool over;       /* no process is known to run */

	enum hang_class class;
	enum hang_strength strength;
	struct hang_culprit *culprits;
	size_t culprit_count, culprit_room;
	struct hang_pair *pairs; /* of HANG_IS_UNMATCHED: those of the culprits */
	size_t pair_count, pair_room;
	bool final;           /* hang_is_final */
	const char *headline; /* a sentence */
	const char *basis;    /* what it follows from, a sentence or more */
	struct arena arena;
};

/* Reads files and folders of traces; warns of those that cannot be read. The caller frees it with hang_free.
 */
void hang_read(struct hang *hang, char **paths, size_t path_count);
void hang_free(struct hang *hang);

/* The class, the culprits and the sentences. Who is alive and behind for less than `patience_ns`, or than
 * three times what was usual, is late, not more. */
void hang_find(struct hang *hang, int64_t patience_ns);

/* Whether the job hangs: not if ranks are late, or nothing is known. */
bool hang_is_found(const struct hang *hang);

/* Whether it cannot go on by itself: the rank that is waited for has ended, is gone or stopped, or ranks
 * stand in calls that cannot meet. A rank that makes no call may always come back. */
bool hang_is_final(const struct hang *hang);

const char *hang_class_key(enum hang_class class);
const char *hang_strength_word(enum hang_strength strength);
const char *hang_process_word(enum hang_process process);

/* CLOCK_REALTIME of a time of the trace. */
int64_t hang_real_ns(const struct hang_rank *rank, int64_t monotonic_ns);

/* "ncclAllReduce count=256 type=f32", without what differs between ranks; where it was called, or "". */
const char *hang_operation(struct arena *arena, const struct trace *trace, uint32_t op);
const char *hang_site(struct arena *arena, const struct trace *trace, uint32_t op);

/* "rank 3", "ranks 0-2 and 5", of indexes in order. */
const char *hang_ranks(struct arena *arena, const struct hang *hang, const size_t *ranks, size_t count);

#endif
