/* The summary of an analyzed trace: see summary.h, which also says what is sampled. */
#include "summary.h"
#include "analyses/cause/cause_measure.h"
#include "base/statistics.h"
#include "reconstruct/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Distributions ---- */

/* Sorts the values. */
static struct summary_spread spread_of(double *values, size_t count)
{
	static const double shares[SUMMARY_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
	struct analysis_statistics statistics = analysis_statistics(values, count);
	struct summary_spread spread = {0};

	if (count == 0)
		return spread;
	statistics_sort(values, count);
	spread.mean = statistics.mean;
	spread.deviation = statistics.deviation;
	for (int i = 0; i < SUMMARY_QUANTILES; i++)
		spread.quantiles[i] = (float)statistics_quantile_sorted(values, count, shares[i]);
	return spread;
}

/* Of one int64_t in phase_times, given by its offset. */
static struct summary_spread spread_of_times(const struct analysis_worker *worker, size_t offset)
{
	double *values = mem_alloc(worker->used_count, sizeof(*values));
	struct summary_spread spread;

	for (size_t i = 0; i < worker->used_count; i++) {
		int64_t value;

		memcpy(&value, (const char *)&worker->phases.times[worker->used[i]] + offset, sizeof(value));
		values[i] = (double)value;
	}
	spread = spread_of(values, worker->used_count);
	free(values);
	return spread;
}

static void make_spreads(const struct analysis *analysis, const struct analysis_worker *from,
	struct arena *arena, struct summary_worker *to)
{
	struct cause_measure measure;

	to->iteration = spread_of_times(from, offsetof(struct phase_times, iteration_ns));
	to->compute = spread_of_times(from, offsetof(struct phase_times, compute_ns));
	for (size_t i = 0; i < PHASE_COUNT; i++) {
		if (i < PHASE_WORK_COUNT)
			to->busy[i] = spread_of_times(
				from, offsetof(struct phase_times, busy_ns) + i * sizeof(int64_t));
		to->exclusive[i] = spread_of_times(
			from, offsetof(struct phase_times, exclusive_ns) + i * sizeof(int64_t));
	}
	cause_measure(analysis, from, arena, &measure);
	to->lead = spread_of(measure.lead.values, measure.sample_count);
	to->host = spread_of(measure.host.values, measure.sample_count);
	cause_measure_free(&measure);
}

/* ---- Layers ---- */

static void make_model(
	const struct layer_list *layers, struct summary_names *names, struct summary_worker *to)
{
	struct summary_model model = {.count = layers->count};

	model.names = mem_alloc(layers->count, sizeof(*model.names));
	for (size_t i = 0; i < layers->count; i++) {
		const struct layer *layer = &layers->items[i];

		model.names[i] = (struct summary_name){
			.name = summary_intern(names, layer->name, strlen(layer->name)),
			.module = summary_intern(names, layer->module, strlen(layer->module)),
			.text = summary_intern(names, layer->text, strlen(layer->text)),
			.input = summary_intern(names, layer->input, strlen(layer->input)),
			.activation = summary_intern(names, layer->activation, strlen(layer->activation)),
			.parameter_count = layer->parameter_count,
			.parameter_bytes = layer->parameter_bytes,
		};
	}
	to->model = summary_intern_model(names, &model);
	free(model.names);
}

static void make_layers(const struct analysis_worker *from, struct summary_worker *to)
{
	size_t count = from->layers.count;
	double *values = mem_alloc(from->used_count, sizeof(*values));

	to->layers = mem_alloc(count, sizeof(*to->layers));
	for (size_t l = 0; l < count; l++)
		for (size_t c = 0; c < SUMMARY_COLUMNS; c++) {
			struct summary_spread spread;

			for (size_t i = 0; i < from->used_count; i++)
				values[i] =
					from->phases
						.layers_ns[(from->used[i] * count + l) * PHASE_LAYER_COLUMNS +
							   c];
			spread = spread_of(values, from->used_count);
			to->layers[l].mean[c] = spread.mean;
			if (from->phases.unknown[l * PHASE_LAYER_COLUMNS + c])
				to->layers[l].unknown |= (uint8_t)(1 << c);
			if (c >= 4)
				continue;
			to->layers[l].deviation[c] = (float)spread.deviation;
			to->layers[l].quarter[c] = spread.quantiles[SUMMARY_25];
			to->layers[l].median[c] = spread.quantiles[SUMMARY_MEDIAN];
		}
	free(values);
}

/* ---- Collectives ---- */

/* An iteration that may be sampled. */
struct candidate {
	uint64_t hash; /* of the sequence of its first exchange: the same on all ranks */
	uint32_t used; /* which of the worker's used iterations */
	uint32_t count;
};

struct sampling {
	const struct analysis *analysis;
	const struct analysis_worker *from;
	struct collective_list gathered;
	uint32_t *places; /* by call: place in `gathered` + 1; 0: none */
	int64_t base_ns;  /* subtracted from times */
};

/* The exchange that the call is, unless it is one of a group that has been seen: they are waited for once. */
static const struct collective *exchange_of(
	const struct sampling *sampling, uint32_t call, uint32_t *last_interval)
{
	const struct analysis *analysis = sampling->analysis;
	const struct timeline_call *item = TIMELINE_CALL(&analysis->timeline, call);
	bool seen = item->interval_count && item->interval == *last_interval;

	if (item->interval_count)
		*last_interval = item->interval;
	if (seen || !sampling->places[call] ||
		phase_role(&analysis->model, sampling->from->worker, &sampling->from->layers,
			PHASE_NO_ITERATION, NULL, item->operation)
				->phase != PHASE_COMMUNICATION)
		return NULL;
	return &sampling->gathered.items[sampling->places[call] - 1];
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return a->hash != b->hash ? (a->hash < b->hash ? -1 : 1) : (a->used > b->used) - (a->used < b->used);
}

static int compare_used(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	return (a->used > b->used) - (a->used < b->used);
}

/* All used iterations with exchanges, those to be sampled first. */
static struct candidate *list_candidates(const struct sampling *sampling, size_t *count)
{
	const struct analysis_worker *from = sampling->from;
	struct candidate *candidates = mem_alloc(from->used_count, sizeof(*candidates));

