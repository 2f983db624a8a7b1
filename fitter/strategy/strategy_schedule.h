/*
 * The order in which a worker of a pipeline does its work: the same whatever the times. The caller of
 * strategy_schedule owns the steps.
 */
#ifndef STRATEGY_SCHEDULE_H
#define STRATEGY_SCHEDULE_H

#include "strategy.h"

enum strategy_work { STRATEGY_STEP_FORWARD, STRATEGY_STEP_BACKWARD, STRATEGY_STEP_UPDATE };

struct strategy_step {
	enum strategy_work work;
	size_t stage, micro_batch; /* forward, backward; micro-batches are counted over all batches */
};

struct strategy_schedule {
	struct strategy_step *steps;
	size_t count;
};

/*
 * Of a worker, for so many batches:
 *
 * GPipe: all forward passes of a batch, then all backward passes, the latest first, and an update.
 * PipeDream (1F1B): as many forward passes as keep later stages busy, then backward and forward in turn, with
 * an update for each, across batches. Layer-wise: the same, with more forward passes ahead.
 * 1F1B with a flush: the same within a batch, with one update after it. With v chunks, p workers take p
 * micro-batches through a chunk, then the same through the next [Megatron-LM, section 2.2.2]; so chunks need
 * micro-batches that p divides.
 *
 * 0 or -ENOMEM.
 */
int strategy_schedule(
	const struct strategy_plan *plan, size_t worker, size_t batches, struct strategy_schedule *schedule);

/* Of a worker at a place of a pipeline with flushes and chunks: forward passes before the first backward
 * pass, and its k-th forward or backward pass of a batch. */
size_t strategy_warm_up(const struct strategy_plan *plan, size_t place, size_t turns);
struct strategy_step strategy_pass(
	const struct strategy_plan *plan, enum strategy_work work, size_t place, size_t k);

/* The place that the worker has, with one chunk its stage, and which of its replicas it is. */
size_t strategy_stage_of(const struct strategy_plan *plan, size_t worker, size_t *replica);

/* The replicas of a stage take turns: the worker that has the micro-batch. */
size_t strategy_worker_of(const struct strategy_plan *plan, size_t stage, size_t micro_batch);

/* Updates that a worker does in a batch: PipeDream's one for each of its micro-batches. */
size_t strategy_updates(const struct strategy_plan *plan, size_t worker);

#endif
