/* Looks at a job: see fleet.h. */
#include "fleet.h"
#include "analyses/summary/reduce.h"
#include "base/statistics.h"
#include "timeline/thresholds.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double wall_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct fleet_rank *fleet_add(struct fleet *fleet, const char *path)
{
	struct fleet_rank *rank = MEM_PUSH(fleet->all, fleet->all_count, fleet->all_room);

	*rank = (struct fleet_rank){.path = path ? arena_text(&fleet->arena, path, strlen(path)) : NULL,
		.rank = -1,
		.world = -1,
		.step_s = NAN,
		.compute_s = NAN,
		.from_steps = NAN};
	return rank;
}

/* ---- one rank ---- */

static enum fleet_state state_of(const struct fleet_rank *rank, const struct trace_live *live, double now_s)
{
	char host[sizeof(live->header.host)] = "";

	if (live->figures.ended_ns)
		return FLEET_ENDED;
	(void)gethostname(host, sizeof(host) - 1);
	if (strcmp(host, live->header.host) == 0)
		return kill((pid_t)live->header.pid, 0) != 0 && errno == ESRCH ? FLEET_GONE : FLEET_RUNS;
	return now_s - fmax(rank->seen_s, rank->start_s) > FLEET_FORGET_S ? FLEET_GONE : FLEET_RUNS;
}

/* Kernels of a step, from where a look was FLEET_LEAST_STEPS with device times ago. */
static void find_compute(struct fleet_rank *rank)
{
	if (isnan(rank->from_steps)) {
		rank->from_steps = 0;
		rank->from_compute_s = 0;
	}
	if (rank->timed_steps - rank->from_steps < FLEET_LEAST_STEPS)
		return;
	rank->compute_s = (rank->device_s[0] - rank->from_compute_s) / (rank->timed_steps - rank->from_steps);
	rank->from_steps = rank->timed_steps;
	rank->from_compute_s = rank->device_s[0];
}

static void take_steps(struct fleet_rank *rank, const struct pm_live *figures)
{
	const uint64_t steps = figures->steps;

	rank->each_count = steps < PM_LIVE_STEPS ? (unsigned)steps : PM_LIVE_STEPS;
	for (unsigned i = 0; i < rank->each_count; i++)
		rank->each_s[i] =
			(double)figures->step_ns[(steps - rank->each_count + i) % PM_LIVE_STEPS] / 1e9;
}

/* Median of the last steps; NaN: none has ended. */
static double last_step_s(const struct pm_live *figures)
{
	double values[FLEET_LAST];
	size_t count = 0;

	for (uint64_t n = figures->steps; n > 0 && count < FLEET_LAST && count < PM_LIVE_STEPS; n--)
		values[count++] = (double)figures->step_ns[(n - 1) % PM_LIVE_STEPS];
	return count ? statistics_median(values, count) / 1e9 : NAN;
}

static void take_figures(struct fleet_rank *rank, const struct trace_live *live)
{
	const struct pm_live *figures = &live->figures;

	rank->known = live->known;
	rank->seen_s =
		figures->seen_ns ? (double)trace_live_real_ns(live, figures->seen_ns) / 1e9 : rank->start_s;
	rank->steps = (double)figures->steps;
	rank->calls = (double)figures->calls;
	rank->communications = (double)figures->communications;
	rank->lost = (double)live->header.lost_records;
	rank->timed_steps = (double)figures->timed_steps;
	for (size_t i = 0; i < 3; i++)
		rank->device_s[i] = (double)figures->device_ns[i] / 1e9;
	rank->step_s = last_step_s(figures);
	take_steps(rank, figures);
	find_compute(rank);
}

static void look_at(struct fleet *fleet, struct fleet_rank *rank)
{
	const double calls = rank->calls, steps = rank->steps, communications = rank->communications;
	struct trace_live live;

	if (rank->state == FLEET_ENDED || !trace_live_read(rank->path, &live))
		return;
	if (!rank->host) {
		rank->host = arena_text(&fleet->arena, live.header.host, strlen(live.header.host));
		rank->start_s = (double)live.header.real_ns / 1e9;
	}
	rank->rank = live.header.rank;
	rank->world = live.header.world;
	rank->pid = live.header.pid;
	take_figures(rank, &live);
	if (rank->moved_s == 0)
		rank->moved_s = rank->seen_s;
	else if (rank->calls != calls || rank->steps != steps || rank->communications != communications)
		rank->moved_s = fleet->now_s;
	rank->state = state_of(rank, &live, fleet->now_s);
}

/* ---- all ---- */

