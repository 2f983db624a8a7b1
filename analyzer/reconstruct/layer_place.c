/*
 * Which computation of the iteration that layers were found in each computation of another iteration is.
 * Iterations of the usual sequence have the same ones; of others, which have a few more or fewer (what
 * depends on the data, work that is done every so many steps), the sequences are aligned (align.h). What has
 * no partner then may be at another place: threads of TensorFlow's executor launch whatever is ready first.
 */
#include "align.h"
#include "layer_assign.h"
#include "rule.h"
#include "sequence.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

/* An iteration's computations. */
struct cores {
	uint64_t *keys;
	uint32_t *operations;
	size_t count, key_room, operation_room;
};

struct placing {
	const struct worker_model *model;
	const struct worker *worker;
	struct layer_list *list;
	uint64_t *keys; /* by operation of the process; 0: not asked yet */
	struct cores own, other;
	uint32_t *places; /* by computation of the iteration that is placed */
	enum rule rule;   /* at work */
};

RULE_SEQUENCE(place, struct placing, context->rule)

uint64_t layer_place_key(const struct worker_model *model, uint32_t number, uint64_t *known)
{
	const struct timeline *timeline = model->timeline;

	if (!*known) {
		*known = sequence_key(timeline, &timeline->operations[number]);
		if (!model->opaque)
			*known = mem_hash(*known, iteration_key(model, number));
		*known += !*known;
	}
	return *known;
}

static uint64_t key_of(const struct placing *placing, uint32_t number)
{
	const struct timeline_process *process =
		&placing->model->timeline->processes[placing->worker->process];

	return layer_place_key(placing->model, number, &placing->keys[number - process->first_operation]);
}

static void layer_place_take(struct placing *placing, const struct iteration *item, struct cores *cores)
{
	size_t count = 0;

	cores->count = 0;
	for (size_t i = item->first_call; i < item->call_end; i++) {
		const uint32_t number =
			timeline_call(placing->model->timeline, placing->worker->calls[i]).operation;

		if (!(placing->model->roles[number].flags & WORKER_CORE))
			continue;
		*MEM_PUSH(cores->operations, count, cores->operation_room) = number;
		*MEM_PUSH(cores->keys, cores->count, cores->key_room) = key_of(placing, number);
	}
}

/* Does its operation, where that is in the phase, say more of the layer than its place does? */
static bool is_known(const struct placing *placing, uint32_t number, enum phase phase)
{
	const struct worker_role *touches = &placing->model->roles[number];
	const struct layer_role *role =
		&placing->list->operation_roles[number -
						placing->model->timeline->processes[placing->worker->process]
							.first_operation];

	return role->known && role->phase == phase && touches->parameter_count + touches->written_count > 0;
}

/* A computation without a partner. */
struct lone {
	uint32_t operation, place;
};

static int compare_lone(const void *left, const void *right)
{
	const struct lone *a = left, *b = right;

	if (a->operation != b->operation)
		return a->operation < b->operation ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Those of one operation that have no partner in both iterations are the same, in order. */
static void place_moved(struct placing *placing)
{
	uint32_t *places = placing->places;
	const struct cores *own = &placing->own, *other = &placing->other;
	struct lone *lone = mem_alloc(own->count + other->count, sizeof(*lone)), *others = lone + own->count;
	bool *taken = mem_alloc(other->count, sizeof(*taken));
	size_t count = 0, other_count = 0;

	for (uint32_t i = 0; i < own->count; i++)
		if (places[i] == ALIGN_NONE)
			lone[count++] = (struct lone){own->operations[i], i};
		else
			taken[places[i]] = true;
	for (uint32_t i = 0; i < other->count; i++)
		if (!taken[i])
			others[other_count++] = (struct lone){other->operations[i], i};
	if (count && other_count) {
		qsort(lone, count, sizeof(*lone), compare_lone);
		qsort(others, other_count, sizeof(*others), compare_lone);
	}
	for (size_t i = 0, o = 0; i < count && o < other_count;) {
		if (lone[i].operation == others[o].operation)
			places[lone[i++].place] = others[o++].place;
		else if (lone[i].operation < others[o].operation)
			i++;
		else
			o++;
	}
	free(taken);
	free(lone);
}

/*
 * A computation that the other iteration lacks, between two that it has in one phase, is of that phase too,
 * and of the layer before it unless it works on a parameter.
 */
static void place_inserted(struct placing *placing)
{
	uint32_t *places = placing->places;
	const struct layer_role *roles = placing->list->core_roles;
	const struct cores *own = &placing->own;

	for (size_t i = 1, end; i < own->count; i = end + 1) {
		enum phase phase;

		for (end = i; end < own->count && places[end] == ALIGN_NONE; end++)
			;
		if (end == i || end == own->count || places[i - 1] == ALIGN_NONE)
			continue;
		phase = roles[places[i - 1]].phase;
		for (size_t j = i; j < end && phase == roles[places[end]].phase; j++)
			if (!is_known(placing, own->operations[j], phase))
				places[j] = places[i - 1];
	}
}

static const struct place_rule place_rules[] = {
	{RULE_MOVED, place_moved},
	{RULE_INSERTED, place_inserted},
};

static void place_iteration(struct placing *placing, const struct iteration *item, struct layer_places *to)
{
	uint32_t *places;
	size_t most;

	layer_place_take(placing, item, &placing->own);
	most = (size_t)((1 - PLACE_LEAST_ALIKE) * (double)(placing->own.count + placing->other.count));
	places = mem_alloc(placing->own.count, sizeof(*places));
	if (align((struct align_keys){placing->own.keys, placing->own.count},
		    (struct align_keys){placing->other.keys, placing->other.count}, most, places)) {
		placing->places = places;
		place_each(RULE_TABLE(place_rules), placing);
		to->count = placing->own.count;
		to->cores = arena_alloc(&placing->list->arena, to->count, sizeof(*to->cores));
		memcpy(to->cores, places, to->count * sizeof(*places));
	}
	free(places);
}

void layer_place_cores(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list)
{
	const struct timeline_process *process = &model->timeline->processes[worker->process];
	const struct iteration *found = &iterations->items[list->iteration];
	struct placing placing = {.model = model, .worker = worker, .list = list, .rule = RULE_NONE};

	if (!list->places)
		list->places = arena_alloc(&list->arena, iterations->count, sizeof(*list->places));
	for (size_t i = 0; i < iterations->count; i++) {
		const struct iteration *item = &iterations->items[i];

		if (item == found || (item->usual && found->usual)) {
			list->places[i].count = list->core_count;
			continue;
		}
		if (!placing.keys) {
			placing.keys = mem_alloc(process->operation_count, sizeof(*placing.keys));
			layer_place_take(&placing, found, &placing.other);
			if (placing.other.count > list->core_count) /* it was cut */
				placing.other.count = list->core_count;
		}
		place_iteration(&placing, item, &list->places[i]);
	}
	free(placing.keys);
	free(placing.own.keys);
	free(placing.own.operations);
	free(placing.other.keys);
	free(placing.other.operations);
}
