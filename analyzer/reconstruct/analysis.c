/* A run, analyzed: see analysis.h. */
#include "analysis.h"
#include "exchange.h"
#include "base/parallel.h"
#include "base/statistics.h"
#include "timeline/constants.h"
#include "import/imported_timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct work {
	struct analysis *analysis;
	struct analysis_worker *items; /* by worker of the model */
	const struct iteration_options *options;
};

/* Workers share only what is not written any more. */
static void analyze_worker(void *context, size_t index)
{
	struct work *work = context;
	struct analysis *analysis = work->analysis;
	struct analysis_worker *item = &work->items[index];
	const struct worker *worker = &analysis->model.workers[index];

	item->worker = worker;
	iteration_find(&analysis->model, worker, work->options, &item->iterations);
	layer_find(&analysis->model, worker, &item->iterations, &item->layers);
	iteration_forget_framework(&item->iterations);
	if (item->layers.is_step)
		iteration_confirm(&item->iterations);
	phase_find(
		&analysis->model, worker, &item->iterations, &item->layers, analysis->wait_ns, &item->phases);
	pace_find(&analysis->model, worker, &item->iterations, &item->layers, &item->pace);
	item->used = mem_alloc(item->iterations.count, sizeof(*item->used));
	for (size_t i = 0; i < item->iterations.count; i++)
		if (item->iterations.items[i].kind == ITERATION_USED)
			item->used[item->used_count++] = (uint32_t)i;
}

void analysis_init(struct analysis *analysis, struct timeline *timeline, size_t skip)
{
	analysis_init_as(analysis, timeline, &(struct iteration_options){.skip = skip});
}

static void free_worker(struct analysis_worker *worker)
{
	iteration_free(&worker->iterations);
	layer_free(&worker->layers);
	phase_free(&worker->phases);
	pace_free(&worker->pace);
	free(worker->used);
}

/* Those with iterations first. */
static void analyze_workers(struct analysis *analysis, const struct iteration_options *options)
{
	const size_t count = analysis->model.worker_count;
	struct work work = {analysis, mem_alloc(count, sizeof(*work.items)), options};

	parallel_each(count, 0, analyze_worker, &work);
	analysis->worker_count = analysis->idle_count = 0;
	for (size_t i = 0; i < count; i++)
		if (work.items[i].used_count > 0)
			analysis->workers[analysis->worker_count++] = work.items[i];
	for (size_t i = 0; i < count; i++)
		if (work.items[i].used_count == 0)
			analysis->workers[analysis->worker_count + analysis->idle_count++] = work.items[i];
	free(work.items);
}

/* Were iterations found that only lack device times, so that none of them counts? */
static bool are_untimed(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->idle_count; i++)
		if (analysis->workers[analysis->worker_count + i].iterations.count > 0)
			return true;
	return false;
}

/* Has no worker iterations, or one of them some that are not believed, which are noted then? */
static bool are_unknown(struct analysis *analysis)
{
	const struct iteration_list *least = analysis_least_sure(analysis);

	if (analysis_is_communication(analysis))
		return false;
	if (!least)
		return !are_untimed(analysis);
	if (!iteration_is_searched(least) || least->confidence >= ITERATION_UNKNOWN)
		return false;
	analysis->rejected = (struct analysis_rejected){
		least->source, least->count, least->confidence, least->candidates};
	return true;
}

/* One answer for all commands: without iterations the recording counts as one. */
static void take_whole(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->worker_count + analysis->idle_count; i++)
		free_worker(&analysis->workers[i]);
	analyze_workers(analysis, &(struct iteration_options){.whole = true});
}

static bool is_whole(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->worker_count; i++)
		if (analysis->workers[i].iterations.source != ITERATION_BY_WINDOW)
			return false;
	return analysis->worker_count > 0;
}

void analysis_init_as(
	struct analysis *analysis, struct timeline *timeline, const struct iteration_options *options)
{
	memset(analysis, 0, sizeof(*analysis));
	analysis->timeline = *timeline;
	memset(timeline, 0, sizeof(*timeline));
	analysis->only_exchanges = analysis_exchanges_only(&analysis->timeline);
	worker_init(&analysis->model, &analysis->timeline);
	collective_match(&analysis->timeline, &analysis->collectives);
	analysis->wait_ns = phase_waits(&analysis->timeline, &analysis->collectives);
	exchange_waits(&analysis->timeline, &analysis->model, analysis->wait_ns);
	analysis->workers = mem_alloc(analysis->model.worker_count, sizeof(*analysis->workers));
	analyze_workers(analysis, options);
	if (are_unknown(analysis))
		take_whole(analysis);
	analysis->is_whole = is_whole(analysis);
	analysis_meet(analysis);
	stage_find(analysis);
}

