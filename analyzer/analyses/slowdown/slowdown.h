/*
 * How much slower a labelled job runs than it would if its work were even, and which part of it makes the
 * difference: what-if analysis after "Understanding Stragglers in Large Model Training Using What-if
 * Analysis" (arXiv 2505.05713); equation numbers are that paper's.
 *
 * The one idea: the job's graph (labelled_graph.h) is run again with other durations. T is the mean time of a
 * step with the durations measured; T_ideal with each duration that of its type: of computing, the optimizer
 * and garbage collection the mean over all workers, micro-batches and steps, of communication the median of
 * what moving data took. S = T / T_ideal (1). S of a part (type, worker, stage, data rank) is the time with
 * this part's durations as measured and all others ideal, over T_ideal (2, 4). What a part explains is
 * (T - T without) / (T - T_ideal), `without` with only this part's durations ideal (5); it can exceed 1,
 * where others gain from being compared with a mean that the part raised.
 *
 * Times are ns, means over steps where nothing else is said. Uses the job and graph as long as it lives.
 */
#ifndef ANALYSES_SLOWDOWN_SLOWDOWN_H
#define ANALYSES_SLOWDOWN_SLOWDOWN_H

#include "labelled_graph.h"

/* Below this slowdown the job is said to have no straggler. */
#define SLOWDOWN_LEAST 1.03
/* The workers that M_W is about: those with the greatest slowdown, in percent of all, rounded up. */
#define SLOWDOWN_WORST 3
/*
 * With more workers S of each is the lesser of its stage's and its data rank's, as the paper does; with more
 * data ranks (or stages) S is found of those that compute longest, and is NAN of the others.
 */
#define SLOWDOWN_EXACT 128

/* Parts by type; messages of a direction are one. */
struct slowdown_part {
	const char *name;
	double slowdown;   /* S of the part */
	double explained;  /* NAN where there is nothing to explain */
	double without_ns; /* T without it; NAN: not computed */
	double compute_ns; /* forward and backward computing of a worker in it, of a step; NAN for types */
	double ratio;      /* of that to the mean of all */
	size_t slowest;    /* steps in which it alone computed longest; 0 for types */
};

struct slowdown_step {
	int32_t number;
	double measured_ns;           /* from its first begin to its last end */
	double replayed_ns, ideal_ns; /* T and T_ideal of this step */
};

/* Why work is not even; each is taken away alone. */
enum slowdown_effect {
	SLOWDOWN_STAGES,        /* stages of the pipeline compute longer than others */
	SLOWDOWN_WORKERS,       /* workers of one stage compute longer than others of it */
	SLOWDOWN_BATCHES,       /* operations of one worker take different times */
	SLOWDOWN_COMMUNICATION, /* moving data takes longer than usual for its type */
	SLOWDOWN_COLLECTION,    /* garbage collection */
	SLOWDOWN_UPDATE,        /* the optimizer */
	SLOWDOWN_EFFECTS,
};

struct slowdown {
	const struct labelled *job;
	const struct labelled_graph *graph;
	double measured_ns, replayed_ns, ideal_ns;
	double slowdown;        /* S */
	double launch_slowdown; /* measured over T: what the labels do not explain */
	struct slowdown_step *steps;
	struct slowdown_part *types, *stages, *data, *workers;
	size_t step_count, type_count, stage_count, data_count, worker_count;
	bool exact;             /* of the workers */
	double worst_explained; /* M_W */
	size_t worst_count;     /* of workers that it is about */
	size_t worst;           /* the first of them */
	double last_explained;  /* M_S, of the last stage; NAN without pipeline */
	double effect_ns[SLOWDOWN_EFFECTS], effect[SLOWDOWN_EFFECTS]; /* T without it, and what it explains */
	int cause;                                                    /* enum slowdown_effect; -1: none */
	const char *cause_words;                                      /* a sentence or more */
	const char
		*recurring; /* stage, data rank or worker that is slowest in most steps, by far; NULL: none */
	double least;       /* slowdown below which there is no cause */
	int64_t *ideal_work_ns;     /* of each operation */
	int64_t *begin_ns, *end_ns; /* of each task, in the run at hand */
	double *step_ns;            /* of each step, in the run at hand */
	struct arena arena;
};

/* `least`: see SLOWDOWN_LEAST. The caller frees. */
void slowdown_find(struct slowdown *slowdown, const struct labelled *job, const struct labelled_graph *graph,
	double least);
void slowdown_free(struct slowdown *slowdown);

/* "stage imbalance"; -1: "none". And a word for programs. */
const char *slowdown_effect_name(int effect);
const char *slowdown_effect_key(int effect);

/* For slowdown_cause.c: mean time of a step with the operations' durations; NULL: as measured. */
double slowdown_run(struct slowdown *slowdown, const int64_t *work_ns);
void slowdown_find_cause(struct slowdown *slowdown);

#endif
