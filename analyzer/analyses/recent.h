/*
 * What a run does now: each rank's last iterations, as monitoring shows them. Times are medians over these,
 * in ns, NaN where there are none or the iterations are guessed.
 */
#ifndef ANALYSES_RECENT_H
#define ANALYSES_RECENT_H

#include "reconstruct/run.h"

#define RECENT_LAST 20   /* used iterations over which times are medians: the last ones */
#define RECENT_EACH 40   /* and of which each time is kept */
#define RECENT_SURE 0.5  /* confidence of the iterations below which their times are not known */
#define RECENT_BEFORE 10 /* iterations before those, at least, for a trend */

struct recent_worker {
	const struct analysis_worker *worker;
	const struct timeline_process *process;
	const char *name;    /* "rank 0", in the timeline's arena */
	double count;        /* iterations of the whole run that are complete; NaN: not known */
	size_t whole;        /* of its used iterations, the first so many are complete */
	double confidence;   /* in them */
	double iteration_ns; /* the first of the medians */
	double before_ns;    /* the same over the RECENT_LAST before, or fewer */
	double compute_ns, wait_ns;
	double phase_ns[PHASE_COUNT]; /* exclusive */
	double per_second;            /* iterations, over the time of the last, with what lies between */
	double each_ns[RECENT_EACH];  /* the last ones in order; used ones alone */
	size_t each_count;
};

struct recent {
	struct run *run;
	struct recent_worker *workers; /* by worker of the analysis */
	size_t worker_count;
	/* means over the workers */
	double iteration_ns, before_ns, per_second;
	double phase_ns[PHASE_COUNT];
	double imbalance; /* (3.8) of compute_ns; NaN where nothing computes */
	size_t slowest;   /* the worker with the greatest; of several, of none without workers */
	double samples;   /* of an iteration over all workers, NaN: not known */
	double quiet_ns;  /* since the last record of any process; NaN: the run is over, or it is not known */
	bool ended;       /* all processes, in an orderly way */
};

/* `now_ns`: CLOCK_REALTIME when the run was read, or 0: not known. The run must stay. */
void recent_find(struct run *run, int64_t now_ns, struct recent *recent);
void recent_free(struct recent *recent);

/* A layer's mean time in a column over the last used iterations. */
double recent_layer(const struct recent_worker *worker, size_t layer, enum phase_layer_column column);

/*
 * The layer of the slowest worker whose forward and backward time is above the mean of the others' by most,
 * and by how much; of a run of one worker the one that takes longest. NULL: nothing is known of layers.
 */
const struct layer *recent_slowest_layer(const struct recent *recent, double *above_ns);

#endif