	*count = 0;
	for (uint32_t u = 0; u < from->used_count; u++) {
		const struct iteration *item = &from->iterations.items[from->used[u]];
		struct candidate candidate = {.used = u};
		uint32_t last = UINT32_MAX;

		for (size_t i = item->first_call; i < item->call_end; i++) {
			const struct collective *exchange =
				exchange_of(sampling, from->worker->calls[i], &last);

			if (exchange && candidate.count++ == 0)
				candidate.hash = mem_hash(MEM_HASH_START, exchange->sequence);
		}
		if (candidate.count)
			candidates[(*count)++] = candidate;
	}
	qsort(candidates, *count, sizeof(*candidates), compare_candidates);
	return candidates;
}

static uint16_t line_of(const struct sampling *sampling, const struct collective *exchange,
	struct summary_worker *to, size_t *room)
{
	const struct timeline *timeline = &sampling->analysis->timeline;
	struct summary_line line = {.hash = exchange->hash, .key = exchange->function_key};

	for (size_t i = 0; i < to->line_count; i++)
		if (to->lines[i].hash == line.hash && to->lines[i].key == line.key)
			return (uint16_t)i;
	for (size_t i = 1; i < timeline->communicator_count; i++)
		if (timeline->communicators[i].hash == line.hash)
			line.size = timeline->communicators[i].size;
	*MEM_PUSH(to->lines, to->line_count, *room) = line;
	return (uint16_t)(to->line_count - 1);
}

static void take_iteration(const struct sampling *sampling, const struct candidate *candidate,
	uint16_t sample, struct summary_worker *to, size_t *line_room, size_t *part_room)
{
	const struct analysis_worker *from = sampling->from;
	const struct iteration *item = &from->iterations.items[from->used[candidate->used]];
	uint32_t last = UINT32_MAX;

	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct collective *exchange = exchange_of(sampling, from->worker->calls[i], &last);
		uint64_t hash;

		if (!exchange)
			continue;
		hash = mem_hash(mem_hash(MEM_HASH_START, exchange->function_key), exchange->sequence);
		if (hash & ((UINT64_C(1) << to->thin) - 1))
			continue;
		if (to->line_count >= UINT16_MAX)
			return;
		*MEM_PUSH(to->parts, to->part_count, *part_room) =
			(struct summary_part){.begin_ns = exchange->begin_ns - sampling->base_ns,
				.end_ns = exchange->end_ns - sampling->base_ns,
				.sequence = exchange->sequence,
				.line = line_of(sampling, exchange, to, line_room),
				.sample = sample};
	}
}

static void make_collectives(struct sampling *sampling, struct summary_worker *to)
{
	size_t count, room = 0, part_room = 0, wanted;
	struct candidate *candidates = list_candidates(sampling, &count);

	if (count > 0) {
		/* The number must be the same on all ranks, which may count a call more or less: powers of
		 * two. */
		for (wanted = SUMMARY_PARTS; wanted > SUMMARY_ITERATIONS;)
			if (wanted * candidates[0].count > SUMMARY_PARTS + SUMMARY_PARTS / 2)
				wanted /= 2;
			else
				break;
		while (candidates[0].count >> to->thin > 2 * SUMMARY_EXCHANGES)
			to->thin++;
		to->sampled = count < wanted ? count : wanted;
		qsort(candidates, to->sampled, sizeof(*candidates), compare_used);
		for (size_t i = 0; i < to->sampled; i++)
			take_iteration(sampling, &candidates[i], (uint16_t)i, to, &room, &part_room);
	}
	free(candidates);
}

