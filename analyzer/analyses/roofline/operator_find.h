/*
 * Which operator of the framework a piece of work on the device is of, and how much work that is
 * (work_operator.h): for traces that have operators with the sizes of their inputs, and no calls of
 * libraries.
 *
 * A call is of the innermost operator around it whose work is known, else of the innermost with sizes. What
 * an operator launches first stands for all of its work; its other kernels have time alone.
 */
#ifndef ANALYSES_ROOFLINE_OPERATOR_FIND_H
#define ANALYSES_ROOFLINE_OPERATOR_FIND_H

#include "reconstruct/analysis.h"
#include "work.h"

struct operator_finder;

/* NULL: no operator of the run has sizes. The caller frees it. */
struct operator_finder *operator_finder_make(const struct timeline *timeline);
void operator_finder_free(struct operator_finder *finder);

struct operator_found {
	uint32_t name;    /* in timeline.range_names */
	uint32_t inputs;  /* in timeline.strings */
	struct work work; /* nothing in it but its kind for what comes after the first */
	bool first;       /* of what the operator launched, as calls are asked for in their order */
};

/* Of a call of the process; NULL allowed. False: it is in no operator with sizes. */
bool operator_find(struct operator_finder *finder, const struct timeline_process *process,
	const struct timeline_call *call, struct operator_found *found);

#endif
