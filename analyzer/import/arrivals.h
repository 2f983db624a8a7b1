/*
 * Who keeps whom waiting: the ranks' arrivals at each collective, from traces of device events alone.
 *
 * The one idea: no collective moves data before its last rank has come, and all its kernels end together. So
 * kernels of one collective are found by order (the i-th AllReduce of a group on each rank) and checked by
 * their ends; the time from a rank's start to the last rank's start is waiting, caused by the last; what
 * is left is transfer. Where ends disagree by more than kernels can, the clocks do, and are corrected by
 * that.
 */
#ifndef IMPORT_ARRIVALS_H
#define IMPORT_ARRIVALS_H

#include "imported.h"

/* A communication kernel of a rank. */
struct arrivals_kernel {
	int64_t begin_ns, end_ns;
	int64_t launch_ns; /* begin of its call; INT64_MIN: not known */
	const char *name;  /* of the kernel, without parameters */
	const char *key;   /* what tells which kernels of other ranks belong to it */
};

struct arrivals_rank {
	int32_t rank, given_rank;
	const char *path;
	struct arrivals_kernel *kernels; /* in order of begin */
	size_t kernel_count, kernel_room;
	size_t unmatched;
	size_t pairwise;  /* sends and receives, which are not among the kernels */
	int64_t clock_ns; /* subtracted from its times */
	int64_t wait_ns, wait_caused_ns;
	size_t last_count;   /* collectives at which it was the last to arrive */
	size_t launch_count; /* of these, those whose kernel began as soon as it was launched: the host was
				late */
	struct arena arena;
};

struct arrivals_arrival {
	uint32_t rank;            /* index into ranks */
	int64_t begin_ns, end_ns; /* clocks corrected */
};

struct arrivals_collective {
	const char *name;
	size_t first, count; /* of arrivals */
	int64_t begin_ns;    /* of its first rank */
	int64_t last_ns;     /* begin of its last rank */
	uint32_t last;       /* index into ranks */
	int64_t wait_ns;     /* sum over the ranks */
	int64_t transfer_ns; /* from the last begin to the last end */
	int64_t spread_ns;   /* between the first end and the last */
};

struct arrivals {
	struct arrivals_rank *ranks; /* the caller's, by rank */
	size_t rank_count;
	struct arrivals_collective *collectives; /* in order of begin */
	size_t collective_count, collective_room;
	struct arrivals_arrival *arrivals;
	size_t arrival_count, arrival_room;
	size_t refused; /* matched by order, but not at the same time: not counted */
	bool clocks_corrected;
	int64_t residual_ns; /* greatest spread of ends among the collectives */
	int64_t wait_ns;     /* sum over all */
};

/* The communication kernels of a worker. Of one thread; the rank is the caller's to free. */
void arrivals_take(const struct imported *imported, uint32_t worker, struct arrivals_rank *rank);
void arrivals_rank_free(struct arrivals_rank *rank);

void arrivals_find(struct arrivals *arrivals, struct arrivals_rank *ranks, size_t rank_count);
void arrivals_free(struct arrivals *arrivals); /* not the ranks */

/* Share of the communication kernels that belong to a collective that was found. */
double arrivals_matched(const struct arrivals *arrivals);

/*
 * The rank (an index) that comes last too often for chance and causes most of the waiting; -1: there is
 * none. Chance: each rank is last equally often; the most frequent one counts if that would happen once in 20
 * runs.
 */
int arrivals_straggler(const struct arrivals *arrivals);

#endif
