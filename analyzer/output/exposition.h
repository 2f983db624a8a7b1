/* A job that an agent watches (analyses/fleet), in the text format that Prometheus scrapes. */
#ifndef OUTPUT_EXPOSITION_H
#define OUTPUT_EXPOSITION_H

#include "analyses/fleet/fleet.h"

#include <stdio.h>

/* Why nothing moves, while that is so. */
struct exposition_hang {
	const char *class_key, *strength; /* as `pmanalyze hang --json` has them; NULL: it does not hang */
	const char **ranks, **hosts;      /* of the culprits */
	size_t rank_count;
};

struct exposition {
	const struct fleet *fleet; /* NULL: there is no job, or it is over: the agent's own figures alone */
	const char *labels;        /* of the user's: name="value",... fit for the format, or "" */
	const char *job;
	bool ranks;       /* series of each rank, too */
	double straggler; /* imbalance from which the slowest rank is one */
	const struct exposition_hang *hang;
	double look_s; /* how long the last look took */
	double looks;
};

/* Labels: those of the user, job and attempt, and where they say something host, rank, class, state. Times
 * are in seconds, unknown ones have no line. */
void exposition_write(const struct exposition *exposition, FILE *out);

#endif
