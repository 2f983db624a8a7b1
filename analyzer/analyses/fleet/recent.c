/* A run's last iterations: see recent.h. */
#include "recent.h"
#include "base/statistics.h"
#include "analyses/device_memory.h"
#include "analyses/load_imbalance.h"
#include "timeline/constants.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>

static double iteration_time(const struct phase_times *times, unsigned which)
{
	(void)which;
	return (double)times->iteration_ns;
}

static double compute_time(const struct phase_times *times, unsigned which)
{
	(void)which;
	return (double)times->compute_ns;
}

static double wait_time(const struct phase_times *times, unsigned which)
{
	(void)which;
	return (double)times->wait_ns;
}

static double phase_time(const struct phase_times *times, unsigned which)
{
	return (double)times->exclusive_ns[which];
}

/*
 * How many of its used iterations are whole: while the process goes on, or after it was killed, the last one
 * in the trace is not.
 */
static size_t whole_count(const struct recent_worker *item)
{
	const struct analysis_worker *worker = item->worker;
	size_t count = worker->used_count;

	if (!item->process->ended && count > 0 && worker->used[count - 1] + 1 == worker->iterations.count)
		count--;
	return count;
}

/* The median of what `get` measures over RECENT_LAST used iterations, or fewer, which end before the number
 * `end`. */
static double median_of(const struct analysis_worker *worker, size_t end,
	double (*get)(const struct phase_times *times, unsigned which), unsigned which)
{
	double values[RECENT_LAST];
	size_t count = 0;

	for (size_t i = end; i > 0 && count < RECENT_LAST; i--)
		values[count++] = get(&worker->phases.times[worker->used[i - 1]], which);
	return count ? statistics_median(values, count) : NAN;
}

double recent_even(const struct analysis_worker *worker, size_t end)
{
	size_t first = end, count = 0;
	int64_t span_ns = 0;
	double *values, median;

	while (first > 0 && (end - first < RECENT_LAST || span_ns < RECENT_SPAN_NS))
		span_ns += worker->phases.times[worker->used[--first]].iteration_ns;
	if (first == end)
		return NAN;
	values = mem_alloc(end - first, sizeof(*values));
	for (size_t i = first; i < end; i++)
		values[count++] = (double)worker->phases.times[worker->used[i]].compute_ns;
	median = statistics_median(values, count);
	free(values);
	return median;
}

/* Over the last whole iterations and what lies between them, as far as it was recorded. */
static double rate_of(const struct timeline *timeline, const struct recent_worker *item)
{
	const struct analysis_worker *worker = item->worker;
	const struct iteration *items = worker->iterations.items;
	const size_t last = item->whole;
	const struct timeline_process *process = &timeline->processes[worker->worker->process];
	size_t first = last > RECENT_LAST ? last - RECENT_LAST : 0;
	int64_t ns;

	while (first < last && process->gap.calls &&
		items[worker->used[first]].begin_ns < process->gap.end_ns)
		first++;
	if (first == last)
		return NAN;
	ns = timeline_recorded(
		timeline, process, items[worker->used[first]].begin_ns, items[worker->used[last - 1]].end_ns);
	return ns > 0 ? (double)(worker->used[last - 1] - worker->used[first] + 1) * 1e9 / (double)ns : NAN;
}

static void find_times(const struct timeline *timeline, struct recent_worker *item)
{
	const struct analysis_worker *worker = item->worker;
	const size_t count = item->whole, kept = count < RECENT_EACH ? count : RECENT_EACH;

	item->iteration_ns = median_of(worker, count, iteration_time, 0);
	if (count >= RECENT_LAST + FLEET_BEFORE)
		item->before_ns = median_of(worker, count - RECENT_LAST, iteration_time, 0);
	item->compute_ns = median_of(worker, count, compute_time, 0);
	item->even_ns = recent_even(worker, count);
	item->wait_ns = median_of(worker, count, wait_time, 0);
	for (unsigned p = 0; p < PHASE_COUNT; p++)
		item->phase_ns[p] = median_of(worker, count, phase_time, p);
	item->per_second = rate_of(timeline, item);
	for (size_t i = count - kept; i < count; i++)
		item->each_ns[item->each_count++] =
			(double)worker->phases.times[worker->used[i]].iteration_ns;
}

