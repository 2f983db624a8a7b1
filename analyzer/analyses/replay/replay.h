/*
 * A simulation of work with dependencies: each task begins when all that it waits for has ended, and takes
 * the time that it is given. The same graph run with other durations tells what would be if some of the work
 * were faster; its critical path tells which work the whole waits for.
 *
 * The one idea: what was measured and what the dependencies explain differ by a little everywhere (latencies,
 * work that was not seen). replay_explain keeps each difference as a lag of the edge that was the last to
 * let go, so that a run with the measured durations gives the measured times exactly, and a run with others
 * differs only by what was changed.
 *
 * This is the critical path method for activities with minimum time lags (Kelley and Walker, 1959).
 * Times are ns. Nothing here allocates per run, and a run takes time linear in tasks and edges.
 */
#ifndef ANALYSES_REPLAY_REPLAY_H
#define ANALYSES_REPLAY_REPLAY_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLAY_NONE UINT32_MAX

/* The task that has the edge begins no earlier than the end of `task`, plus the lag (which may be negative).
 */
struct replay_edge {
	uint32_t task;
	int64_t lag_ns;
};

struct replay_task {
	int64_t begin_ns, end_ns; /* as it was */
	int64_t duration_ns;      /* as it is to be; not below 0 */
	int64_t earliest_ns;      /* it begins no earlier than this; INT64_MIN: any time */
	uint32_t first_edge, edge_count;
};

/* Tasks are in topological order: edges lead to tasks before. Whoever has it frees it with replay_free. */
struct replay {
	struct replay_task *tasks;
	size_t task_count, task_room;
	struct replay_edge *edges;
	size_t edge_count, edge_room;
};

/* A new task after all others, with its measured duration; answers its number. */
uint32_t replay_add(struct replay *replay, int64_t begin_ns, int64_t end_ns);

/* The last task that was added waits for this earlier one. REPLAY_NONE: nothing is added. */
void replay_wait_for(struct replay *replay, uint32_t task, int64_t lag_ns);

/* That `task` waits for `before`, where tasks were not added in topological order. */
struct replay_link {
	uint32_t task, before;
	int64_t lag_ns;
};

/*
 * Puts tasks that have no edges yet into topological order, and makes edges of the links.
 * place[old number] is the new one (array of task_count, the caller's). Answers how many links were left out
 * because they close a cycle: where the cycle's first task, by the measured begin, waits for another of it.
 */
size_t replay_order(
	struct replay *replay, const struct replay_link *links, size_t link_count, uint32_t *place);

/*
 * Sets the lags, all of them, so that measured durations give measured times: an edge whose task ended too
 * late gets a negative lag; where all ended before the task began, the one that ended last gets the
 * difference, and the others get none. A task without edges begins no earlier than it did. Answers how many
 * negative lags there are: dependencies that the measurement contradicts.
 */
size_t replay_explain(struct replay *replay);

/* The measured durations again. */
void replay_reset(struct replay *replay);

/*
 * When each task begins and ends (arrays of task_count, the caller's); answers the latest end. INT64_MIN
 * without tasks. A replay may be run by several threads at once, each with its own arrays.
 */
int64_t replay_run(const struct replay *replay, int64_t *begin_ns, int64_t *end_ns);

/* The edge that was the last to let the task begin, the first in the list of several; NULL: it began at
 * earliest_ns. */
const struct replay_edge *replay_binding(
	const struct replay *replay, uint32_t task, const int64_t *begin_ns, const int64_t *end_ns);

struct replay_step {
	uint32_t task;
	int64_t lag_ns; /* waiting between the step before (in time) and this task that is the edge's lag */
	bool free;      /* nothing before it: it began at earliest_ns */
};

/*
 * The critical path that ends with `last` (REPLAY_NONE: with the task that ends last), from last to first:
 * each step with the edge that was the last to let go. `steps` has room for task_count; answers how many
 * there are. From begin of the first to the end of the last, durations and lags add up without gap.
 */
size_t replay_path(const struct replay *replay, const int64_t *begin_ns, const int64_t *end_ns, uint32_t last,
	struct replay_step *steps);

/*
 * Total float: how much longer each task alone could take before the latest end grows. `slack_ns` is an array
 * of task_count. Not below 0.
 */
void replay_slack(const struct replay *replay, const int64_t *end_ns, int64_t *slack_ns);

void replay_free(struct replay *replay);

#endif
