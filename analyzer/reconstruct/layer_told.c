/*
 * Iterations of other calls than the usual one's, as those in which a second optimizer steps too: what the
 * framework says of one is its passes and layers, and those of all that have the same computations. Layers
 * that the usual iteration does not have are new ones.
 */
#include "layer_assign.h"
#include "timeline/timeline_range.h"

#include <stdlib.h>

/* So many sequences of computations at most: the time that each takes is that of the usual one. */
#define MOST_TOLD 16

struct telling {
	struct layer_assign *usual;
	uint64_t *keys; /* by operation of the process; 0: not asked yet */
	size_t told[MOST_TOLD];
	uint64_t sequences[MOST_TOLD];
	size_t count;
};

static uint64_t key_of(const struct telling *telling, uint32_t number)
{
	const struct layer_assign *usual = telling->usual;
	const struct timeline_process *process = &usual->timeline->processes[usual->worker->process];

	return layer_place_key(usual->model, number, &telling->keys[number - process->first_operation]);
}

/* Of the computations in the iteration, in order. */
static uint64_t sequence_of(struct telling *telling, const struct iteration *item)
{
	const struct layer_assign *usual = telling->usual;
	uint64_t hash = 1;

	for (size_t i = item->first_call; i < item->call_end; i++) {
		const uint32_t number = timeline_call(usual->timeline, usual->worker->calls[i]).operation;

		if (usual->model->roles[number].flags & WORKER_CORE)
			hash = mem_hash(hash, key_of(telling, number));
	}
	return hash;
}

static size_t find_told(const struct telling *telling, uint64_t sequence)
{
	size_t i = 0;

	while (i < telling->count && telling->sequences[i] != sequence)
		i++;
	return i;
}

static void tell(struct telling *telling, size_t iteration, uint64_t sequence)
{
	struct layer_assign *usual = telling->usual;
	struct layer_assign other = {.timeline = usual->timeline,
		.model = usual->model,
		.worker = usual->worker,
		.iterations = usual->iterations,
		.list = usual->list,
		.framework = usual->framework,
		.captured = usual->captured,
		.recurs = usual->recurs,
		.rule = usual->rule};

	layer_assign_init(&other, iteration);
	other.special_room = usual->list->count + 1;
	other.specials = mem_alloc(other.special_room, sizeof(*other.specials));
	for (uint32_t i = 0; i < other.graph.step_count; i++)
		other.layers[i] = LAYER_NONE;
	if (layer_framework_other(&other)) {
		layer_tell_roles(&other, &usual->list->places[iteration]);
		telling->told[telling->count] = iteration;
		telling->sequences[telling->count++] = sequence;
	}
	other.recurs = NULL; /* the usual one's */
	layer_assign_free(&other);
}

static bool was_asked(const struct layer_assign *usual, const struct iteration *item)
{
	return timeline_operators_recorded(
		&usual->timeline->processes[usual->worker->process], item->begin_ns, item->end_ns);
}

void layer_tell_others(struct layer_assign *assign)
{
	const struct iteration_list *iterations = assign->iterations;
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	struct telling telling = {.usual = assign};
	uint64_t *sequences;

	assign->list->places =
		arena_alloc(&assign->list->arena, iterations->count, sizeof(*assign->list->places));
	if (!assign->said || !assign->framework || !iterations->items[assign->iteration].usual)
		return;
	telling.keys = mem_alloc(process->operation_count, sizeof(*telling.keys));
	sequences = mem_alloc(iterations->count, sizeof(*sequences));
	for (size_t i = 0; i < iterations->count; i++) {
		const struct iteration *item = &iterations->items[i];

		if (item->usual)
			continue;
		sequences[i] = sequence_of(&telling, item);
		if (telling.count < MOST_TOLD && item->kind != ITERATION_WARMUP && was_asked(assign, item) &&
			find_told(&telling, sequences[i]) == telling.count)
			tell(&telling, i, sequences[i]);
	}
	for (size_t i = 0; i < iterations->count; i++) {
		const size_t told = find_told(&telling, sequences[i]);

		if (!iterations->items[i].usual && told < telling.count)
			assign->list->places[i] = assign->list->places[telling.told[told]];
	}
	free(sequences);
	free(telling.keys);
}
