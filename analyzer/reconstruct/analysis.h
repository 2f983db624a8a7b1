/*
 * A run, analyzed: its timeline, and for each worker iterations, layers and phases; then the figures that
 * reports print.
 */
#ifndef RECONSTRUCT_ANALYSIS_H
#define RECONSTRUCT_ANALYSIS_H

#include "pace.h"

struct analysis_worker {
	const struct worker *worker;
	struct iteration_list iterations;
	struct layer_list layers;
	struct phase_list phases;
	struct pace pace; /* where not all was read, or not all has device times */
	uint32_t *used;   /* numbers of the iterations that count */
	size_t used_count;
	uint32_t stage; /* workers with the same layers have the same; numbered from 0 by first worker */
};

/* Iterations that were found and are not believed: ITERATION_UNKNOWN. */
struct analysis_rejected {
	enum iteration_source source;
	size_t count; /* 0: none */
	double confidence;
	struct iteration_candidates candidates;
};

struct analysis {
	struct timeline timeline;
	struct worker_model model;
	struct collective_list collectives;
	int64_t *wait_ns; /* by call */
	struct analysis_worker *workers;
	size_t worker_count;  /* N_g: workers with iterations come first, and only they count */
	size_t idle_count;    /* workers without */
	uint32_t stage_count; /* 1: each worker has the whole model */
	bool only_exchanges;  /* no call computes or updates, and most device time is of collectives */
	bool is_whole;        /* no iterations are known: the recording, or each stretch of it, counts as one */
	struct analysis_rejected rejected; /* where that is so */
	bool is_chosen;       /* by analysis_choose: of the used iterations alone something is asked */
};

#define ANALYSIS_SKIP 1 /* iterations at the start left out, unless asked otherwise */

/*
 * Finds the stages and gives layers names that are different over all of them (stage.c); done by
 * analysis_init. Workers with the same layers are replicas of a stage, unless the run's ranks send messages
 * to each other: then only if they also exchange gradients.
 */
void stage_find(struct analysis *analysis);

/* The first worker of a stage. */
const struct analysis_worker *stage_first(const struct analysis *analysis, uint32_t stage);

/* Takes over the timeline, which must be settled. */
void analysis_init(struct analysis *analysis, struct timeline *timeline, size_t skip);
void analysis_init_as(
	struct analysis *analysis, struct timeline *timeline, const struct iteration_options *options);
void analysis_free(struct analysis *analysis);

/*
 * The number of a worker's iteration: the program's step, where marks of steps have numbers, else its place
 * in the run, from 0: among the worker's iterations, if not all was read by its pace.
 */
int64_t analysis_number(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration);

/*
 * Uses the iterations alone whose numbers all workers have; nothing where steps are not numbered, and each
 * worker has device times of all, or no number is common. Done by analysis_init.
 */
void analysis_meet(struct analysis *analysis);

/*
 * Uses the iterations with these numbers alone. False: some worker has none of them, and nothing is changed;
 * a sentence in `error`, in the timeline's arena.
 */
bool analysis_choose(struct analysis *analysis, int64_t first, int64_t last, const char **error);

struct analysis_statistics {
	double mean, deviation, median, least, greatest; /* NaN without values */
	size_t count;
};

/* Of the values, none of them NaN, which are put in another order. The deviation is that of a sample (n - 1).
 */
struct analysis_statistics analysis_statistics(double *values, size_t count);

enum analysis_accounting { ANALYSIS_BUSY, ANALYSIS_EXCLUSIVE };

/*
 * Over the used iterations of `count` workers together, in ns. The deviation is that over iterations within a
 * worker (the root of the workers' mean variance): how workers differ from each other is the imbalance's
 * business.
 */
struct analysis_statistics analysis_phase(const struct analysis_worker *workers, size_t count,
	enum phase phase, enum analysis_accounting accounting);
struct analysis_statistics analysis_iteration(const struct analysis_worker *workers, size_t count);
struct analysis_statistics analysis_compute(const struct analysis_worker *workers, size_t count);
struct analysis_statistics analysis_wait(const struct analysis_worker *workers, size_t count);

/* Likewise; the layer has this name, workers that have no such layer are passed over. */
struct analysis_statistics analysis_layer(const struct analysis_worker *workers, size_t count,
	const char *name, enum phase_layer_column column);

/* The same of work that is no layer's, mean. */
double analysis_no_layer(const struct analysis_worker *workers, size_t count, enum phase_layer_column column);

/*
 * Whether the run's trace can tell this phase's time. Labels are all that is known of a trace of labelled
 * phases: of a phase that has none, and of why a worker was idle, nothing is, and its 0 is no measurement.
 * Nor is that of the passes and the update where all work is a graph's or other, and of reading and splitting
 * batches in a trace of another profiler.
 */
bool analysis_phase_known(const struct analysis *analysis, enum phase phase);

/* Do the ranks exchange for most of the device's time, and compute and update nothing? So benchmarks of
 * collectives do: what repeats is no iteration of training. False of other profilers' traces. */
bool analysis_is_communication(const struct analysis *analysis);

/* The same of all calls, whatever iterations there are: while the analysis begins. */
bool analysis_exchanges_only(const struct timeline *timeline);

/* Whether most work goes forward, none backward, and nothing updates: inference, or a part of training. */
bool analysis_is_forward_only(const struct analysis *analysis);

/*
 * Iterations of the whole run: those that are there, and with a trace of constant size those that were
 * dropped, by the calls of operations that each iteration has once. NaN: those do not agree.
 */
double analysis_iterations(const struct analysis *analysis, const struct analysis_worker *worker);

/* Samples of an iteration over all workers, from the first layers' inputs; 0: not known, as where that is a
 * product whose rows are not those of all others. */
double analysis_samples(const struct analysis *analysis);

/* The iterations of the worker of which they are the least sure; NULL without workers. */
const struct iteration_list *analysis_least_sure(const struct analysis *analysis);

/* The worker that computes longest, on average. */
size_t analysis_slowest(const struct analysis *analysis);

/*
 * The calls of an iteration in order, with their roles:
 *
 *     struct analysis_walk at = analysis_walk(analysis, worker, iteration);
 *
 *     while (analysis_next(&at))
 */
struct analysis_walk {
	const struct analysis *analysis;
	const struct analysis_worker *worker;
	size_t iteration, next; /* in the worker's list, in the iteration */
	struct layer_gap gap;   /* where the next call is */
	uint32_t interval;      /* the last that a call had */

	/* the call that it has come to */
	uint32_t number; /* in the timeline */
	struct timeline_call call;
	const struct layer_role *role;
	bool is_shared; /* its intervals are those of a call before it, of one group: they count once */
};

struct analysis_walk analysis_walk(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration);
bool analysis_next(struct analysis_walk *at);

/* "rank 0", or with several devices in a process "rank 0 gpu 1"; in the timeline's arena. */
const char *analysis_worker_name(struct analysis *analysis, const struct analysis_worker *worker);

#endif
