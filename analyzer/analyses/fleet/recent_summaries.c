/* What summaries say, in the form of a run's last iterations: see recent.h. */
#include "recent.h"
#include "timeline/constants.h"

#include <math.h>

static double median_of(const struct summaries_worker *worker, size_t offset)
{
	return (double)summaries_spread(worker, offset)->quantiles[SUMMARY_MEDIAN];
}

static struct recent_process process_of(const struct summary *summary)
{
	return (struct recent_process){.host = summary->host,
		.rank = summary->rank,
		.pid = (uint32_t)summary->pid,
		.ended = summary->ended,
		.calls = NAN,
		.lost_records = summary->lost_records};
}

static void find_worker(struct summaries *job, size_t number, struct recent *recent)
{
	const struct summaries_worker *from = &job->workers[number];
	struct recent_worker *worker = &recent->workers[number];

	recent->processes[number] = process_of(from->summary);
	*worker = recent_unknown(&recent->processes[number]);
	worker->name = summaries_name(job, from);
	worker->device = from->figures->device;
	worker->count = (double)from->figures->found;
	worker->confidence = from->figures->confidence;
	if (from->figures->used == 0 || !(worker->confidence >= ITERATION_UNKNOWN))
		return;
	worker->iteration_ns = median_of(from, offsetof(struct summary_worker, iteration));
	worker->compute_ns = worker->even_ns = median_of(from, offsetof(struct summary_worker, compute));
	worker->wait_ns = from->wait_ns;
	worker->per_second = 1e9 / summaries_spread(from, offsetof(struct summary_worker, iteration))->mean;
	for (unsigned p = 0; p < PHASE_COUNT; p++)
		worker->phase_ns[p] = median_of(from, SUMMARIES_EXCLUSIVE(p));
}

void recent_of_summaries(struct summaries *job, struct recent *recent)
{
	const size_t count = job->worker_count;

	*recent = (struct recent){.source = RECENT_SUMMARIES,
		.label = job->label,
		.arena = &job->names.arena,
		.processes = mem_alloc(count, sizeof(*recent->processes)),
		.process_count = count,
		.workers = mem_alloc(count, sizeof(*recent->workers)),
		.worker_count = count,
		.samples = NAN,
		.quiet_ns = NAN,
		.device_bytes = NAN,
		.hook_share = NAN};
	for (size_t i = 0; i < count; i++)
		find_worker(job, i, recent);
	recent_settle(recent);
}
