/*
 * Who holds the others up, and why.
 *
 * A worker is looked into where the others wait for it: on average at least CAUSE_WAITING of an iteration
 * each. Why is found by comparing it with another worker that has the same layers and is among the faster
 * quarter; only stages of a pipeline have none, and are compared by how busy they are. Everything compared is
 * a median over iterations, and a cause counts if it costs at least FINDING_LEAST of an iteration and at
 * least CAUSE_EXPLAINS of what each of the others waits, and shows in at least CAUSE_RECURS of the
 * iterations: what happens now and then is no cause.
 */
#ifndef ANALYSES_CAUSE_CAUSE_H
#define ANALYSES_CAUSE_CAUSE_H

#include "analyses/balance.h"
#include "analyses/host_calls.h"
#include "timeline/thresholds.h"

#define CAUSE_LIST(X) \
	X(SLOWER, "slower", "slower throughout") \
	X(LAYER, "layer", "slower layer") \
	X(LAYERS, "layers", "several slower layers") \
	X(WORK, "work", "more work") \
	X(INPUT, "input", "slow input") \
	X(CALL, "call", "the host is blocked in") \
	X(PAUSE, "pause", "the host pauses") \
	X(HOST, "host", "launch-bound: the host enqueues late") \
	X(STAGE, "stage", "pipeline stage with more work") \
	X(LINK, "link", "slow link") \
	X(UNKNOWN, "unknown", "cause not identified")

enum cause_kind {
#define CAUSE_ITEM(name, key, text) CAUSE_##name,
	CAUSE_LIST(CAUSE_ITEM)
#undef CAUSE_ITEM
		CAUSE_COUNT,
};

struct cause {
	enum cause_kind kind;
	size_t worker;
	size_t other;          /* worker at the link's other end, else `worker` */
	const char *layer;     /* as people are shown it; "": not of one layer */
	const char *text;      /* in a few words; NULL: cause_text's */
	const char *advice;    /* what to try; NULL: what is usual for the kind */
	bool inferred;         /* by what else it may be: likely at most */
	double wait_caused_ns; /* what the others, summed, wait for the worker in an iteration, mean */
	double share;          /* of the others' time */
	double cost_ns;        /* of this cause, in an iteration; NaN: not known */
	bool is_mean;          /* cost and evidence are means of typical iterations (step.h); else medians */
	double factor;         /* so many times as long, as much; NaN: none */
	const char *evidence;  /* in words and numbers */
};

struct cause_list {
	struct cause *items; /* by worker, costliest first */
	size_t count, room;
	struct arena arena;
};

/* `balance` is of the same analysis, as `calls` are, by worker; NULL: what the hosts did is not known. */
void cause_find(const struct analysis *analysis, const struct balance *balance,
	const struct host_calls *calls, struct cause_list *list);
void cause_free(struct cause_list *list);

/* The one that costs the others most waiting first. */
void cause_sort(struct cause_list *list);

const char *cause_key(enum cause_kind kind);
const char *cause_text(enum cause_kind kind);

#endif