struct recent_worker recent_unknown(const struct recent_process *process)
{
	struct recent_worker worker = {.process = process,
		.device = -1,
		.count = NAN,
		.confidence = NAN,
		.iteration_ns = NAN,
		.before_ns = NAN,
		.compute_ns = NAN,
		.even_ns = NAN,
		.wait_ns = NAN,
		.per_second = NAN};

	for (unsigned p = 0; p < PHASE_COUNT; p++)
		worker.phase_ns[p] = NAN;
	return worker;
}

static void find_worker(struct recent *recent, struct analysis *analysis, size_t number)
{
	const struct analysis_worker *worker = &analysis->workers[number];
	struct recent_worker *item = &recent->workers[number];

	*item = recent_unknown(&recent->processes[worker->worker->process]);
	item->worker = worker;
	item->name = analysis_worker_name(analysis, worker);
	item->device = worker->worker->device;
	item->confidence = worker->iterations.confidence;
	item->whole = whole_count(item);
	item->count = analysis_iterations(analysis, worker) - (double)(worker->used_count - item->whole);
	if (worker->iterations.confidence >= ITERATION_UNKNOWN)
		find_times(&analysis->timeline, item);
}

static void find_slowest(struct recent *recent)
{
	double *values = mem_alloc(recent->worker_count, sizeof(*values));
	bool known = recent->worker_count > 0;

	for (size_t i = 0; i < recent->worker_count; i++) {
		values[i] = recent->workers[i].even_ns;
		known &= !isnan(values[i]);
		if (values[i] > values[recent->slowest])
			recent->slowest = i;
	}
	recent->imbalance = known ? load_imbalance(values, recent->worker_count) : NAN;
	free(values);
}

static void find_means(struct recent *recent)
{
	const double count = (double)recent->worker_count; /* 0: NaN, as it should be */

	for (size_t i = 0; i < recent->worker_count; i++) {
		const struct recent_worker *worker = &recent->workers[i];

		recent->iteration_ns += worker->iteration_ns;
		recent->before_ns += worker->before_ns;
		recent->per_second += worker->per_second;
		for (unsigned p = 0; p < PHASE_COUNT; p++)
			recent->phase_ns[p] += worker->phase_ns[p];
	}
	recent->iteration_ns /= count;
	recent->before_ns /= count;
	recent->per_second /= count;
	for (unsigned p = 0; p < PHASE_COUNT; p++)
		recent->phase_ns[p] /= count;
}

/* The timeline's axis is the first process's clock. */
static double quiet_time(const struct timeline *timeline, int64_t now_ns)
{
	int64_t last_ns = INT64_MIN;

	if (!now_ns || timeline->call_count == 0 || timeline->processes[0].recorder)
		return NAN;
	for (size_t i = 0; i < timeline->call_count; i++)
		if (timeline_call(timeline, i).end_ns > last_ns)
			last_ns = timeline_call(timeline, i).end_ns;
	last_ns += timeline->processes[0].real_offset_ns;
	return now_ns > last_ns ? (double)(now_ns - last_ns) : 0;
}

/* What the processes that have ended say of the hook; a trace has it in its end. NaN: none does. */
static double hook_share(const struct timeline *timeline)
{
	double own_ns = 0, run_ns = 0;

	for (size_t i = 0; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];

		if (!process->own_ns || process->run_ns <= 0)
			continue;
		own_ns += (double)process->own_ns + (double)process->new_ns;
		run_ns += (double)process->run_ns;
	}
	return run_ns > 0 ? own_ns / run_ns : NAN;
}

static void find_processes(struct recent *recent, const struct timeline *timeline)
{
	recent->process_count = timeline->process_count;
	recent->processes = mem_alloc(timeline->process_count, sizeof(*recent->processes));
	for (size_t i = 0; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];

		recent->processes[i] = (struct recent_process){.host = process->host,
			.rank = process->rank,
			.pid = process->pid,
			.ended = process->ended,
			.calls = (double)(process->call_count + process->gap.call_count),
			.lost_records = process->lost_records};
	}
}

