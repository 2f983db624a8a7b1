/*
 * What a job of any number of ranks does now. A look reads one page of each trace (trace_live.h), and nothing
 * of those that have ended; what was there before is kept. So 10,000 ranks take less than a second, however
 * long they run.
 *
 * Times are in seconds; NaN is unknown. Of a rank with several traces the youngest counts, and they are its
 * attempts.
 */
#ifndef ANALYSES_FLEET_FLEET_H
#define ANALYSES_FLEET_FLEET_H

#include "base/intern.h"
#include "base/memory.h"
#include "trace/trace_live.h"

#include <cjson/cJSON.h>

#define FLEET_LAST 20 /* steps over which a rank's time is a median */

enum fleet_state {
	FLEET_RUNS,
	FLEET_ENDED, /* in an orderly way */
	FLEET_GONE,  /* of this host, and no such process runs; or silent for FLEET_FORGET_S */
};

struct fleet_rank {
	const char *path; /* of its trace; NULL: another node's */
	const char *host;
	int rank, world; /* -1: unknown */
	uint32_t pid;
	unsigned attempt; /* of the rank, from 1 */
	enum fleet_state state;
	bool known;             /* it has figures: what follows */
	double start_s, seen_s; /* CLOCK_REALTIME: when it began, and was last seen to make calls */
	double steps, calls, communications, lost;
	double step_s;      /* median of the last FLEET_LAST steps */
	double each_s[PM_LIVE_STEPS]; /* the last steps, in order; of this process's own looks alone */
	unsigned each_count;
	double device_s[3]; /* sums: kernels, communication, copies */
	double timed_steps;
	double compute_s; /* kernels of a step, between this look and an earlier one */
	/* of an earlier look, for compute_s */
	double from_steps, from_compute_s;
	double moved_s; /* CLOCK_REALTIME: when a look last saw it make calls, or end a step */
};

struct fleet {
	struct fleet_rank *all; /* of every trace, in the order in which they were found */
	size_t all_count, all_room;
	struct fleet_rank **ranks; /* the youngest of each rank, by rank, then by host and pid */
	size_t count;
	double now_s; /* CLOCK_REALTIME of the last look */
	/* of the ranks together */
	size_t running, ended, gone, absent;
	unsigned attempt;    /* the greatest */
	double steps;        /* the least of any rank; NaN: unknown of one */
	double step_s;       /* median over ranks */
	double compute_s;    /* mean over ranks */
	double imbalance;    /* computing of the slowest rank over the mean */
	size_t slowest;      /* its place; of no use where the imbalance is NaN */
	double still_s;      /* how long no rank has moved; NaN: none runs */
	struct intern paths; /* of `all`, where they are traces */
	struct arena arena;
};

/* Looks at the traces of these files and folders, which are as pmanalyze's other commands take them. */
void fleet_look(struct fleet *fleet, char **paths, size_t path_count);
void fleet_free(struct fleet *fleet);

/* The job is over: it had ranks, and none runs. */
bool fleet_is_over(const struct fleet *fleet);

/* The ranks of this node for fleet_merge of another process; the caller deletes it. */
cJSON *fleet_node(const struct fleet *fleet);

/* In place of fleet_look: the files that fleet_node made, or folders of them. Answers how many could not be
 * read. */
size_t fleet_merge(struct fleet *fleet, char **paths, size_t path_count);

/* For those two: what all ranks together do, from `all`, whose `state` is settled. */
void fleet_settle(struct fleet *fleet);
struct fleet_rank *fleet_add(struct fleet *fleet, const char *path);

#endif
