/*
 * The findings of a job from its summaries, in the list of finding.h: stragglers with their causes, waiting
 * that none of them explains, and idle time by its phase. Gains are bounded as there: by what the others wait
 * for a rank, which the sampled collectives tell, and by the rank that has least of a phase's exclusive time.
 */
#include "analyses/finding/finding_make.h"
#include "summaries.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <string.h>

static double median(const struct summaries_worker *worker, size_t offset)
{
	return (double)summaries_spread(worker, offset)->quantiles[SUMMARY_MEDIAN];
}

/* The job's step is the mean over ranks: of summaries, of their quartiles. */
static struct step step_of(const struct summaries *job)
{
	const size_t offset = offsetof(struct summary_worker, iteration);
	const double share = 1 / (double)job->worker_count;
	struct step step = {.mean_ns = summaries_pool(job->workers, job->worker_count, offset).mean,
		.ranks = job->rank_count,
		.world = job->world > 0 ? (size_t)job->world : 0,
		.used = SIZE_MAX,
		.confidence = 1};

	for (size_t w = 0; w < job->worker_count; w++) {
		const struct summary_worker *figures = job->workers[w].figures;
		const float *quantiles = figures->iteration.quantiles;

		step.median_ns += share * (double)quantiles[SUMMARY_MEDIAN];
		step.low_ns += share * (double)quantiles[SUMMARY_25];
		step.high_ns += share * (double)quantiles[SUMMARY_75];
		step.confidence = fmin(step.confidence, figures->confidence);
		if (figures->used < step.used) {
			step.used = figures->used;
			step.count = figures->found;
		}
	}
	step.typical_ns = step.median_ns;
	return step;
}

/* ---- Stragglers ---- */

/* What the others idle or communicate, each on average: the bound where no collective tells their waiting. */
static double idle_of_others(const struct summaries *job, size_t worker)
{
	double sum_ns = 0;

	for (size_t w = 0; w < job->worker_count; w++) {
		if (w == worker)
			continue;
		for (int phase = PHASE_IDLE_LAUNCH; phase < PHASE_COUNT; phase++)
			sum_ns += median(&job->workers[w], SUMMARIES_EXCLUSIVE(phase));
		sum_ns += median(&job->workers[w], SUMMARIES_EXCLUSIVE(PHASE_COMMUNICATION));
	}
	return sum_ns / ((double)job->worker_count - 1);
}

static const char *basis_of(
	const struct summaries *job, struct finding_list *list, const struct summaries_worker *worker)
{
	const char *ranks = arena_format(&list->arena, "medians of layers over %zu of %zu iterations, %s",
		list->step.used, list->step.count, finding_ranks(list));

	return job->meeting_count ? arena_format(&list->arena, "%s; waiting in %zu sampled ones", ranks,
					    worker->sample_count)
				  : arena_format(&list->arena,
					    "%s; no collective is common, so who waits is unknown", ranks);
}

static void add_stragglers(struct summaries *job, struct finding_list *list)
{
	for (size_t i = 0; i < list->causes.count; i++) {
		const struct cause *cause = &list->causes.items[i];
		const struct summaries_worker *worker = &job->workers[cause->worker];
		double others = (double)job->worker_count - 1;
		enum finding_strength strength = finding_measured(list);

		if (strength == FINDING_STRONG && worker->sample_count < FINDING_SAMPLED_WELL)
			strength = FINDING_LIKELY;
		finding_add_cause(list, cause, summaries_name(job, worker), NULL, others,
			cause->wait_caused_ns > 0 ? cause->wait_caused_ns / others
						  : idle_of_others(job, cause->worker),
			job->meeting_count ? strength : FINDING_WEAK, basis_of(job, list, worker));
	}
}

