/*
 * The summaries of a job, as `report` reads them: thousands of ranks, put in order, their clocks settled and
 * their waiting for each other worked out from the collectives that all of them kept.
 *
 * Means over ranks and iterations are exact: they are those that an analysis of all traces together finds.
 * Deviations too; medians over ranks are medians of the ranks' medians. Waiting is that of the sampled
 * iterations.
 */
#ifndef ANALYSES_SUMMARY_SUMMARIES_H
#define ANALYSES_SUMMARY_SUMMARIES_H

#include "analyses/finding/finding.h"
#include "reconstruct/analysis.h"
#include "summary.h"

/* A GPU of a rank, with used iterations or (after those) without. */
struct summaries_worker {
	const struct summary *summary;
	const struct summary_worker *figures;
	uint32_t stage; /* workers whose layers have the same parameters have the same; from 0, by first
			   worker */
	uint32_t host;
	double wait_ns, wait_caused_ns; /* in an iteration, as struct balance_rank's; NaN: no collectives */
	size_t sample_count;            /* sampled iterations */
	size_t late_count; /* of those: in which the others waited CAUSE_WAITING of an iteration for it */
	size_t last_count; /* sampled collectives at which it was the last to arrive and was waited for */
};

struct summaries_host {
	const char *name;
	uint32_t first_worker;
	int64_t offset_ns;  /* to be added to its monotonic clock: its wall clock, and what settles it */
	int64_t settled_ns; /* of that: what was added to what the wall clocks say */
	double unsure_ns;   /* half of what causality leaves open; NaN: no collective with the others */
	bool settled;
};

struct summaries {
	const char *label;
	struct summary_list list;
	struct summary_names names; /* its arena is that of all texts here */
	struct summaries_worker *workers;
	size_t worker_count, idle_count;
	uint32_t stage_count;
	const struct summary_model **stages; /* the layers of the first worker of each */
	struct summaries_host *hosts;
	size_t host_count;
	size_t meeting_count;  /* collectives of which nine in ten of their ranks were seen, sampled */
	size_t partial_count;  /* others: left out */
	int64_t residual_ns;   /* how far clocks contradict a collective at most, after settling */
	int32_t world;         /* -1: not known */
	size_t rank_count;     /* different ranks */
	const char **troubles; /* files that could not be read, and ranks that are there twice; one sentence
				  each */
	size_t trouble_count, trouble_room;
};

/*
 * Reads files and folders (their *.pmsum). -1 if there is no summary at all, with a sentence in `error`,
 * which the caller frees; summaries_close follows only after 0.
 */
int summaries_open(struct summaries *job, char **paths, size_t path_count, char **error);
void summaries_close(struct summaries *job);

/* Fills the workers' waiting and the hosts' clocks; done by summaries_open (summaries_wait.c). */
void summaries_wait(struct summaries *job);

/* A spread of struct summary_worker by its offset, over `count` workers. `median`: of the medians. */
struct analysis_statistics summaries_pool(
	const struct summaries_worker *workers, size_t count, size_t offset);

static inline const struct summary_spread *summaries_spread(
	const struct summaries_worker *worker, size_t offset)
{
	return (const struct summary_spread *)((const char *)worker->figures + offset);
}

#define SUMMARIES_BUSY(phase) \
	(offsetof(struct summary_worker, busy) + (size_t)(phase) * sizeof(struct summary_spread))
#define SUMMARIES_EXCLUSIVE(phase) \
	(offsetof(struct summary_worker, exclusive) + (size_t)(phase) * sizeof(struct summary_spread))

/* (3.8) of the means; NaN where nothing took time. `slowest` (may be NULL): the worker with the greatest. */
double summaries_imbalance(const struct summaries *job, size_t offset, size_t *slowest);

/* The layer's place among the worker's layers by its name, SIZE_MAX: none. `hint`: where it may be. */
size_t summaries_layer(const struct summary_model *model, const char *name, size_t hint);

/*
 * What people are shown of a layer: the program's name, or its kind with a number that counts over all
 * stages, as stage_find does; in the arena.
 */
const char *summaries_title(struct summaries *job, uint32_t stage, const struct summary_name *name);

/* (3.3) from busy times, as report_equation. */
double summaries_equation(const struct summaries *job);

/* "rank 3", "rank 3 gpu 1"; in the arena. */
const char *summaries_name(struct summaries *job, const struct summaries_worker *worker);

/*
 * The straggler and its cause (summaries_cause.c), by the rules of cause.h, with means of layers in place
 * of single operations. `worker` of a cause is the job's. A pipeline's stages and links are not
 * distinguished.
 */
void summaries_causes(struct summaries *job, struct cause_list *list);

/*
 * What the job loses time to, as findings_find's list (summaries_finding.c); `causes` in it are those of
 * summaries_causes. Calls, outliers, stages and links are not in summaries. findings_free frees it.
 */
void summaries_findings(struct summaries *job, struct finding_list *list);

/* What is not as it should be, one sentence each; ranks with the same share one; NULL at the end. */
const char **summaries_warnings(struct summaries *job);

#endif
