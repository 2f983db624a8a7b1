/* The order of work of one process of a pipeline: see strategy.h. Pure arithmetic, without GPUs. */
#ifndef STRATEGY_SCHEDULE_H
#define STRATEGY_SCHEDULE_H

#include "strategy.h"

enum strategy_work {
	STRATEGY_FORWARD,
	STRATEGY_BACKWARD,
	STRATEGY_UPDATE,    /* with what has been summed since the last one */
	STRATEGY_ITERATION, /* this process has done its part of a batch */
	STRATEGY_DONE       /* of all batches, and nothing is left in the pipeline */
};

struct strategy_step {
	enum strategy_work work;
	int turn;              /* forward, backward: this process's micro-batches, counted from 0 */
	int micro_batch;       /* the same, counted over all processes of the stage and all batches */
	int is_first, is_last; /* of those that the next update is made of; in the order of backward */
};

struct strategy_schedule {
	const struct strategy *plan;
	int stage, replica;
	int turns; /* of all batches */
	int forwards, backwards;
	enum strategy_work after; /* what a finished backward still has to be followed by */
};

/* Before the first step of `iterations` batches. */
void strategy_begin(
	struct strategy_schedule *schedule, const struct strategy *plan, int rank, int iterations);

/* The next step; after STRATEGY_DONE there is none. */
struct strategy_step strategy_next(struct strategy_schedule *schedule);

#endif
