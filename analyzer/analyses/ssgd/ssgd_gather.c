/*
 * The times that the model of synchronous SGD is made of, from an analyzed run: see ssgd.h. What an exchange
 * costs by itself is the least that any rank spent in it, in that iteration: the last to come waits for
 * nobody.
 */
#include "ssgd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The exchanges of one iteration of a worker, as they were called. Calls of a group are one. */
struct pieces {
	struct piece {
		double ns;
		double bytes;
		uint32_t interval;         /* first call's */
		uint32_t call, call_count; /* positions in the worker's calls */
	} * items;
	size_t count, room;
};

static double bytes_of(const struct analysis *analysis, uint32_t operation)
{
	uint64_t bytes = 0;

	timeline_value(&analysis->timeline, &analysis->timeline.operations[operation], "bytes", &bytes);
	return bytes > 0 && bytes < (uint64_t)1 << 46 ? (double)bytes : 1;
}

static double time_of(const struct analysis *analysis, const struct timeline_call *call)
{
	return call->interval_count ? timeline_device_ns(&analysis->timeline, call)
				    : (double)(call->end_ns - call->begin_ns);
}

static const struct layer_role *role_of(
	const struct analysis *analysis, const struct analysis_worker *worker, uint32_t operation)
{
	return phase_role(
		&analysis->model, worker->worker, &worker->layers, PHASE_NO_ITERATION, NULL, operation);
}

static void find_pieces(const struct analysis *analysis, const struct analysis_worker *worker,
	const struct iteration *item, struct pieces *pieces)
{
	pieces->count = 0;
	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call =
			TIMELINE_CALL(&analysis->timeline, worker->worker->calls[i]);
		struct piece *last = pieces->count ? &pieces->items[pieces->count - 1] : NULL;

		if (role_of(analysis, worker, call->operation)->phase != PHASE_COMMUNICATION ||
			(call->interval_count == 0 &&
				(call->flags & TIMELINE_FLAGS_NOT_HOST)))
			continue;
		if (last && call->interval_count && last->interval == call->interval)
			last->call_count = (uint32_t)i + 1 - last->call;
		else
			*MEM_PUSH(pieces->items, pieces->count, pieces->room) =
				(struct piece){time_of(analysis, call), 0,
					call->interval_count ? call->interval : UINT32_MAX, (uint32_t)i, 1};
	}
}

static int compare_parts(const void *left, const void *right)
{
	const struct layer_part *a = left, *b = right;

	return a->layer < b->layer ? 1 : a->layer > b->layer ? -1 : 0;
}

/* The layers of a piece: those of its calls, by what each sends. */
static struct ssgd_exchange exchange_of(struct ssgd *ssgd, const struct analysis *analysis,
	const struct analysis_worker *worker, const struct piece *piece)
{
	double *shares = mem_alloc(worker->layers.count, sizeof(*shares)), sum = 0;
	struct ssgd_exchange exchange = {0};
	struct layer_part *parts;

	for (uint32_t i = piece->call; i < piece->call + piece->call_count; i++) {
		uint32_t operation = timeline_call(&analysis->timeline, worker->worker->calls[i]).operation;
		const struct layer_role *role = role_of(analysis, worker, operation);

		for (uint32_t p = 0; p < role->part_count && role->phase == PHASE_COMMUNICATION; p++) {
			const struct layer_part *part = &worker->layers.parts[role->first_part + p];

			shares[part->layer] += part->share * bytes_of(analysis, operation);
			sum += part->share * bytes_of(analysis, operation);
		}
	}
	parts = arena_alloc(&ssgd->arena, worker->layers.count + 1, sizeof(*parts));
	for (uint32_t l = 0; l < worker->layers.count; l++)
		if (shares[l] > 0)
			parts[exchange.part_count++] = (struct layer_part){l, shares[l] / sum};
	qsort(parts, exchange.part_count, sizeof(*parts), compare_parts);
	exchange.parts = parts;
	free(shares);
	return exchange;
}

/* The exchanges as the first worker has them, in the order of its calls. */
static void find_exchanges(struct ssgd *ssgd, const struct analysis *analysis, const struct pieces *pieces)
{
	struct ssgd_exchange *exchanges = arena_alloc(&ssgd->arena, pieces->count + 1, sizeof(*exchanges));

	for (size_t e = 0; e < pieces->count; e++) {
		exchanges[e] = exchange_of(ssgd, analysis, &analysis->workers[0], &pieces->items[e]);
		ssgd->bucketed |= exchanges[e].part_count > 1;
	}
	ssgd->shape.exchanges = exchanges;
	ssgd->shape.exchange_count = pieces->count;
}

static void fill_rank(
	struct ssgd *ssgd, const struct analysis_worker *worker, uint32_t iteration, struct ssgd_rank *rank)
{
	const struct phase_times *times = &worker->phases.times[iteration];
	size_t count = ssgd->shape.layer_count;

