/*
 * Checks the engine of critical paths on graphs whose answer is known: chains, diamonds, pipelines and ranks
 * that meet; and, on random ones, the properties that define it: what was measured is replayed, the path adds
 * up, slack is the most that changes nothing.
 */
#include "check.h"
#include "analyses/replay/replay.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static uint64_t random_state = 7;

static uint64_t next_random(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

/* A task that is to take so long, whenever it was. */
static uint32_t add(struct replay *replay, int64_t ns)
{
	return replay_add(replay, 0, ns);
}

static void check_chain(void)
{
	struct replay replay = {0};
	struct replay_step steps[3];
	int64_t begin_ns[3], end_ns[3];
	uint32_t a = add(&replay, 5), b, c;

	replay.tasks[a].earliest_ns = 100;
	b = add(&replay, 7);
	replay_wait_for(&replay, a, 2);
	c = add(&replay, 3);
	replay_wait_for(&replay, b, -1);
	CHECK(replay_run(&replay, begin_ns, end_ns) == 116, "ends at %ld", (long)end_ns[c]);
	CHECK(begin_ns[b] == 107 && begin_ns[c] == 113, "begin at %ld and %ld", (long)begin_ns[b],
		(long)begin_ns[c]);
	CHECK(replay_path(&replay, begin_ns, end_ns, REPLAY_NONE, steps) == 3, "all are on the path");
	CHECK(steps[0].task == c && steps[1].task == b && steps[2].task == a && steps[2].free,
		"path %u %u %u", steps[0].task, steps[1].task, steps[2].task);
	CHECK(steps[0].lag_ns == -1 && steps[1].lag_ns == 2, "lags %ld %ld", (long)steps[0].lag_ns,
		(long)steps[1].lag_ns);
	replay_free(&replay);
	CHECK(replay_run(&replay, begin_ns, end_ns) == INT64_MIN, "nothing ends");
	CHECK(replay_path(&replay, begin_ns, end_ns, REPLAY_NONE, steps) == 0, "no path");
}

/* a, then b (10) and c (4) side by side, then d. */
static void check_diamond(void)
{
	struct replay replay = {0};
	struct replay_step steps[4];
	int64_t begin_ns[4], end_ns[4], slack_ns[4];
	uint32_t a = add(&replay, 1), b, c, d;

	replay.tasks[a].earliest_ns = 0;
	b = add(&replay, 10);
	replay_wait_for(&replay, a, 0);
	c = add(&replay, 4);
	replay_wait_for(&replay, a, 0);
	d = add(&replay, 2);
	replay_wait_for(&replay, b, 0);
	replay_wait_for(&replay, c, 1);
	CHECK(replay_run(&replay, begin_ns, end_ns) == 13, "ends at %ld", (long)end_ns[d]);
	CHECK(replay_path(&replay, begin_ns, end_ns, d, steps) == 3 && steps[1].task == b, "over %u",
		steps[1].task);
	replay_slack(&replay, end_ns, slack_ns);
	CHECK(slack_ns[a] == 0 && slack_ns[b] == 0 && slack_ns[c] == 5 && slack_ns[d] == 0,
		"slack %ld %ld %ld %ld", (long)slack_ns[a], (long)slack_ns[b], (long)slack_ns[c],
		(long)slack_ns[d]);
	replay.tasks[b].duration_ns = 3;
	CHECK(replay_run(&replay, begin_ns, end_ns) == 8, "now over c: %ld", (long)end_ns[d]);
	CHECK(replay_path(&replay, begin_ns, end_ns, d, steps) == 3 && steps[1].task == c, "over %u",
		steps[1].task);
	replay_free(&replay);
}

/* m pieces of work through p stages of t each take (m + p - 1) t, and with one stage of s >= t (m - 1) s more
 * than once through all. */
static void check_pipeline(void)
{
	enum { PIECES = 6, STAGES = 4, T = 100, SLOW = 160 };
	struct replay replay = {0};
	int64_t begin_ns[PIECES * STAGES], end_ns[PIECES * STAGES];

	for (uint32_t m = 0; m < PIECES; m++)
		for (uint32_t p = 0; p < STAGES; p++) {
			uint32_t task = add(&replay, T);

			replay.tasks[task].earliest_ns = 0;
			if (p > 0)
				replay_wait_for(&replay, task - 1, 0);
			if (m > 0)
				replay_wait_for(&replay, task - STAGES, 0);
		}
	CHECK(replay_run(&replay, begin_ns, end_ns) == (PIECES + STAGES - 1) * T, "even: %ld",
		(long)end_ns[PIECES * STAGES - 1]);
	for (uint32_t m = 0; m < PIECES; m++)
		replay.tasks[m * STAGES + 2].duration_ns = SLOW;
	CHECK(replay_run(&replay, begin_ns, end_ns) == (STAGES - 1) * T + SLOW + (PIECES - 1) * SLOW,
		"uneven: %ld", (long)end_ns[PIECES * STAGES - 1]);
	replay_free(&replay);
}

/* Ranks that compute, meet and exchange, again and again: each time the slowest decides. */
static void check_meetings(void)
{
	enum { RANKS = 3, ROUNDS = 5, TRANSFER = 10 };
	struct replay replay = {0};
	int64_t begin_ns[MOST], end_ns[MOST], expected_ns = 0;
	uint32_t last[RANKS] = {REPLAY_NONE, REPLAY_NONE, REPLAY_NONE};

	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t work[RANKS], meeting;
		int64_t slowest_ns = 0;

		for (uint32_t r = 0; r < RANKS; r++) {
			int64_t ns = 20 + (int64_t)next_random(50);

			work[r] = add(&replay, ns);
			replay.tasks[work[r]].earliest_ns = 0;
			replay_wait_for(&replay, last[r], 0);
			if (ns > slowest_ns)
				slowest_ns = ns;
		}
		meeting = add(&replay, 0);
		for (uint32_t r = 0; r < RANKS; r++)
			replay_wait_for(&replay, work[r], 0);
		for (uint32_t r = 0; r < RANKS; r++) {
			last[r] = add(&replay, TRANSFER);
			replay_wait_for(&replay, meeting, 0);
		}
		expected_ns += slowest_ns + TRANSFER;
	}
	CHECK(replay_run(&replay, begin_ns, end_ns) == expected_ns, "%ld, not %ld",
		(long)end_ns[replay.task_count - 1], (long)expected_ns);
	replay_free(&replay);
}

