/*
 * Communication of a run by communicator and function: how much, how fast, the last to arrive.
 *
 * What is counted is a unit: a call alone, or the calls of a group on one communicator, which run as one
 * piece of work. On all ranks the units that begin with the same collective are the same one; none can move
 * data before its last rank has begun, so each rank's time is waiting until then, and transfer from then on.
 */
#ifndef ANALYSES_COMM_H
#define ANALYSES_COMM_H

#include "timeline/collective.h"

struct comm_row {
	uint64_t hash;       /* of the communicator */
	uint32_t number;     /* of it, from 1, in order of first use */
	int32_t size;        /* its ranks */
	const char *name;    /* "AllReduce", or "5 AllReduce" of a group */
	uint32_t call_count; /* in a unit */
	size_t count;        /* units, each counted once for all ranks */
	double bytes;        /* of a unit, mean, as the formulas of the bandwidths take it */
	double time_ns;      /* of a unit on a rank, mean: waiting and transfer */
	double wait_ns;      /* NaN: not matched over ranks */
	double transfer_ns;
	double typical_ns; /* of the transfer, median over units */
	double algorithm_rate, bus_rate; /* bytes in a ns of transfer; GB/s */
	size_t waited_count;             /* units in which any rank waited */
	int32_t last_rank;               /* most often the last to arrive, in the communicator; -1: none */
	size_t last_count;
};

/* A rank of a communicator. */
struct comm_rank {
	uint64_t hash;
	uint32_t number;
	int32_t rank;
	size_t count;          /* units that could be matched */
	size_t last_count;     /* of those the ones in which others waited for it */
	double wait_ns;        /* mean */
	double wait_caused_ns; /* mean of what the others, summed, waited for it */
};

struct comm {
	struct comm_row *rows;
	size_t row_count, row_room;
	struct comm_rank *ranks;
	size_t rank_count, rank_room;
	struct arena arena;
};

/* The first `skip` units of each row are left out, fewer if none would be left. wait_ns: by call, of sends and
 * receives until their partner has begun (exchange_waits); NULL: not known. */
void comm_find(const struct timeline *timeline, const struct collective_list *collectives,
	const int64_t *wait_ns, size_t skip, struct comm *comm);
void comm_free(struct comm *comm);

/* Bytes on the busiest link for each byte of the algorithm's size, on n ranks. */
double comm_factor(enum pm_role role, int32_t n);

#endif
