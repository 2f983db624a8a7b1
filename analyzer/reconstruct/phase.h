/*
 * The time of each phase in each iteration of a worker, in two accountings.
 *
 * Busy: the time during which some work of the phase was done, by the calls that belong to the iteration;
 * phases that overlap are each counted in full. Exclusive: each instant between the iteration's start and end
 * belongs to exactly one phase, so the phases add up to the iteration's time to the nanosecond. Where several
 * work at once the first of these has the instant: forward, backward, update, graph, communication, division
 * on the device, copies from the host, other work, file input, division on the host. What is left is idle,
 * with a cause. The time of communication that nothing hides is therefore its exclusive time.
 */
#ifndef RECONSTRUCT_PHASE_H
#define RECONSTRUCT_PHASE_H

#include "layer.h"
#include "phase_sweep.h"
#include "timeline/collective.h"

struct phase_times {
	int64_t iteration_ns;
	int64_t busy_ns[PHASE_COUNT]; /* idle phases: as exclusive */
	int64_t exclusive_ns[PHASE_COUNT];
	int64_t compute_ns; /* during which forward, backward or update work was done, or a graph of them */
	int64_t wait_ns;    /* part of communication: for the last rank to arrive */
};

/* One per iteration of the list, in its order; all of them, used or not. */
struct phase_list {
	struct phase_times *times;
	double *layers_ns;  /* [iteration][layer][PHASE_LAYER_COLUMNS], shares of calls' times */
	double *outside_ns; /* [iteration][PHASE_LAYER_COLUMNS]: of calls that are no layer's */
	size_t layer_count;
	bool *unknown; /* [layer][PHASE_LAYER_COLUMNS]: part of the time is in that of a graph, if not all */
};

/* wait_ns: by call of the timeline, from phase_waits; may be NULL. */
void phase_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, const struct layer_list *layers, const int64_t *wait_ns,
	struct phase_list *list);
void phase_free(struct phase_list *list);

/*
 * The exclusive accounting as stretches of time, handed out in order: those of an iteration cover it without
 * gap or overlap, and their lengths add up to its exclusive_ns.
 */
void phase_stretches(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, const struct layer_list *layers,
	void (*take)(void *context, enum phase phase, int64_t begin_ns, int64_t end_ns), void *context);

/* For each call how long its rank waited in it for the last rank to begin; the caller frees it. */
int64_t *phase_waits(const struct timeline *timeline, const struct collective_list *collectives);

#define PHASE_NO_ITERATION SIZE_MAX

/*
 * The role of a call: of the iteration with this number in the worker's list, or of PHASE_NO_ITERATION. gap:
 * where it is among the iteration's computations, {0} at its start, which steps on over the call; outside of
 * iterations it may be NULL. Computations of iterations with a few more or fewer than the one that layers
 * were found in have the role of their partner there; one without a partner goes by those around it, or by
 * its operation.
 */
const struct layer_role *phase_role(const struct worker_model *model, const struct worker *worker,
	const struct layer_list *layers, size_t iteration, struct layer_gap *gap, uint32_t operation);

#endif