/* ---- All ---- */

static void make_worker(struct sampling *sampling, struct summary_names *names, struct arena *arena,
	struct summary_worker *to)
{
	const struct analysis *analysis = sampling->analysis;
	const struct analysis_worker *from = sampling->from;
	const struct timeline_process *process = &analysis->timeline.processes[0];

	*to = (struct summary_worker){.device = from->worker->device,
		.by_period = from->iterations.by_period,
		.confidence = analysis->is_whole ? analysis->rejected.confidence : from->iterations.confidence,
		.found = from->iterations.count,
		.used = from->used_count};
	for (int i = 0; i < 4; i++)
		to->kinds[i] = from->iterations.counts[i];
	to->kinds[ITERATION_DIFFERENT] += from->iterations.counts[ITERATION_CUT];
	for (size_t i = 0; i < from->iterations.gap_count; i++) {
		const struct iteration_gap *gap = &from->iterations.gaps[i];

		to->gaps[gap->kind]++;
		to->gap_calls[gap->kind] += gap->call_count;
		to->gap_ns[gap->kind] +=
			(double)timeline_recorded(&analysis->timeline, process, gap->begin_ns, gap->end_ns);
	}
	make_model(&from->layers, names, to);
	make_layers(from, to);
	if (from->used_count == 0)
		return;
	if (from->layers.count)
		to->samples = strtod(from->layers.items[0].input, NULL);
	if (!(to->samples > 0) || !isfinite(to->samples))
		to->samples = 0;
	make_spreads(analysis, from, arena, to);
	make_collectives(sampling, to);
}

/*
 * Other profilers write wall-clock times, which are too long for the summary's times: they are counted from
 * 2017 on. The same on all ranks, since those of a host share a clock; its offset to the wall clock says it.
 */
static int64_t base_of(const struct analysis *analysis, const struct timeline_process *process)
{
	const struct timeline *timeline = &analysis->timeline;
	bool wall = process->recorder && process->call_count > 0 &&
		    timeline_call(timeline, process->first_call).begin_ns > INT64_MAX / 16;

	return wall ? INT64_C(1500000000000000000) : 0;
}

void summary_make(const struct analysis *analysis, struct summary_names *names, struct summary *summary)
{
	const struct timeline_process *process = &analysis->timeline.processes[0];
	const char *slash = strrchr(process->path, '/'), *source = slash ? slash + 1 : process->path;
	struct sampling sampling = {.analysis = analysis};
	struct arena arena = {0};

	sampling.base_ns = base_of(analysis, process);
	*summary = (struct summary){.path = "",
		.source = summary_intern(names, source, strlen(source)),
		.host = summary_intern(names, process->host, strlen(process->host)),
		.program = summary_intern(names, process->program, strlen(process->program)),
		.trouble = summary_intern(names, process->trouble ? process->trouble : "",
			process->trouble ? strlen(process->trouble) : 0),
		.rank = process->rank,
		.world = process->world,
		.pid = process->pid,
		.device_source = process->device_source,
		.ended = process->ended,
		.graphs_left = process->graphs_left,
		.lost_records = process->lost_records,
		.lost_device_times = process->lost_device_times,
		.lost_operations = process->lost_operations,
		.refused_records = process->refused_records,
		.unjoined_intervals = process->unjoined_intervals,
		.unseen_calls = process->unseen_calls,
		.real_offset_ns = process->real_offset_ns + sampling.base_ns,
		.own_ns = process->own_ns,
		.run_ns = process->run_ns > 0 ? (uint64_t)process->run_ns : 0};
	collective_gather(&analysis->timeline, &sampling.gathered);
	sampling.places = mem_alloc(analysis->timeline.call_count, sizeof(*sampling.places));
	for (size_t i = 0; i < sampling.gathered.count; i++)
		sampling.places[sampling.gathered.items[i].call] = (uint32_t)i + 1;
	summary->worker_count = analysis->worker_count + analysis->idle_count;
	summary->workers = mem_alloc(summary->worker_count, sizeof(*summary->workers));
	for (size_t i = 0; i < summary->worker_count; i++) {
		sampling.from = &analysis->workers[i];
		make_worker(&sampling, names, &arena, &summary->workers[i]);
	}
	free(sampling.places);
	collective_free(&sampling.gathered);
	arena_free(&arena);
}