void recent_settle(struct recent *recent)
{
	recent->ended = true;
	for (size_t i = 0; i < recent->process_count; i++)
		recent->ended &= recent->processes[i].ended;
	find_means(recent);
	find_slowest(recent);
}

void recent_find(struct run *run, int64_t now_ns, struct recent *recent)
{
	struct analysis *analysis = &run->analysis;
	struct timeline *timeline = &analysis->timeline;

	*recent = (struct recent){.source = RECENT_TRACES,
		.run = run,
		.label = run->label,
		.arena = &timeline->arena,
		.worker_count = analysis->is_whole ? 0 : analysis->worker_count,
		.samples = analysis_samples(analysis),
		.device_bytes = device_memory(analysis).bytes,
		.hook_share = hook_share(timeline)};
	find_processes(recent, timeline);
	recent->workers = mem_alloc(recent->worker_count, sizeof(*recent->workers));
	for (size_t i = 0; i < recent->worker_count; i++)
		find_worker(recent, analysis, i);
	recent_settle(recent);
	if (!(recent->samples > 0))
		recent->samples = NAN;
	recent->quiet_ns = recent->ended ? NAN : quiet_time(timeline, now_ns);
}

void recent_conclude(struct recent *recent, struct summaries *job)
{
	if (recent->source == RECENT_PAGES)
		return;
	recent->findings = mem_alloc(1, sizeof(*recent->findings));
	if (job)
		summaries_findings(job, recent->findings);
	else
		findings_find(&recent->run->analysis, recent->findings);
}

size_t recent_straggler(const struct recent *recent)
{
	for (size_t i = 0; recent->findings && i < recent->findings->count; i++)
		if (recent->findings->items[i].kind == FINDING_STRAGGLER)
			return recent->findings->items[i].worker;
	return SIZE_MAX;
}

void recent_free(struct recent *recent)
{
	if (recent->findings)
		findings_free(recent->findings);
	free(recent->findings);
	free(recent->workers);
	free(recent->processes);
	arena_free(&recent->own);
}

double recent_layer(const struct recent_worker *worker, size_t layer, enum phase_layer_column column)
{
	const struct analysis_worker *of = worker->worker;
	const size_t layers = of->layers.count;
	double sum_ns = 0;
	size_t count = 0;

	if (isnan(worker->iteration_ns) || layer >= layers)
		return NAN;
	for (size_t i = worker->whole; i > 0 && count < RECENT_LAST; i--, count++)
		sum_ns += of->phases.layers_ns[(of->used[i - 1] * layers + layer) * PHASE_LAYER_COLUMNS +
					       (size_t)column];
	return count ? sum_ns / (double)count : NAN;
}

static double layer_compute(const struct recent_worker *worker, size_t layer)
{
	return recent_layer(worker, layer, PHASE_LAYER_FORWARD) +
	       recent_layer(worker, layer, PHASE_LAYER_BACKWARD);
}

/* The mean over the other workers of the same stage, whose layers have the same numbers; NaN: there are none.
 */
static double layer_of_others(const struct recent *recent, size_t layer)
{
	const struct recent_worker *slowest = &recent->workers[recent->slowest];
	double sum_ns = 0;
	size_t count = 0;

	for (size_t i = 0; i < recent->worker_count; i++) {
		const struct recent_worker *other = &recent->workers[i];

		if (other == slowest || other->worker->stage != slowest->worker->stage)
			continue;
		sum_ns += layer_compute(other, layer);
		count++;
	}
	return count ? sum_ns / (double)count : NAN;
}

const struct layer *recent_slowest_layer(const struct recent *recent, double *above_ns)
{
	const struct layer *found = NULL;
	const struct recent_worker *slowest;

	*above_ns = 0;
	if (recent->worker_count == 0 || !recent->workers[recent->slowest].worker)
		return NULL;
	slowest = &recent->workers[recent->slowest];
	for (size_t layer = 0; layer < slowest->worker->layers.count; layer++) {
		const double others_ns = layer_of_others(recent, layer);
		const double ns = layer_compute(slowest, layer) - (recent->worker_count > 1 ? others_ns : 0);

		if (ns > *above_ns) {
			*above_ns = ns;
			found = &slowest->worker->layers.items[layer];
		}
	}
	return found;
}
