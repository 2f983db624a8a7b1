/*
 * Communicators that are slower than others of the same kind: as many ranks, as far apart (so of the same
 * dimension of a mesh), on as many hosts, the same collective of the same bytes, which takes longer once the last rank is there. What all slow ones have and
 * no other one has is what is slow: a rank's links, those between two ranks, or a host's.
 */
#ifndef ANALYSES_SLOW_LINK_H
#define ANALYSES_SLOW_LINK_H

#include "comm.h"
#include "reconstruct/analysis.h"

/* A slow communicator, and the call of it that loses most. */
struct slow_link {
	uint64_t hash;
	const struct comm_row *row;
	double usual_ns; /* of the row's transfer, median of the others */
	size_t others;   /* that it is compared with */
	double lost_ns;  /* in an iteration, by all its calls */
};

enum slow_link_place {
	SLOW_LINK_UNKNOWN, /* several ranks or pairs may be it */
	SLOW_LINK_RANK,
	SLOW_LINK_PAIR,
	SLOW_LINK_HOST,
};

struct slow_links {
	struct slow_link *items; /* the most lost first */
	size_t count, room;
	double *lost_ns; /* by worker: in an iteration, by all slow ones that it is in */
	enum slow_link_place place;
	size_t workers[2]; /* of the place: one rank, a pair, or the first on the host */
	size_t hosts;      /* of the first one's ranks; 0: not known */
	struct comm comm;
};

/* `least_ns`: what one has to lose in an iteration. Nothing where ranks of a communicator have no trace. */
void slow_links_find(const struct analysis *analysis, double least_ns, struct slow_links *links);
void slow_links_free(struct slow_links *links);

#endif
