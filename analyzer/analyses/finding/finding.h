/*
 * What a run loses time to: one list, made once, that all commands print from, so that no two of them name
 * another cause or another gain.
 *
 * A finding's gain is an upper bound: the idle or waiting time of an iteration that would be gone with it,
 * and never more than that. It is taken from the exclusive accounting (phase.h), where each instant has one
 * owner, so the gains of findings on one rank's time do not overlap. What all ranks have in common counts
 * with the rank that has least of it; what one rank has alone makes the others wait and is that straggler's.
 * Typical times are medians over the used iterations; what iterations far above the median lose is a finding
 * of its own.
 */
#ifndef ANALYSES_FINDING_FINDING_H
#define ANALYSES_FINDING_FINDING_H

#include "analyses/cause/cause.h"
#include "analyses/host_calls.h"
#include "analyses/slow_link.h"
#include "analyses/slowdown/slowdown_job.h"
#include "base/table.h"
#include "timeline/thresholds.h"

#define FINDING_HEADLINE 3 /* so many open a report */

/* What is not looked for where no iterations are known. */
#define FINDING_NEED_ITERATIONS "jitter, outliers, evaluation, offload"

#define FINDING_LIST(X) \
	X(STRAGGLER, "straggler", "pmanalyze balance") \
	X(WAITING, "waiting", "pmanalyze balance") \
	X(LINK, "slow_link", "pmanalyze comm") \
	X(IMBALANCE, "imbalance", "pmanalyze slowdown") \
	X(INPUT, "input", "pmanalyze path") \
	X(OFFLOAD, "offload", "pmanalyze kernels") \
	X(CALL, "blocking_call", "pmanalyze report --calls") \
	X(LAUNCH, "launch", "pmanalyze report --calls") \
	X(LATENCY, "latency", "pmanalyze path") \
	X(COMMUNICATION, "communication", "pmanalyze comm") \
	X(OUTLIERS, "outliers", "pmanalyze report --iterations --csv") \
	X(EVALUATION, "evaluation", "pmanalyze report --iterations --csv") \
	X(COMPUTING, "computing", "pmanalyze layers")

enum finding_kind {
#define FINDING_ITEM(name, key, command) FINDING_##name,
	FINDING_LIST(FINDING_ITEM)
#undef FINDING_ITEM
		FINDING_COUNT,
};

enum finding_strength {
	FINDING_STRONG, /* in five or more iterations, of all ranks */
	FINDING_LIKELY, /* in fewer, or where something that could matter is not recorded */
	FINDING_WEAK,   /* in one or two, or where what decides is missing */
};

struct finding {
	enum finding_kind kind;
	enum finding_strength strength;
	const char *cause;   /* key of the cause or effect of a straggler or imbalance; "": none */
	const char *subject; /* what it is about, the same in another run of the program: "rank 2, conv2" */
	const char *title;   /* some words, for a line that begins with them */
	const char *text;    /* a sentence or more with the figures */
	const char *basis;
	const char *advice; /* what to try, an imperative without a full stop */
	size_t worker;      /* SIZE_MAX: all */
	const char *layer;  /* as people are shown it; "" */
	double gain_ns;     /* of a typical iteration, at most; NaN: no idle time is behind it */
	double lost_ns;     /* idle or waiting time that it causes, the bound; NaN: none */
};

struct finding_list {
	struct analysis
		*analysis;     /* NULL: of summaries (summaries.h), which have step, causes and items alone */
	struct finding *items; /* the greatest gain first; those without a gain last */
	size_t count, room;
	struct step step;
	struct balance balance;
	struct cause_list causes;
	struct slow_links links;
	struct slowdown_job *job; /* labelled phases are all there is; else NULL */
	struct host_calls *calls; /* by worker */
	bool cut;                 /* a file breaks off: what is missing may lie in any iteration */
	struct arena arena;
};

/* `analysis` must stay, and gets texts into its arena. */
void findings_find(struct analysis *analysis, struct finding_list *list);
void findings_free(struct finding_list *list);

/* What the finding gains, of a mean step: the same basis for all of a list, in text, JSON and HTML. */
double finding_share(const struct finding_list *list, const struct finding *finding);

/* "input"; the command that shows more; "strong". */
const char *finding_key(enum finding_kind kind);
const char *finding_command(enum finding_kind kind);
const char *finding_strength_text(enum finding_strength strength);

/* The list as text: how long a step takes, then at most `most` findings, numbered; and as members "step" and
 * "findings" of a JSON object. */
void findings_print(struct finding_list *list, size_t most, FILE *out);
void findings_json(struct finding_list *list, cJSON *object);

/* How long a step takes and the first finding, in a line or two: the head of commands that show something
 * else. */
void findings_print_first(struct finding_list *list, FILE *out);

/* Those of a kind, in order of gain; answers how many. */
size_t findings_print_kind(struct finding_list *list, enum finding_kind kind, FILE *out);

/* Those of stragglers, of waiting and of imbalance, under a title of their own; or that there is none. */
void findings_print_stragglers(struct finding_list *list, FILE *out);

/* "3 of 3 ranks"; in the list's arena. */
const char *finding_ranks(struct finding_list *list);

/* A row for each host call of each worker: calls, time and idle time of the GPU, of an iteration
 * (host_calls.h), in order of idle time, and where the program was for most of that; the last row is the idle
 * time in no call. No rows for labelled phases. `all` false: without calls that are nearly nothing. */
void findings_calls(struct finding_list *list, bool all, struct print_table *table);

/* "Straggler rank 2: slower layer conv2: at most 4.021 ms a step (22.0%)"; in the list's arena. */
const char *finding_title_text(struct finding_list *list, const struct finding *finding);

/* "Step: median 12.3 ms, ..."; in the list's arena. */
const char *finding_step_text(struct finding_list *list);

#endif