	*rank = (struct ssgd_rank){
		.io = (double)times->busy_ns[PHASE_IO],
		.h2d = (double)times->busy_ns[PHASE_H2D],
		.md = (double)times->busy_ns[PHASE_MD],
		/* A graph of several phases computes for the most part. */
		.forward = (double)(times->busy_ns[PHASE_FORWARD] + times->busy_ns[PHASE_GRAPH]),
		.backward = (double)times->busy_ns[PHASE_BACKWARD],
		.communication = (double)times->busy_ns[PHASE_COMMUNICATION],
		.update = (double)times->busy_ns[PHASE_UPDATE],
		.compute = (double)times->compute_ns,
	};
	rank->io_exposed = (double)times->exclusive_ns[PHASE_IO];
	rank->copies_exposed = (double)(times->exclusive_ns[PHASE_H2D] + times->exclusive_ns[PHASE_MD]);
	rank->communication_exposed = (double)times->exclusive_ns[PHASE_COMMUNICATION];
	for (int phase = PHASE_OTHER; phase < PHASE_COUNT; phase++)
		rank->rest += (double)times->exclusive_ns[phase];
	if (ssgd->unpredicted)
		return;
	double *layers_ns = arena_alloc(&ssgd->arena, count + 1, sizeof(*layers_ns));

	for (size_t l = 0; l < count; l++)
		layers_ns[l] = worker->phases.layers_ns[(iteration * count + l) * PHASE_LAYER_COLUMNS +
							PHASE_LAYER_BACKWARD];
	rank->layers_ns = layers_ns;
}

/* The least that an exchange took any rank; -1 where the iteration has others. */
static int fill_exchanges(const struct ssgd *ssgd, const struct pieces *pieces, struct ssgd_step *step)
{
	if (ssgd->shape.exchange_count == 0)
		return 0;
	if (pieces->count != ssgd->shape.exchange_count)
		return -1;
	for (size_t e = 0; e < pieces->count; e++)
		step->exchange_ns[e] = fmin(step->exchange_ns[e], pieces->items[e].ns);
	return 0;
}

/* Why nothing can be said of single layers; NULL: something can. */
static const char *find_unpredicted(const struct analysis *analysis)
{
	const struct analysis_worker *first = &analysis->workers[0];

	if (analysis->stage_count > 1)
		return "The ranks hold different parts of the network: these equations assume that each "
		       "rank holds all of it, so none applies to this run.";
	if (first->layers.count == 0)
		return "No layers were found: aggregation by layer is not predicted.";
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		if (worker->layers.count != first->layers.count)
			return "The ranks' layers differ: aggregation by layer is not predicted.";
		for (size_t l = 0; l < worker->layers.count; l++)
			if (worker->phases.unknown[l * PHASE_LAYER_COLUMNS + PHASE_LAYER_BACKWARD] ||
				worker->phases.unknown[l * PHASE_LAYER_COLUMNS + PHASE_LAYER_COMMUNICATION])
				return "Layer times are inside captured graphs: aggregation by layer is "
				       "not predicted.";
	}
	return NULL;
}

static size_t least_used(const struct analysis *analysis)
{
	size_t least = SIZE_MAX;

	for (size_t w = 0; w < analysis->worker_count; w++)
		if (analysis->workers[w].used_count < least)
			least = analysis->workers[w].used_count;
	return analysis->worker_count ? least : 0;
}

static int fill_step(struct ssgd *ssgd, const struct analysis *analysis, size_t k, struct pieces *pieces,
	struct ssgd_step *step)
{
	step->ranks = arena_alloc(&ssgd->arena, analysis->worker_count, sizeof(*step->ranks));
	step->exchange_ns =
		arena_alloc(&ssgd->arena, ssgd->shape.exchange_count + 1, sizeof(*step->exchange_ns));
	for (size_t e = 0; e < ssgd->shape.exchange_count; e++)
		step->exchange_ns[e] = INFINITY;
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		uint32_t iteration = worker->used[k];

		step->measured_ns +=
			(double)worker->phases.times[iteration].iteration_ns / (double)analysis->worker_count;
		fill_rank(ssgd, worker, iteration, &step->ranks[w]);
		find_pieces(analysis, worker, &worker->iterations.items[iteration], pieces);
		if (fill_exchanges(ssgd, pieces, step) < 0)
			return -1;
	}
	return 0;
}

/* An iteration with other exchanges than most tells nothing of them: it is passed over. */
static void fill_steps(
	struct ssgd *ssgd, const struct analysis *analysis, size_t count, struct pieces *pieces)
{
	for (size_t k = 0; k < count; k++) {
		struct ssgd_step step = {0};

		if (fill_step(ssgd, analysis, k, pieces, &step) == 0)
			ssgd->steps[ssgd->step_count++] = step;
	}
}

void ssgd_gather(const struct analysis *analysis, struct ssgd *ssgd)
{
	const struct analysis_worker *first = &analysis->workers[0];
	size_t count = least_used(analysis);
	struct pieces pieces = {0};

	ssgd->shape.rank_count = analysis->worker_count;
	ssgd->steps = arena_alloc(&ssgd->arena, count + 1, sizeof(*ssgd->steps));
	if (count == 0)
		return;
	ssgd->parted = analysis->stage_count > 1;
	ssgd->unpredicted = find_unpredicted(analysis);
	ssgd->shape.layer_count = first->layers.count;
	find_pieces(analysis, first, &first->iterations.items[first->iterations.model], &pieces);
	find_exchanges(ssgd, analysis, &pieces);
	fill_steps(ssgd, analysis, count, &pieces);
	if (ssgd->step_count == 0) {
		ssgd->shape.exchange_count = 0;
		ssgd->parted = true;
		if (!ssgd->unpredicted)
			ssgd->unpredicted =
				"The ranks' gradient exchanges differ: their timing is not predicted.";
		fill_steps(ssgd, analysis, count, &pieces);
	}
	free(pieces.items);
}