/* A random graph with measured times as latencies nobody knows of would make them. */
static void make_random(struct replay *replay, size_t count)
{
	memset(replay, 0, sizeof(*replay));
	for (uint32_t i = 0; i < count; i++) {
		int64_t from_ns = (int64_t)next_random(30);
		uint32_t befores[3], before_count = i ? (uint32_t)next_random(4) : 0;
		uint32_t task;

		for (uint32_t j = 0; j < before_count; j++) {
			befores[j] = (uint32_t)next_random(i);
			if (replay->tasks[befores[j]].end_ns > from_ns)
				from_ns = replay->tasks[befores[j]].end_ns;
		}
		/* now and then it begins too early, as clocks that disagree make it */
		from_ns += (int64_t)next_random(20) - (next_random(8) == 0 ? 15 : 0);
		task = replay_add(replay, from_ns, from_ns + (int64_t)next_random(40));
		for (uint32_t j = 0; j < before_count; j++)
			replay_wait_for(replay, befores[j], 0);
		(void)task;
	}
}

static void check_replay(const struct replay *replay, const int64_t *begin_ns, const int64_t *end_ns)
{
	size_t same = 0;

	for (size_t i = 0; i < replay->task_count; i++)
		same += begin_ns[i] == replay->tasks[i].begin_ns && end_ns[i] == replay->tasks[i].end_ns;
	CHECK(same == replay->task_count, "%zu of %zu tasks as measured", same, replay->task_count);
}

/* Durations and lags of the path are all of the time from its first task on. */
static void check_sum(
	const struct replay *replay, const int64_t *begin_ns, const int64_t *end_ns, int64_t end)
{
	struct replay_step steps[MOST];
	size_t count = replay_path(replay, begin_ns, end_ns, REPLAY_NONE, steps);
	int64_t sum_ns = 0;

	for (size_t i = 0; i < count; i++)
		sum_ns += replay->tasks[steps[i].task].duration_ns + steps[i].lag_ns;
	CHECK(count > 0 && sum_ns == end - begin_ns[steps[count - 1].task], "%ld on the path", (long)sum_ns);
	CHECK(end_ns[steps[0].task] == end && steps[count - 1].free, "from begin to end");
}

