/* A simulation of work with dependencies: see replay.h. */
#include "replay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint32_t replay_add(struct replay *replay, int64_t begin_ns, int64_t end_ns)
{
	struct replay_task *task = MEM_PUSH(replay->tasks, replay->task_count, replay->task_room);

	*task = (struct replay_task){.begin_ns = begin_ns,
		.end_ns = end_ns,
		.duration_ns = end_ns > begin_ns ? end_ns - begin_ns : 0,
		.earliest_ns = INT64_MIN,
		.first_edge = (uint32_t)replay->edge_count};
	return (uint32_t)(replay->task_count - 1);
}

void replay_wait_for(struct replay *replay, uint32_t task, int64_t lag_ns)
{
	struct replay_edge *edge;

	if (task == REPLAY_NONE)
		return;
	assert(task + 1 < replay->task_count);
	edge = MEM_PUSH(replay->edges, replay->edge_count, replay->edge_room);
	*edge = (struct replay_edge){task, lag_ns};
	replay->tasks[replay->task_count - 1].edge_count++;
}

size_t replay_explain(struct replay *replay)
{
	size_t negative = 0;

	for (size_t i = 0; i < replay->task_count; i++) {
		struct replay_task *task = &replay->tasks[i];
		struct replay_edge *edges = MEM_AT(replay->edges, task->first_edge);
		uint32_t last = 0;

		task->earliest_ns = task->edge_count ? INT64_MIN : task->begin_ns;
		for (uint32_t j = 0; j < task->edge_count; j++) {
			int64_t lag_ns = task->begin_ns - replay->tasks[edges[j].task].end_ns;

			edges[j].lag_ns = lag_ns < 0 ? lag_ns : 0;
			negative += lag_ns < 0;
			if (replay->tasks[edges[j].task].end_ns > replay->tasks[edges[last].task].end_ns)
				last = j;
		}
		if (task->edge_count)
			edges[last].lag_ns = task->begin_ns - replay->tasks[edges[last].task].end_ns;
	}
	return negative;
}

void replay_reset(struct replay *replay)
{
	for (size_t i = 0; i < replay->task_count; i++) {
		struct replay_task *task = &replay->tasks[i];

		task->duration_ns = task->end_ns > task->begin_ns ? task->end_ns - task->begin_ns : 0;
	}
}

int64_t replay_run(const struct replay *replay, int64_t *begin_ns, int64_t *end_ns)
{
	int64_t latest_ns = INT64_MIN;

	for (size_t i = 0; i < replay->task_count; i++) {
		const struct replay_task *task = &replay->tasks[i];
		int64_t from_ns = task->earliest_ns;

		for (uint32_t j = 0; j < task->edge_count; j++) {
			const struct replay_edge *edge = &replay->edges[task->first_edge + j];

			if (end_ns[edge->task] + edge->lag_ns > from_ns)
				from_ns = end_ns[edge->task] + edge->lag_ns;
		}
		if (from_ns == INT64_MIN)
			from_ns = task->begin_ns;
		begin_ns[i] = from_ns;
		end_ns[i] = from_ns + task->duration_ns;
		if (end_ns[i] > latest_ns)
			latest_ns = end_ns[i];
	}
	return latest_ns;
}

const struct replay_edge *replay_binding(
	const struct replay *replay, uint32_t task, const int64_t *begin_ns, const int64_t *end_ns)
{
	const struct replay_task *item = &replay->tasks[task];

	for (uint32_t j = 0; j < item->edge_count; j++) {
		const struct replay_edge *edge = &replay->edges[item->first_edge + j];

		if (end_ns[edge->task] + edge->lag_ns == begin_ns[task])
			return edge;
	}
	return NULL;
}

size_t replay_path(const struct replay *replay, const int64_t *begin_ns, const int64_t *end_ns, uint32_t last,
	struct replay_step *steps)
{
	size_t count = 0;

	if (replay->task_count == 0)
		return 0;
	if (last == REPLAY_NONE) {
		last = 0;
		for (uint32_t i = 1; i < replay->task_count; i++)
			if (end_ns[i] > end_ns[last])
				last = i;
	}
	for (;;) {
		const struct replay_edge *edge = replay_binding(replay, last, begin_ns, end_ns);

		steps[count++] = (struct replay_step){last, edge ? edge->lag_ns : 0, !edge};
		if (!edge)
			return count;
		last = edge->task;
	}
}

void replay_slack(const struct replay *replay, const int64_t *end_ns, int64_t *slack_ns)
{
	int64_t latest_ns = INT64_MIN;

	for (size_t i = 0; i < replay->task_count; i++)
		if (end_ns[i] > latest_ns)
			latest_ns = end_ns[i];
	/* First the latest end that each may have. */
	for (size_t i = 0; i < replay->task_count; i++)
		slack_ns[i] = latest_ns;
	for (size_t i = replay->task_count; i-- > 0;) {
		const struct replay_task *task = &replay->tasks[i];
		int64_t begin_ns = slack_ns[i] - task->duration_ns;

		for (uint32_t j = 0; j < task->edge_count; j++) {
			const struct replay_edge *edge = &replay->edges[task->first_edge + j];

			if (begin_ns - edge->lag_ns < slack_ns[edge->task])
				slack_ns[edge->task] = begin_ns - edge->lag_ns;
		}
		slack_ns[i] -= end_ns[i];
	}
}

void replay_free(struct replay *replay)
{
	free(replay->tasks);
	free(replay->edges);
	memset(replay, 0, sizeof(*replay));
}
