/*
 * Where each step of a long run begins of which not all was read, or not all has device times: told by a
 * call that every iteration makes once, and evaluations do not, which is looked for in the whole trace. So
 * steps have their true numbers, and how long each took is known, though not why.
 *
 * A step here is the time from one such call to the next, on the host: what lies between two iterations, as an
 * evaluation, is in the first of them, and where the host runs ahead of the device, it waits for a slow step
 * some steps later.
 */
#ifndef RECONSTRUCT_PACE_H
#define RECONSTRUCT_PACE_H

#include "phase.h"
#include "timeline/constants.h"

struct pace {
	uint32_t operation; /* that tells the steps, without addresses; valid if count > 0 */
	int64_t *begin_ns;  /* of its calls, rising; NULL: not known, or not needed */
	size_t count;
	size_t before; /* iterations that are in front of the first of them */
};

/* Finds it where the worker's process was not read as a whole, or some iterations have no device times. pace_free
 * in any case. */
void pace_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, const struct layer_list *layers, struct pace *pace);
void pace_free(struct pace *pace);

/* The place in the whole run, from 0, of an iteration: which of the steps it is. */
size_t pace_number(const struct pace *pace, const struct timeline *timeline, const struct worker *worker,
	const struct iteration *iteration);

/* Marks in `once`, by operation of the process and without addresses, those that each of the last usual
 * iterations calls once; false: there are no such iterations. */
bool pace_once(const struct timeline *timeline, const struct worker *worker, const struct iteration_list *list,
	uint32_t *once);

/* How long the steps of a whole run took. */
struct pace_steps {
	size_t count;
	double median_ns, most_ns; /* and the 99th percentile */
	size_t slow;               /* over PACE_SLOW times the median; SIZE_MAX: too many to be exceptions */
	double slow_share;         /* of the time of all: by how much they are longer than the median */
	size_t longest[3];         /* steps, the longest first; as many as are slow */
	double longest_ns[3];
};

/* False: there are too few to tell. Steps across a pause of the recording do not count. */
bool pace_steps(const struct pace *pace, const struct timeline_process *process, struct pace_steps *steps);

#endif
