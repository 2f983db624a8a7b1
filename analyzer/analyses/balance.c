/* Load imbalance: see balance.h. */
#include "balance.h"
#include "load_imbalance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct balance_item item_of(const char *name, const double *values, size_t count)
{
	struct balance_item item = {.name = name, .imbalance = load_imbalance(values, count)};

	for (size_t i = 0; i < count; i++) {
		item.mean_ns += values[i] / (double)count;
		if (values[i] > item.greatest_ns) {
			item.greatest_ns = values[i];
			item.slowest = i;
		}
	}
	return item;
}

static void find_phases(const struct analysis *analysis, struct balance *balance)
{
	static const enum phase shown[] = {
		PHASE_IO, PHASE_H2D, PHASE_MD, PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_OTHER};
	size_t count = analysis->worker_count;
	double *values = mem_alloc(count, sizeof(*values));

	balance->phases =
		arena_alloc(&balance->arena, sizeof(shown) / sizeof(*shown) + 1, sizeof(*balance->phases));
	for (size_t i = 0; i < count; i++)
		values[i] = analysis_compute(&analysis->workers[i], 1).mean;
	balance->phases[balance->phase_count++] = item_of("computing", values, count);
	for (size_t p = 0; p < sizeof(shown) / sizeof(*shown); p++) {
		for (size_t i = 0; i < count; i++)
			values[i] = analysis_phase(&analysis->workers[i], 1, shown[p], ANALYSIS_BUSY).mean;
		balance->phases[balance->phase_count] = item_of(phase_keys[shown[p]], values, count);
		balance->phases[balance->phase_count].title = phase_titles[shown[p]];
		if (!analysis_phase_known(analysis, shown[p]))
			balance->phases[balance->phase_count].mean_ns =
				balance->phases[balance->phase_count].greatest_ns = NAN;
		balance->phase_count++;
	}
	free(values);
}

/* Over the workers that have the layer. */
static struct balance_item layer_item(
	const struct analysis *analysis, uint32_t stage, const struct layer *layer)
{
	double *values = mem_alloc(analysis->worker_count, sizeof(*values));
	size_t *workers = mem_alloc(analysis->worker_count, sizeof(*workers)), count = 0;
	struct balance_item item;

	for (size_t i = 0; i < analysis->worker_count; i++) {
		if (analysis->workers[i].stage != stage)
			continue;
		values[count] =
			analysis_layer(&analysis->workers[i], 1, layer->name, PHASE_LAYER_FORWARD).mean +
			analysis_layer(&analysis->workers[i], 1, layer->name, PHASE_LAYER_BACKWARD).mean;
		if (!(values[count] > 0))
			values[count] = 0;
		workers[count++] = i;
	}
	item = item_of(layer_title(layer), values, count);
	item.slowest = workers[item.slowest];
	free(values);
	free(workers);
	return item;
}

static void find_layers(const struct analysis *analysis, struct balance *balance)
{
	size_t count = 0;

	for (uint32_t s = 0; s < analysis->stage_count; s++)
		count += stage_first(analysis, s)->layers.count;
	balance->layers = arena_alloc(&balance->arena, count, sizeof(*balance->layers));
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++)
			balance->layers[balance->layer_count++] = layer_item(analysis, s, &layers->items[l]);
	}
}

/* An exchange of gradients in a used iteration, which is that number among its worker's. */
struct place {
	uint32_t call, worker, used;
};

struct places {
	struct place *items; /* in order of `call` */
	size_t count, room;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return a->call < b->call ? -1 : a->call > b->call;
}

static struct places find_exchanges(const struct analysis *analysis)
{
	struct places places = {0};
	bool ordered = true;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		for (size_t u = 0; u < worker->used_count; u++) {
			const struct iteration *item = &worker->iterations.items[worker->used[u]];

			for (size_t i = item->first_call; i < item->call_end; i++) {
				uint32_t call = worker->worker->calls[i];
				uint32_t operation = timeline_call(&analysis->timeline, call).operation;

				if (analysis->model.flows[operation].kind != PM_KIND_COMM ||
					phase_role(&analysis->model, worker->worker, &worker->layers,
						PHASE_NO_ITERATION, NULL, operation)
							->phase != PHASE_COMMUNICATION)
					continue;
				ordered &= places.count == 0 || places.items[places.count - 1].call < call;
				*MEM_PUSH(places.items, places.count, places.room) =
					(struct place){call, (uint32_t)w, (uint32_t)u};
			}
		}
	}
	/* Of a process with several devices the workers take turns. */
	if (!ordered)
		qsort(places.items, places.count, sizeof(*places.items), compare_places);
	return places;
}

/* NULL: the call is none of them. */
static const struct place *find_place(const struct places *places, size_t call)
{
	struct place wanted = {.call = (uint32_t)call};

	return places->count ? bsearch(&wanted, places->items, places->count, sizeof(*places->items),
				       compare_places)
			     : NULL;
}

static void find_waiting(const struct analysis *analysis, struct balance *balance)
{
	const struct collective_list *list = &analysis->collectives;
	struct places places = find_exchanges(analysis);
	bool *done = mem_alloc(analysis->timeline.interval_count, sizeof(*done));

	for (size_t i = 0; i < list->count; i += list->items[i].member_count) {
		const struct collective *members = &list->items[i];
		const struct timeline_call *call;
		const struct place *place;
		uint32_t last = 0;
		double wait_caused_ns = 0, others_ns = 0;

		for (uint32_t j = 1; j < members->member_count; j++)
			if (members[j].begin_ns > members[last].begin_ns)
				last = j;
		call = TIMELINE_CALL(&analysis->timeline, members[last].call);
		/* Calls of one group are one piece of work, and are waited for once. */
		place = find_place(&places, members[last].call);
		if (!place || (call->interval_count && done[call->interval]))
			continue;
		if (call->interval_count)
			done[call->interval] = true;
		for (uint32_t j = 0; j < members->member_count; j++) {
			if (j == last)
				continue;
			wait_caused_ns += (double)analysis->wait_ns[members[j].call];
			others_ns += (double)(members[j].end_ns - members[j].begin_ns);
		}
		balance->ranks[place->worker].wait_caused_ns += wait_caused_ns;
		balance->ranks[place->worker].each_ns[place->used] += wait_caused_ns;
		balance->ranks[place->worker].last_count +=
			wait_caused_ns > 0 && wait_caused_ns >= BALANCE_WAITED * others_ns;
		balance->collective_count++;
	}
	free(places.items);
	free(done);
}

void balance_find(const struct analysis *analysis, struct balance *balance)
{
	memset(balance, 0, sizeof(*balance));
	if (analysis->worker_count == 0)
		return;
	balance->ranks = arena_alloc(&balance->arena, analysis->worker_count, sizeof(*balance->ranks));
	for (size_t i = 0; i < analysis->worker_count; i++)
		balance->ranks[i].each_ns = arena_alloc(
			&balance->arena, analysis->workers[i].used_count, sizeof(*balance->ranks[i].each_ns));
	find_phases(analysis, balance);
	find_layers(analysis, balance);
	find_waiting(analysis, balance);
	for (size_t i = 0; i < analysis->worker_count; i++) {
		const struct analysis_worker *worker = &analysis->workers[i];

		balance->ranks[i].compute_ns = analysis_compute(worker, 1).mean;
		balance->ranks[i].wait_ns = analysis_wait(worker, 1).mean;
		balance->ranks[i].wait_caused_ns /= (double)worker->used_count;
	}
}

void balance_free(struct balance *balance)
{
	arena_free(&balance->arena);
	memset(balance, 0, sizeof(*balance));
}
