/*
 * What would be if some of a run's work were faster: the run's tasks (replay_build.h) replayed with other
 * durations. Dependencies, queues and latencies stay as they were, so the answer says what the change would
 * bring to the program as it is written; a program that would then do other things (another algorithm,
 * another number of ranks) is not foreseen.
 *
 * The slowdown S = t / t_ideal, where t_ideal is the replay in which each kind of work takes all ranks the
 * same time, is that of Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis"
 * (arXiv 2505.05713); their kinds are operations, ours the work of a layer in a phase.
 */
#ifndef ANALYSES_REPLAY_WHATIF_H
#define ANALYSES_REPLAY_WHATIF_H

#include "analyses/balance.h"
#include "replay_build.h"

enum whatif_kind {
	WHATIF_LAYER,         /* forward, backward and update of a layer take 1 / factor */
	WHATIF_COMMUNICATION, /* data move in 1 / factor of the time, after all have arrived */
	WHATIF_OVERLAP,       /* communication is hidden where the data's dependencies allow */
	WHATIF_HOST,          /* hosts take no time to give work */
	WHATIF_INPUT,         /* reading, dividing and copying the batch take no time */
	WHATIF_BALANCE,       /* all ranks of a stage take the mean of their times */
	WHATIF_STAGES,        /* all stages take the mean of their times, too */
	WHATIF_RANK,          /* a worker takes the median of the others of its stage */
};

struct whatif_change {
	enum whatif_kind kind;
	double factor;   /* WHATIF_LAYER, WHATIF_COMMUNICATION; above 0 */
	uint32_t layer;  /* WHATIF_LAYER: in replay_job.layers */
	uint32_t worker; /* WHATIF_RANK */
};

/* A job that is changed. WHATIF_OVERLAP is not among the changes it takes: see whatif_overlap. */
struct whatif {
	struct replay_job *job; /* its durations are changed; must stay */
	int64_t *begin_ns, *end_ns;
	struct whatif_cells *cells; /* what each worker spends; NULL until asked for */
};

void whatif_init(struct whatif *whatif, struct replay_job *job);
void whatif_free(struct whatif *whatif);

/* Changes add to those before. */
void whatif_apply(struct whatif *whatif, const struct whatif_change *change);

/* As it was again. */
void whatif_reset(struct whatif *whatif);

/* Replays; answers the mean time of a settled iteration in ns (replay_mean). */
double whatif_run(struct whatif *whatif);

/*
 * Lets communication wait for the gradients and the other ranks alone, and of the other work only the update,
 * the host and other communication wait for communication. Without layers in a communication, it stays as it
 * was. Must come before changes and whatif_init.
 */
void whatif_overlap(struct replay_job *job);

/* Is there another worker that WHATIF_RANK could compare it with? */
bool whatif_has_peers(const struct analysis *analysis, size_t worker);

struct whatif_result {
	struct whatif_change change;
	double predicted_ns; /* an iteration, mean: what is measured without the gain */
	double gain_ns;      /* below 0: slower; at most whatif_bound */
	double speedup;
};

struct whatif_list {
	double measured_ns, replayed_ns; /* an iteration, mean, as it was */
	double settled_ns;               /* the same of settled iterations, which gains are found from */
	struct whatif_result *items;     /* the greatest gain first */
	size_t count, room;
	size_t iteration_count, used_count; /* replayed, of those used */
	size_t meeting_count, recorded_waits, inferred_waits, negative_count, cycle_count;
	double slowdown;        /* S over ranks of a stage; NaN where nothing could be replayed */
	double slowdown_stages; /* S over stages too */
};

/*
 * The most that a change can gain: the idle and waiting time of an iteration that it removes, mean over the
 * used ones. A replay may find more, as where it moves work that the program would not; infinite where
 * nothing bounds it, as for layers.
 */
double whatif_bound(
	const struct analysis *analysis, const struct balance *balance, const struct whatif_change *change);

/* The changes that are worth asking for, each by itself; layers and communication by `factor`. The job is as
 * before then. */
void whatif_standard(struct replay_job *job, double factor, struct whatif_list *list);

/* These changes together, as the only item; its change is the first one. */
void whatif_together(const struct analysis *analysis, size_t most, const struct whatif_change *changes,
	size_t count, struct whatif_list *list);
void whatif_list_free(struct whatif_list *list);

/* "conv2 2× as fast", for people; in the timeline's arena. */
const char *whatif_words(
	struct analysis *analysis, const struct replay_job *job, const struct whatif_change *change);

/* How many used iterations to replay at most so that it takes seconds: by the calls of an iteration. */
size_t whatif_most(const struct analysis *analysis);

/*
 * S of the run: t / t_ideal with all ranks alike, and with all stages alike too (`stages`, may be NULL). NaN
 * where there is nothing to replay, or what is there does not tell what waits for what (labels alone).
 */
double whatif_slowdown(const struct analysis *analysis, double *stages);

#endif
