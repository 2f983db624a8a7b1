/* Tasks put into topological order: Kahn's algorithm, with cycles broken where they began in time. */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

struct ordering {
	const struct replay *replay;
	uint32_t *first;   /* of each task's followers, by task; one more than tasks */
	uint32_t *follow;  /* tasks that wait for it */
	uint32_t *missing; /* by task: what it waits for and is not in order yet */
	uint32_t *order;   /* old numbers */
	size_t count;
	bool *done;
	uint32_t *by_begin; /* all tasks; made when the first cycle is found */
	size_t earliest;    /* in by_begin: those before are in order */
};

static void list_followers(struct ordering *ordering, const struct replay_link *links, size_t link_count)
{
	size_t count = ordering->replay->task_count;
	uint32_t *next = mem_alloc(count + 1, sizeof(*next));

	for (size_t i = 0; i < link_count; i++) {
		ordering->first[links[i].before + 1]++;
		ordering->missing[links[i].task]++;
	}
	for (size_t i = 0; i < count; i++)
		ordering->first[i + 1] += ordering->first[i];
	memcpy(next, ordering->first, count * sizeof(*next));
	for (size_t i = 0; i < link_count; i++)
		ordering->follow[next[links[i].before]++] = links[i].task;
	free(next);
}

static void append(struct ordering *ordering, uint32_t task)
{
	ordering->done[task] = true;
	ordering->order[ordering->count++] = task;
}

static int compare_begins(const void *left, const void *right, void *context)
{
	const struct replay_task *tasks = context;
	const struct replay_task *a = &tasks[*(const uint32_t *)left], *b = &tasks[*(const uint32_t *)right];

	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Of the tasks that are left, which wait for each other, the one that began first. */
static uint32_t earliest_left(struct ordering *ordering)
{
	size_t count = ordering->replay->task_count;

	if (!ordering->by_begin) {
		ordering->by_begin = mem_alloc(count, sizeof(*ordering->by_begin));
		for (uint32_t i = 0; i < count; i++)
			ordering->by_begin[i] = i;
		qsort_r(ordering->by_begin, count, sizeof(*ordering->by_begin), compare_begins,
			ordering->replay->tasks);
	}
	while (ordering->done[ordering->by_begin[ordering->earliest]])
		ordering->earliest++;
	return ordering->by_begin[ordering->earliest];
}

static void find_order(struct ordering *ordering)
{
	size_t count = ordering->replay->task_count;

	for (uint32_t i = 0; i < count; i++)
		if (!ordering->missing[i])
			append(ordering, i);
	for (size_t at = 0; at < count; at++) {
		uint32_t task;

		if (at == ordering->count)
			append(ordering, earliest_left(ordering));
		task = ordering->order[at];
		for (uint32_t i = ordering->first[task]; i < ordering->first[task + 1]; i++) {
			uint32_t follower = ordering->follow[i];

			if (--ordering->missing[follower] == 0 && !ordering->done[follower])
				append(ordering, follower);
		}
	}
}

/* The tasks in their new order, with room for their edges; then the edges. */
static size_t renumber(struct replay *replay, const struct ordering *ordering,
	const struct replay_link *links, size_t link_count, uint32_t *place)
{
	struct replay_task *tasks = mem_alloc(replay->task_count, sizeof(*tasks));
	uint32_t edge_count = 0;

	for (size_t i = 0; i < replay->task_count; i++) {
		tasks[i] = replay->tasks[ordering->order[i]];
		place[ordering->order[i]] = (uint32_t)i;
	}
	for (size_t i = 0; i < link_count; i++)
		if (place[links[i].before] < place[links[i].task])
			tasks[place[links[i].task]].edge_count++;
	for (size_t i = 0; i < replay->task_count; i++) {
		tasks[i].first_edge = edge_count;
		edge_count += tasks[i].edge_count;
		tasks[i].edge_count = 0;
	}
	mem_reserve((void **)&replay->edges, 0, &replay->edge_room, sizeof(*replay->edges), edge_count);
	replay->edge_count = edge_count;
	for (size_t i = 0; i < link_count; i++) {
		uint32_t task = place[links[i].task], before = place[links[i].before];

		if (before < task)
			replay->edges[tasks[task].first_edge + tasks[task].edge_count++] =
				(struct replay_edge){before, links[i].lag_ns};
	}
	free(replay->tasks);
	replay->tasks = tasks;
	replay->task_room = replay->task_count;
	return link_count - edge_count;
}

size_t replay_order(
	struct replay *replay, const struct replay_link *links, size_t link_count, uint32_t *place)
{
	size_t count = replay->task_count, dropped;
	struct ordering ordering = {.replay = replay,
		.first = mem_alloc(count + 1, sizeof(uint32_t)),
		.follow = mem_alloc(link_count, sizeof(uint32_t)),
		.missing = mem_alloc(count, sizeof(uint32_t)),
		.order = mem_alloc(count, sizeof(uint32_t)),
		.done = mem_alloc(count, sizeof(bool))};

	list_followers(&ordering, links, link_count);
	find_order(&ordering);
	dropped = renumber(replay, &ordering, links, link_count, place);
	free(ordering.first);
	free(ordering.follow);
	free(ordering.missing);
	free(ordering.order);
	free(ordering.done);
	free(ordering.by_begin);
	return dropped;
}
