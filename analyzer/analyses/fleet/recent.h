/*
 * What a run does now: each rank's last iterations, as monitoring shows them, from its traces, from the page
 * of figures that each of its processes keeps (fleet.h), or from summaries. Times are medians over these, in
 * ns, NaN where there are none, the iterations are guessed, or the source does not have them.
 */
#ifndef ANALYSES_FLEET_RECENT_H
#define ANALYSES_FLEET_RECENT_H

#include "analyses/summary/summaries.h"
#include "fleet.h"
#include "reconstruct/run.h"

#define RECENT_LAST 20 /* used iterations over which times are medians: the last ones */
#define RECENT_EACH 40 /* and of which each time is kept */
/* Ranks are compared over so long at least: a pause of the machine is longer than a few short steps. */
#define RECENT_SPAN_NS 1000000000

struct recent_process {
	const char *host;
	int32_t rank; /* -1: unknown */
	uint32_t pid;
	bool ended;   /* in an orderly way */
	double calls; /* recorded; NaN: unknown */
	uint64_t lost_records;
};

struct recent_worker {
	const struct analysis_worker *worker; /* NULL: not from traces, nothing is known of layers */
	const struct recent_process *process;
	const char *name;    /* "rank 0" */
	int64_t device;      /* -1: unknown, or all of the process together */
	double count;        /* iterations of the whole run that are complete; NaN: not known */
	size_t whole;        /* of its used iterations, the first so many are complete */
	double confidence;   /* in them */
	double iteration_ns; /* the first of the medians */
	double before_ns;    /* the same over the RECENT_LAST before, or fewer */
	double compute_ns, wait_ns;
	double even_ns;               /* compute_ns over RECENT_SPAN_NS, where that is more */
	double phase_ns[PHASE_COUNT]; /* exclusive */
	double per_second;            /* iterations, over the time of the last, with what lies between */
	double each_ns[RECENT_EACH];  /* the last ones in order; used ones alone */
	size_t each_count;
};

enum recent_source { RECENT_TRACES, RECENT_PAGES, RECENT_SUMMARIES };

struct recent {
	enum recent_source source;
	struct run *run;     /* NULL: not from traces */
	const char *label;   /* the run's */
	struct arena *arena; /* for texts about it */
	struct arena own;    /* which it is, where the source has none that ends with it */
	struct recent_process *processes;
	size_t process_count;
	struct recent_worker *workers; /* of traces by worker of the analysis, else by rank */
	size_t worker_count;
	/* means over the workers */
	double iteration_ns, before_ns, per_second;
	double phase_ns[PHASE_COUNT];
	double imbalance; /* (3.8) of even_ns; NaN where nothing computes */
	size_t slowest;   /* the worker with the greatest; of several, of none without workers */
	double samples;   /* of an iteration over all workers, NaN: not known */
	double quiet_ns;  /* since the last record of any process; NaN: the run is over, or it is not known */
	bool ended;       /* all processes, in an orderly way */
	struct finding_list *findings; /* as `report` has them; NULL: not asked for, or not of this source */
	double device_bytes;           /* allocated on the device that has most; NaN: unknown */
	double hook_share;             /* of the time of the processes that have ended; NaN: none says */
};

/* `now_ns`: CLOCK_REALTIME when the run was read, or 0: not known. The run must stay. */
void recent_find(struct run *run, int64_t now_ns, struct recent *recent);

/* The same of a job by its pages, and of summaries, which say nothing of the last iterations: their medians
 * are those of all. Source and label must stay. */
void recent_of_fleet(struct fleet *fleet, const char *label, struct recent *recent);
void recent_of_summaries(struct summaries *job, struct recent *recent);
void recent_free(struct recent *recent);

/* What it loses time to, over all that was read; `job` is NULL, or the summaries that it is of. The worker
 * that is a straggler by them, the costliest of several; SIZE_MAX: none. */
void recent_conclude(struct recent *recent, struct summaries *job);
size_t recent_straggler(const struct recent *recent);

/* The median of computing over the last used iterations before the number `end`: RECENT_LAST, or so many that
 * they take RECENT_SPAN_NS; of fewer all. NaN: there are none. */
double recent_even(const struct analysis_worker *worker, size_t end);

/* For those: the figures of all workers together; a worker of which nothing is known. */
void recent_settle(struct recent *recent);
struct recent_worker recent_unknown(const struct recent_process *process);

/* A layer's mean time in a column over the last used iterations. */
double recent_layer(const struct recent_worker *worker, size_t layer, enum phase_layer_column column);

/*
 * The layer of the slowest worker whose forward and backward time is above the mean of the others' by most,
 * and by how much; of a run of one worker the one that takes longest. NULL: nothing is known of layers.
 */
const struct layer *recent_slowest_layer(const struct recent *recent, double *above_ns);

#endif