void analysis_free(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->worker_count + analysis->idle_count; i++)
		free_worker(&analysis->workers[i]);
	free(analysis->workers);
	free(analysis->wait_ns);
	collective_free(&analysis->collectives);
	worker_free(&analysis->model);
	timeline_free(&analysis->timeline);
	memset(analysis, 0, sizeof(*analysis));
}

struct analysis_statistics analysis_statistics(double *values, size_t count)
{
	struct analysis_statistics result = {NAN, NAN, NAN, NAN, NAN, count};
	double sum = 0, squares = 0;

	if (count == 0)
		return result;
	result.least = result.greatest = values[0];
	for (size_t i = 0; i < count; i++) {
		sum += values[i];
		if (values[i] < result.least)
			result.least = values[i];
		if (values[i] > result.greatest)
			result.greatest = values[i];
	}
	result.mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - result.mean) * (values[i] - result.mean);
	result.deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
	result.median = statistics_median(values, count);
	return result;
}

/* Values of several workers. Their common deviation is that over iterations, not that between workers. */
struct pool {
	double *values;
	size_t count, first; /* first: of the worker being added */
	double variances;
	size_t workers;
};

static struct pool pool_begin(const struct analysis_worker *workers, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += workers[i].used_count;
	return (struct pool){.values = mem_alloc(sum, sizeof(double))};
}

static void pool_close_worker(struct pool *pool)
{
	struct analysis_statistics own =
		analysis_statistics(pool->values + pool->first, pool->count - pool->first);

	if (own.count > 0) {
		pool->variances += own.deviation * own.deviation;
		pool->workers++;
	}
	pool->first = pool->count;
}

static struct analysis_statistics pool_end(struct pool *pool)
{
	struct analysis_statistics result = analysis_statistics(pool->values, pool->count);

	if (pool->workers > 0)
		result.deviation = sqrt(pool->variances / (double)pool->workers);
	free(pool->values);
	return result;
}

/* Statistics of one int64_t in phase_times, given by its offset. */
static struct analysis_statistics of_times(const struct analysis_worker *workers, size_t count, size_t offset)
{
	struct pool pool = pool_begin(workers, count);

	for (size_t w = 0; w < count; w++) {
		for (size_t i = 0; i < workers[w].used_count; i++) {
			int64_t value;

			memcpy(&value, (const char *)&workers[w].phases.times[workers[w].used[i]] + offset,
				sizeof(value));
			pool.values[pool.count++] = (double)value;
		}
		pool_close_worker(&pool);
	}
	return pool_end(&pool);
}

struct analysis_statistics analysis_phase(const struct analysis_worker *workers, size_t count,
	enum phase phase, enum analysis_accounting accounting)
{
	size_t offset = accounting == ANALYSIS_BUSY ? offsetof(struct phase_times, busy_ns)
						    : offsetof(struct phase_times, exclusive_ns);

	return of_times(workers, count, offset + (size_t)phase * sizeof(int64_t));
}

static double busy_in(const struct analysis *analysis, enum phase phase)
{
	return analysis_phase(analysis->workers, analysis->worker_count, phase, ANALYSIS_BUSY).mean;
}

/* Is there work, and none of it known to go through the net? */
static bool is_undirected(const struct analysis *analysis)
{
	return !(busy_in(analysis, PHASE_FORWARD) + busy_in(analysis, PHASE_BACKWARD) > 0) &&
	       busy_in(analysis, PHASE_GRAPH) + busy_in(analysis, PHASE_OTHER) > 0;
}

/* Another profiler sees a program's input where the program or its framework names it, and no splitting. */
static bool is_imported(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->timeline.process_count; i++)
		if (analysis->timeline.processes[i].recorder)
			return true;
	return false;
}

bool analysis_phase_known(const struct analysis *analysis, enum phase phase)
{
	const bool passes = phase == PHASE_FORWARD || phase == PHASE_BACKWARD || phase == PHASE_UPDATE;
	const bool input = phase == PHASE_IO || phase == PHASE_MD;

	if (imported_timeline_is_labels(&analysis->timeline))
		return phase < PHASE_WORK_COUNT ? busy_in(analysis, phase) > 0 : phase == PHASE_IDLE_UNKNOWN;
	if (!(passes && is_undirected(analysis)) && !(input && is_imported(analysis)))
		return true;
	return busy_in(analysis, phase) > 0;
}

bool analysis_is_forward_only(const struct analysis *analysis)
{
	return !imported_timeline_is_labels(&analysis->timeline) && busy_in(analysis, PHASE_FORWARD) > 0 &&
	       !(busy_in(analysis, PHASE_BACKWARD) + busy_in(analysis, PHASE_UPDATE) > 0) &&
	       busy_in(analysis, PHASE_FORWARD) >
		       busy_in(analysis, PHASE_GRAPH) + busy_in(analysis, PHASE_OTHER);
}