static void check_slack(struct replay *replay, const int64_t *slack_ns, int64_t end)
{
	int64_t begin_ns[MOST], end_ns[MOST];

	for (size_t i = 0; i < replay->task_count; i++) {
		int64_t duration_ns = replay->tasks[i].duration_ns;

		replay->tasks[i].duration_ns = duration_ns + slack_ns[i];
		CHECK(replay_run(replay, begin_ns, end_ns) == end, "task %zu has slack", i);
		replay->tasks[i].duration_ns = duration_ns + slack_ns[i] + 1;
		CHECK(replay_run(replay, begin_ns, end_ns) == end + 1, "task %zu has no more slack", i);
		replay->tasks[i].duration_ns = duration_ns;
	}
}

static void check_random(void)
{
	for (int round = 0; round < 200; round++) {
		int64_t begin_ns[MOST], end_ns[MOST], slack_ns[MOST], end;
		struct replay replay;

		make_random(&replay, 1 + next_random(MOST));
		replay_explain(&replay);
		end = replay_run(&replay, begin_ns, end_ns);
		check_replay(&replay, begin_ns, end_ns);
		check_sum(&replay, begin_ns, end_ns, end);
		replay_slack(&replay, end_ns, slack_ns);
		check_slack(&replay, slack_ns, end);
		for (size_t i = 0; i < replay.task_count; i++)
			replay.tasks[i].duration_ns = 0;
		replay_reset(&replay);
		CHECK(replay_run(&replay, begin_ns, end_ns) == end, "as it was again");
		replay_free(&replay);
	}
}

/* The same tasks in another order, with the dependencies as links. */
static void check_order(void)
{
	for (int round = 0; round < 100; round++) {
		struct replay_link links[MOST * 3];
		struct replay replay, mixed = {0};
		uint32_t shuffled[MOST], place[MOST], link_count = 0;
		int64_t begin_ns[MOST], end_ns[MOST], mixed_begin_ns[MOST], mixed_end_ns[MOST];
		uint32_t count;

		make_random(&replay, 2 + next_random(MOST - 1));
		count = (uint32_t)replay.task_count;
		replay_explain(&replay);
		for (uint32_t i = 0; i < count; i++)
			shuffled[i] = i;
		for (uint32_t i = count; i-- > 1;) {
			uint32_t j = (uint32_t)next_random(i + 1), swap = shuffled[i];

			shuffled[i] = shuffled[j];
			shuffled[j] = swap;
		}
		for (uint32_t i = 0; i < count; i++) /* task i has the number shuffled[i] */
			replay_add(&mixed, 0, 0);
		for (uint32_t i = 0; i < count; i++) {
			const struct replay_task *task = &replay.tasks[i];

			mixed.tasks[shuffled[i]] = *task;
			mixed.tasks[shuffled[i]].edge_count = 0;
			for (uint32_t j = 0; j < task->edge_count; j++) {
				const struct replay_edge *edge = &replay.edges[task->first_edge + j];

				links[link_count++] =
					(struct replay_link){shuffled[i], shuffled[edge->task], edge->lag_ns};
			}
		}
		CHECK(replay_order(&mixed, links, link_count, place) == 0, "there is no cycle");
		replay_run(&replay, begin_ns, end_ns);
		replay_run(&mixed, mixed_begin_ns, mixed_end_ns);
		for (uint32_t i = 0; i < count; i++)
			CHECK(mixed_end_ns[place[shuffled[i]]] == end_ns[i], "task %u ends at another time",
				i);
		for (uint32_t i = 0; i < count; i++)
			for (uint32_t j = 0; j < mixed.tasks[i].edge_count; j++)
				CHECK(mixed.edges[mixed.tasks[i].first_edge + j].task < i,
					"an edge leads forward");
		replay_free(&replay);
		replay_free(&mixed);
	}
}

/* Of three that wait for each other the first in time goes first, and one link is left out. */
static void check_cycle(void)
{
	const struct replay_link links[] = {{1, 0, 0}, {2, 1, 0}, {0, 2, 0}, {3, 0, 0}};
	struct replay replay = {0};
	uint32_t place[4];

	replay_add(&replay, 30, 40);
	replay_add(&replay, 10, 20);
	replay_add(&replay, 20, 30);
	replay_add(&replay, 40, 50);
	CHECK(replay_order(&replay, links, 4, place) == 1, "one link closes the cycle");
	CHECK(place[1] == 0 && place[2] == 1 && place[0] == 2 && place[3] == 3, "order %u %u %u %u", place[0],
		place[1], place[2], place[3]);
	replay_free(&replay);
}

int main(void)
{
	check_chain();
	check_diamond();
	check_pipeline();
	check_meetings();
	check_random();
	check_order();
	check_cycle();
	return check_end();
}
