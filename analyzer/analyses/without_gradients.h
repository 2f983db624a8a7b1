/*
 * Forward work while the framework records no gradients: of a teacher, a frozen part, an evaluation, a
 * rollout. What an operator says of it stands in traces of other profilers
 * (timeline_operation.given_no_gradients); between iterations it is any pass without an update. Nothing goes
 * back through it.
 */
#ifndef ANALYSES_WITHOUT_GRADIENTS_H
#define ANALYSES_WITHOUT_GRADIENTS_H

#include "reconstruct/analysis.h"

struct without_gradients {
	double forward_ns, without_ns; /* device time of forward work, and of that without gradients */
};

/* In an iteration of the worker, by its number in the worker's list; and in its used ones, mean. */
struct without_gradients without_gradients_in(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration);
struct without_gradients without_gradients_of(
	const struct analysis *analysis, const struct analysis_worker *worker);

/* Evaluation in the iteration before that one, and between the two. */
double without_gradients_before(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration);

#endif
