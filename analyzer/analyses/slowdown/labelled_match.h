/* Which computing a send or receive belongs to: what labelled_graph.c asks labelled_match.c. */
#ifndef ANALYSES_SLOWDOWN_LABELLED_MATCH_H
#define ANALYSES_SLOWDOWN_LABELLED_MATCH_H

#include "import/labelled.h"

/* Operations of one worker in one step, by type; numbers of operations, in order of time. */
struct labelled_lists {
	const uint32_t *items[LABELLED_TYPES];
	uint32_t count[LABELLED_TYPES];
};

/*
 * Sets computing[i] for each item of the messages' type (LABELLED_NONE: none), and whether it goes nowhere:
 * profilers also record the calls at the ends of the pipeline that send and receive nothing.
 */
void labelled_match(const struct labelled *job, const struct labelled_lists *lists, unsigned type,
	uint32_t *computing, bool *nowhere);

/* The computing of the neighbouring part of the model whose result this one needs; LABELLED_NONE: none.
 * `lists` are those of the step's workers, `worker_at` the workers by stage and lane. */
uint32_t labelled_source(const struct labelled *job, const struct labelled_lists *lists,
	const uint32_t *worker_at, uint32_t operation);

/* The stage that a message's other end is at. */
int32_t labelled_peer_stage(const struct labelled *job, unsigned type, int32_t stage);

#endif
