/* What a job does now by the pages of its ranks, as its traces would tell it: see recent.h. */
#include "base/statistics.h"
#include "recent.h"
#include "timeline/thresholds.h"

#include <math.h>

/* Of the steps from `first` on, before `end`, in ns. */
static double median_ns(const struct fleet_rank *rank, unsigned first, unsigned end)
{
	double values[PM_LIVE_STEPS];
	size_t count = 0;

	while (first < end)
		values[count++] = 1e9 * rank->each_s[first++];
	return count ? statistics_median(values, count) : NAN;
}

static void find_steps(const struct fleet_rank *rank, struct recent_worker *worker)
{
	const unsigned count = rank->each_count, last = count < RECENT_LAST ? count : RECENT_LAST;
	double sum_s = 0;

	_Static_assert(PM_LIVE_STEPS <= RECENT_EACH, "each has its place");
	for (unsigned i = 0; i < count; i++)
		worker->each_ns[worker->each_count++] = 1e9 * rank->each_s[i];
	for (unsigned i = count - last; i < count; i++)
		sum_s += rank->each_s[i];
	worker->iteration_ns = median_ns(rank, count - last, count);
	if (count >= RECENT_LAST + FLEET_BEFORE)
		worker->before_ns = median_ns(rank, 0, count - last);
	worker->per_second = sum_s > 0 ? last / sum_s : NAN;
}

static void find_rank(struct fleet *fleet, size_t number, struct recent *recent)
{
	const struct fleet_rank *rank = fleet->ranks[number];
	struct recent_process *process = &recent->processes[number];
	struct recent_worker *worker = &recent->workers[number];

	*process = (struct recent_process){.host = rank->host,
		.rank = rank->rank,
		.pid = rank->pid,
		.ended = rank->state == FLEET_ENDED,
		.calls = rank->known ? rank->calls : NAN,
		.lost_records = (uint64_t)rank->lost};
	*worker = recent_unknown(process);
	worker->name = rank->rank >= 0 ? arena_format(recent->arena, "rank %d", rank->rank)
				       : arena_format(recent->arena, "pid %u", rank->pid);
	if (!rank->known)
		return;
	if (rank->each_count > 0)
		worker->count = rank->steps;
	worker->compute_ns = worker->even_ns = 1e9 * rank->compute_s;
	find_steps(rank, worker);
}

void recent_of_fleet(struct fleet *fleet, const char *label, struct recent *recent)
{
	double seen_s = NAN;

	*recent = (struct recent){.source = RECENT_PAGES,
		.label = label,
		.arena = &recent->own,
		.processes = mem_alloc(fleet->count, sizeof(*recent->processes)),
		.process_count = fleet->count,
		.workers = mem_alloc(fleet->count, sizeof(*recent->workers)),
		.worker_count = fleet->count,
		.samples = NAN,
		.device_bytes = NAN,
		.hook_share = NAN};
	for (size_t i = 0; i < fleet->count; i++) {
		find_rank(fleet, i, recent);
		seen_s = fmax(seen_s, fleet->ranks[i]->seen_s);
	}
	recent_settle(recent);
	recent->quiet_ns = recent->ended ? NAN : fmax(0, 1e9 * (fleet->now_s - seen_s));
}
