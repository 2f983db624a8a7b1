/* Where iterations begin when nothing but the repetition of calls tells. */
#ifndef RECONSTRUCT_ITERATION_PERIOD_H
#define RECONSTRUCT_ITERATION_PERIOD_H

#include "worker.h"

/*
 * Positions among the worker's calls at which iterations begin, in order, then where the last one ends; the
 * caller frees them. Fewer than three, if the calls do not repeat. keys: one per call, equal for the same
 * call of another iteration.
 */
size_t *iteration_period_cuts(
	const struct worker_model *model, const struct worker *worker, const uint64_t *keys, size_t *count);

#endif