static int by_rank(const void *left, const void *right)
{
	const struct fleet_rank *a = *(struct fleet_rank *const *)left,
				*b = *(struct fleet_rank *const *)right;
	int order = (a->rank > b->rank) - (a->rank < b->rank);

	if (order == 0 && a->rank < 0)
		order = strcmp(a->host, b->host);
	if (order == 0 && a->rank < 0)
		order = (a->pid > b->pid) - (a->pid < b->pid);
	return order ? order : (a->start_s > b->start_s) - (a->start_s < b->start_s);
}

/* The youngest of each rank; where no rank is known each trace is one. */
static void choose_ranks(struct fleet *fleet)
{
	size_t kept = 0;

	free(fleet->ranks);
	fleet->ranks = mem_alloc(fleet->all_count, sizeof(struct fleet_rank *));
	fleet->count = 0;
	for (size_t i = 0; i < fleet->all_count; i++)
		if (fleet->all[i].host)
			fleet->ranks[fleet->count++] = &fleet->all[i];
	qsort(fleet->ranks, fleet->count, sizeof(struct fleet_rank *), by_rank);
	for (size_t i = 0; i < fleet->count; i++) {
		struct fleet_rank *rank = fleet->ranks[i];
		const bool again = kept > 0 && rank->rank >= 0 && fleet->ranks[kept - 1]->rank == rank->rank;

		if (rank->path)
			rank->attempt = again ? fleet->ranks[kept - 1]->attempt + 1 : 1;
		fleet->ranks[again ? kept - 1 : kept++] = rank;
	}
	fleet->count = kept;
}

static void count_states(struct fleet *fleet)
{
	int world = 0;

	fleet->running = fleet->ended = fleet->gone = 0;
	fleet->attempt = 0;
	fleet->still_s = NAN;
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_rank *rank = fleet->ranks[i];

		fleet->running += rank->state == FLEET_RUNS;
		fleet->ended += rank->state == FLEET_ENDED;
		fleet->gone += rank->state == FLEET_GONE;
		world = rank->world > world ? rank->world : world;
		fleet->attempt = rank->attempt > fleet->attempt ? rank->attempt : fleet->attempt;
		if (rank->state == FLEET_RUNS && rank->known)
			fleet->still_s = fmin(fleet->still_s, fmax(0, fleet->now_s - rank->moved_s));
	}
	fleet->absent = (size_t)world > fleet->count ? (size_t)world - fleet->count : 0;
}

static void find_slowest(struct fleet *fleet)
{
	double sum = 0;

	fleet->slowest = 0;
	for (size_t i = 0; i < fleet->count; i++) {
		sum += fleet->ranks[i]->compute_s;
		if (fleet->ranks[i]->compute_s > fleet->ranks[fleet->slowest]->compute_s)
			fleet->slowest = i;
	}
	fleet->compute_s = fleet->count ? sum / (double)fleet->count : NAN;
	fleet->imbalance = fleet->compute_s > 0 && fleet->count > 1
				   ? fleet->ranks[fleet->slowest]->compute_s / fleet->compute_s
				   : NAN;
}

void fleet_settle(struct fleet *fleet)
{
	double *steps;
	bool all_known = true;
	size_t known = 0;

	choose_ranks(fleet);
	count_states(fleet);
	steps = mem_alloc(fleet->count, sizeof(*steps));
	fleet->steps = NAN;
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_rank *rank = fleet->ranks[i];

		if (!isnan(rank->step_s))
			steps[known++] = rank->step_s;
		all_known &= rank->known;
		fleet->steps = fmin(fleet->steps, rank->steps);
	}
	if (!all_known)
		fleet->steps = NAN;
	fleet->step_s = known ? statistics_median(steps, known) : NAN;
	free(steps);
	find_slowest(fleet);
}

static void find_traces(struct fleet *fleet, char **paths, size_t path_count)
{
	struct reduce_files files = {0};
	const char *error;

	for (size_t i = 0; i < path_count; i++)
		(void)reduce_add(&files, paths[i], -1, &error); /* of a folder without traces so far: none */
	for (size_t i = 0; i < files.count; i++)
		/* a number, from 1, in the order in which they come */
		if (intern_text(&fleet->paths, files.items[i], strlen(files.items[i])) ==
			fleet->all_count + 1)
			(void)fleet_add(fleet, files.items[i]);
	reduce_free(&files);
}

void fleet_look(struct fleet *fleet, char **paths, size_t path_count)
{
	fleet->now_s = wall_s();
	find_traces(fleet, paths, path_count);
	for (size_t i = 0; i < fleet->all_count; i++)
		look_at(fleet, &fleet->all[i]);
	fleet_settle(fleet);
}

void fleet_free(struct fleet *fleet)
{
	free(fleet->all);
	free(fleet->ranks);
	intern_free(&fleet->paths);
	arena_free(&fleet->arena);
}

bool fleet_is_over(const struct fleet *fleet)
{
	return fleet->count > 0 && fleet->running == 0;
}