static void add_waiting(struct summaries *job, struct finding_list *list)
{
	const struct summaries_worker *most = NULL;
	double all_ns = 0;

	for (size_t w = 0; w < job->worker_count; w++) {
		const struct summaries_worker *worker = &job->workers[w];
		bool explained = !isfinite(worker->wait_caused_ns);

		for (size_t i = 0; i < list->causes.count; i++)
			explained |= list->causes.items[i].worker == w;
		if (explained)
			continue;
		all_ns += worker->wait_caused_ns / ((double)job->worker_count - 1);
		if (!most || worker->wait_caused_ns > most->wait_caused_ns)
			most = worker;
	}
	if (!(all_ns > 0))
		return;
	finding_add(list,
		(struct finding){.kind = FINDING_WAITING,
			.strength = list->step.ranks < list->step.world ? FINDING_WEAK : FINDING_LIKELY,
			.subject = "changing stragglers",
			.text = arena_format(&list->arena,
				"Most of it for %s: it causes %s of waiting, summed over the others",
				summaries_name(job, most), print_time(&list->arena, most->wait_caused_ns)),
			.basis = basis_of(job, list, most),
			.advice = "check for batches of different work, host pauses and other jobs on the "
				  "machines",
			.worker = SIZE_MAX,
			.gain_ns = all_ns,
			.lost_ns = all_ns});
}

/* ---- Idle time ---- */

/* Of the rank that has least of it: a gain of all ranks. */
static double least_of(const struct summaries *job, enum phase phase, bool waiting)
{
	double least_ns = INFINITY;

	for (size_t w = 0; w < job->worker_count; w++) {
		double ns = waiting && isfinite(job->workers[w].wait_ns) ? -job->workers[w].wait_ns : 0;

		ns += median(&job->workers[w], SUMMARIES_EXCLUSIVE(phase));
		least_ns = fmin(least_ns, ns);
	}
	return least_ns;
}

static void add_input(const struct summaries *job, struct finding_list *list)
{
	double least[3] = {INFINITY, 0, 0};

	for (size_t w = 0; w < job->worker_count; w++) {
		const struct summaries_worker *worker = &job->workers[w];
		const double ns[3] = {median(worker, SUMMARIES_EXCLUSIVE(PHASE_IO)),
			median(worker, SUMMARIES_EXCLUSIVE(PHASE_MD)),
			median(worker, SUMMARIES_EXCLUSIVE(PHASE_H2D))};

		if (ns[0] + ns[1] + ns[2] < least[0] + least[1] + least[2])
			memcpy(least, ns, sizeof(least));
	}
	finding_add_input(list, least, NULL, NULL);
}

static void add_idle(struct summaries *job, struct finding_list *list)
{
	bool absent = list->step.ranks < list->step.world || !job->meeting_count;

	add_input(job, list);
	finding_add_idle(list, FINDING_LAUNCH, FINDING_LIKELY, NULL,
		"The GPUs have no work; whether a call blocks the host meanwhile is not in summaries", NULL,
		least_of(job, PHASE_IDLE_LAUNCH, false));
	finding_add_idle(list, FINDING_LATENCY, FINDING_LIKELY, NULL,
		"Latency between kernels, or a stream waits for another", NULL,
		least_of(job, PHASE_IDLE_QUEUE, false));
	if (job->worker_count > 1)
		finding_add_idle(list, FINDING_COMMUNICATION, absent ? FINDING_WEAK : finding_measured(list),
			NULL,
			absent ? "It may include waiting for other ranks; how much is unknown"
			       : "Waiting for the last rank, as sampled, is not counted",
			NULL, least_of(job, PHASE_COMMUNICATION, true));
}

void summaries_findings(struct summaries *job, struct finding_list *list)
{
	*list = (struct finding_list){0};
	if (job->worker_count == 0)
		return;
	list->step = step_of(job);
	summaries_causes(job, &list->causes);
	add_stragglers(job, list);
	if (job->meeting_count)
		add_waiting(job, list);
	add_idle(job, list);
	finding_order(list);
}