struct analysis_statistics analysis_iteration(const struct analysis_worker *workers, size_t count)
{
	return of_times(workers, count, offsetof(struct phase_times, iteration_ns));
}

struct analysis_statistics analysis_compute(const struct analysis_worker *workers, size_t count)
{
	return of_times(workers, count, offsetof(struct phase_times, compute_ns));
}

struct analysis_statistics analysis_wait(const struct analysis_worker *workers, size_t count)
{
	return of_times(workers, count, offsetof(struct phase_times, wait_ns));
}

struct analysis_statistics analysis_layer(
	const struct analysis_worker *workers, size_t count, const char *name, enum phase_layer_column column)
{
	struct pool pool = pool_begin(workers, count);

	for (size_t w = 0; w < count; w++) {
		const struct layer_list *layers = &workers[w].layers;
		size_t layer = 0;

		while (layer < layers->count && strcmp(layers->items[layer].name, name) != 0)
			layer++;
		for (size_t i = 0; i < workers[w].used_count && layer < layers->count; i++)
			pool.values[pool.count++] =
				workers[w].phases.layers_ns[(workers[w].used[i] * layers->count + layer) *
								    PHASE_LAYER_COLUMNS +
							    (size_t)column];
		pool_close_worker(&pool);
	}
	return pool_end(&pool);
}

double analysis_no_layer(const struct analysis_worker *workers, size_t count, enum phase_layer_column column)
{
	struct pool pool = pool_begin(workers, count);

	for (size_t w = 0; w < count; w++) {
		for (size_t i = 0; i < workers[w].used_count; i++)
			pool.values[pool.count++] =
				workers[w].phases
					.outside_ns[workers[w].used[i] * PHASE_LAYER_COLUMNS + (size_t)column];
		pool_close_worker(&pool);
	}
	return pool_end(&pool).mean;
}

const struct iteration_list *analysis_least_sure(const struct analysis *analysis)
{
	const struct iteration_list *least = NULL;

	for (size_t i = 0; i < analysis->worker_count; i++)
		if (!least || analysis->workers[i].iterations.confidence < least->confidence)
			least = &analysis->workers[i].iterations;
	return least;
}

size_t analysis_slowest(const struct analysis *analysis)
{
	double greatest = -1;
	size_t slowest = 0;

	for (size_t i = 0; i < analysis->worker_count; i++) {
		double mean = analysis_compute(&analysis->workers[i], 1).mean;

		if (mean > greatest) {
			greatest = mean;
			slowest = i;
		}
	}
	return slowest;
}

/* "64x3x32x32": the first number, and whether there are two in all: rows of a product. 0: none. */
static double rows_of(const char *input, bool *is_product)
{
	char *end;
	double rows = strtod(input, &end);

	*is_product = *end == 'x' && !strchr(end + 1, 'x');
	return rows;
}

/* A product's rows are samples where all layers have as many: else they are positions in a sequence, or in a
 * picture, of which each layer may have others. */
static double samples_of(const struct layer_list *layers)
{
	bool is_product, is_other;
	double samples = layers->count ? rows_of(layers->items[0].input, &is_product) : 0;

	for (size_t i = 1; i < layers->count && samples > 0 && is_product; i++) {
		double rows = rows_of(layers->items[i].input, &is_other);

		if (rows > 0 && (rows < samples || rows > samples))
			return 0;
	}
	return samples;
}

double analysis_samples(const struct analysis *analysis)
{
	double sum = 0;

	/* A stage's inputs are parts of the batch, and another stage has the same. */
	for (size_t i = 0; i < analysis->worker_count && analysis->stage_count == 1; i++) {
		double samples = samples_of(&analysis->workers[i].layers);

		if (!(samples > 0))
			return 0;
		sum += samples;
	}
	return sum;
}

const char *analysis_worker_name(struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];
	const char *name;
	bool several = false;

	for (size_t i = 0; i < analysis->worker_count; i++)
		several |= analysis->workers[i].worker->process == worker->worker->process &&
			   analysis->workers[i].worker->device != worker->worker->device;
	name = process->rank >= 0 ? arena_format(&analysis->timeline.arena, "rank %d", process->rank)
	       : analysis->timeline.process_count > 1
		       ? arena_format(&analysis->timeline.arena, "process %u", process->pid)
		       : "rank 0";
	return several ? arena_format(&analysis->timeline.arena, "%s gpu %d", name, worker->worker->device)
		       : name;
}
