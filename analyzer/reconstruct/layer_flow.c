/*
 * From what calls touch to parameters: what was copied to the device before the first iteration, or where
 * nothing of that is updated, what stands beside weights in the arguments of updates; and is never written by
 * a library's computation.
 */
#include "layer_flow.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

bool flow_may_be_parameter(const struct flow_place *place)
{
	return place->persistent && !place->library_writes && !place->input;
}

/* ---- parameters that were made on the device: nothing was copied ---- */

/* Is a parameter among the arguments of such a kernel? True also where there is no such kernel. */
static bool are_updated(const struct flow_work *work)
{
	bool any = false;

	for (uint32_t i = 0; i < work->step_count; i++) {
		if (!flow_changes_parameters(work, i))
			continue;
		any = true;
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			if (work->places[flow_touch_of(work, i, t)->place].parameter)
				return true;
	}
	return !any;
}

bool *flow_find_weights(const struct flow_work *work)
{
	bool *weights = mem_alloc(work->place_count, sizeof(*weights));
	bool *touched = mem_alloc(work->place_count, sizeof(*touched));

	for (uint32_t i = 0; i < work->step_count; i++)
		for (uint32_t t = 0; t < work->steps[i].count; t++) {
			const struct flow_touch *touch = flow_touch_of(work, i, t);

			if (!touched[touch->place])
				weights[touch->place] =
					work->steps[i].computes && touch->read && !touch->written;
			touched[touch->place] = true;
		}
	free(touched);
	return weights;
}

/* The sizes of parameters, as far as libraries that read them say so. */
static void note_bytes(struct flow_work *work)
{
	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct flow *flow = graph_flow(&work->assign->graph, i);

		for (uint32_t j = 0; j < flow->access_count && work->steps[i].computes; j++) {
			struct flow_place *place = flow_place_at(work, flow->accesses[j].address);

			if (place && place->parameter && flow->accesses[j].mode == FLOW_READ &&
				flow->accesses[j].bytes > place->bytes)
				place->bytes = flow->accesses[j].bytes;
		}
	}
}

/* Is it the only parameter that begins in so many bytes from its address? */
static bool is_alone(const struct flow_work *work, const struct flow_place *place, uint64_t bytes)
{
	for (const struct flow_place *next = place + 1; next < work->places + work->place_count; next++)
		if (next->parameter)
			return next->address - place->address >= bytes;
	return true;
}

void flow_size_packed(struct flow_work *work)
{
	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct flow *flow = graph_flow(&work->assign->graph, i);
		const struct timeline_operation *operation =
			&work->assign->timeline->operations[work->assign->graph.steps[i].operation];

		if (work->assign->timeline->functions[operation->function].facts.role != PM_ROLE_RECURRENT)
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++) {
			const struct flow_access *access = &flow->accesses[j];
			struct flow_place *place = flow_place_at(work, access->address);

			if (place && place->parameter && access->mode == FLOW_READ &&
				access->bytes > place->bytes && is_alone(work, place, access->bytes))
				place->bytes = access->bytes;
		}
	}
}

/*
 * A list of tensors in a kernel's arguments is a row of words. Where the row ends that begins with touch
 * `first` of a step: where words are left out, or a library writes (lists may stand without room between
 * them).
 */
static uint32_t row_end(const struct flow_work *work, uint32_t step, uint32_t first)
{
	uint32_t end = first;

	while (end < work->steps[step].count &&
		flow_may_be_parameter(&work->places[flow_touch_of(work, step, end)->place]) &&
		(end == first ||
			flow_touch_of(work, step, end)->word == flow_touch_of(work, step, end - 1)->word + 1))
		end++;
	return end;
}

/* What stands in one row with a weight is a parameter. */
static void mark_row(const struct flow_work *work, uint32_t step, uint32_t first, uint32_t end,
	const bool *weights, bool *marks)
{
	bool has_weight = false;

	for (uint32_t t = first; t < end; t++)
		has_weight |= weights[flow_touch_of(work, step, t)->place];
	for (uint32_t t = first; t < end && has_weight; t++)
		marks[flow_touch_of(work, step, t)->place] = true;
}

/* The first step that may be of an update where no kernel is called so: after the last computation of a
 * library. */
static uint32_t update_may_begin(const struct flow_work *work)
{
	uint32_t begin = work->step_count;

	for (uint32_t i = 0; i < work->step_count; i++)
		if (flow_changes_parameters(work, i))
			return work->step_count;
	while (begin > 0 && !work->steps[begin - 1].computes)
		begin--;
	return begin;
}

/* By place: does it stand in one row with a weight in the arguments of an update? The caller frees it. */
static bool *find_rows(const struct flow_work *work)
{
	bool *weights = flow_find_weights(work);
	bool *marks = mem_alloc(work->place_count, sizeof(*marks));
	const uint32_t begin = update_may_begin(work);

	for (uint32_t i = 0; i < work->step_count; i++)
		for (uint32_t t = 0, end;
			(flow_changes_parameters(work, i) || (i >= begin && work->steps[i].launch)) &&
			t < work->steps[i].count;
			t = end) {
			end = row_end(work, i, t);
			mark_row(work, i, t, end, weights, marks);
			end += end == t; /* none begins here */
		}
	free(weights);
	return marks;
}

/* Of what is gathered from shards, the shards are the parameters; how many there are. */
static uint32_t mark_shards(struct flow_work *work)
{
	for (uint32_t p = 0; p < work->place_count; p++)
		work->places[p].parameter = work->places[p].shard;
	return work->shard_count;
}

/* Parameters by the rows of updates' arguments; how many there are. */
static uint32_t mark_updated(struct flow_work *work, const bool *rows)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < work->place_count; p++) {
		work->places[p].parameter = rows[p];
		count += rows[p];
	}
	note_bytes(work);
	return count;
}

/*
 * Where all copies to what updates have as arguments were written over before the first iteration, their
 * memory was used before the parameters: these are known by the updates alone. Has that been so?
 */
static bool replace_overwritten(struct flow_work *work)
{
	bool *rows = find_rows(work), *over = flow_overwritten(work), all = false;

	for (uint32_t p = 0; p < work->place_count; p++)
		if (rows[p] && work->places[p].parameter) {
			all = over[p];
			if (!all)
				break;
		}
	for (uint32_t p = 0; p < work->place_count && all; p++) {
		work->places[p].bytes = 0;
		work->places[p].copied_in = NULL;
		work->places[p].made = true;
	}
	if (all)
		work->parameter_count = mark_updated(work, rows);
	free(over);
	free(rows);
	return all;
}

/*
 * Where most weights are no parameters so far, the optimizer works on a copy of them: on this rank's part, in
 * another type, from which they are made again after the update (ZeRO). Then the weights are what is known
 * of the parameters. How many there are; 0: nothing has changed.
 */
static uint32_t mark_weights(struct flow_work *work)
{
	bool *weights = flow_find_weights(work);
	uint32_t count = 0, known = 0;

	for (uint32_t p = 0; p < work->place_count; p++) {
		weights[p] &= flow_may_be_parameter(&work->places[p]);
		count += weights[p];
		known += weights[p] && work->places[p].parameter;
	}
	if (count < PARAMETERS_LEAST || 2 * known >= count)
		count = 0;
	for (uint32_t p = 0; p < work->place_count && count; p++)
		work->places[p].parameter = weights[p];
	free(weights);
	if (count)
		note_bytes(work);
	return count;
}

/* Is every second parameter among the arguments of updates, as weights are whose biases lie after them? Then
 * they are no copies, whoever made them. */
static bool are_arguments_of_updates(const struct flow_work *work)
{
	bool *updated = mem_alloc(work->place_count, sizeof(*updated));
	uint32_t count = 0;

	for (uint32_t i = 0; i < work->step_count; i++)
		for (uint32_t t = 0; flow_changes_parameters(work, i) && t < work->steps[i].count; t++)
			updated[flow_touch_of(work, i, t)->place] = true;
	for (uint32_t p = 0; p < work->place_count; p++)
		count += work->places[p].parameter && updated[p];
	free(updated);
	return 2 * count >= work->parameter_count;
}

/* Marks what lies beside weights in a range, each up to the next; how many are new. */
static uint32_t mark_range(struct flow_work *work, const struct flow_access *range)
{
	uint64_t limit = range->address + range->bytes;
	uint32_t count = 0;

	for (uint32_t p = work->place_count; p-- > 0;) {
		struct flow_place *place = &work->places[p];

		if (!flow_holds(range, place->address) || !flow_may_be_parameter(place))
			continue;
		count += !place->parameter;
		place->parameter = true;
		if (place->bytes == 0 || place->bytes > limit - place->address)
			place->bytes = limit - place->address;
		limit = place->address;
	}
	return count;
}

/*
 * All ranks send each other the parts of the parameters that they have updated, to one block that holds them
 * all: where most weights are in what a collective writes, the other parameters are in it, too. How many.
 */
static uint32_t mark_gathered(struct flow_work *work, uint32_t weights)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct flow *flow = graph_flow(&work->assign->graph, i);

		for (uint32_t j = 0; j < flow->access_count && flow->kind == PM_KIND_COMM; j++) {
			uint32_t inside = 0;

			for (uint32_t p = 0; p < work->place_count && flow_writes(&flow->accesses[j]); p++)
				inside += work->places[p].parameter &&
					  flow_holds(&flow->accesses[j], work->places[p].address);
			if (2 * inside > weights + count)
				count += mark_range(work, &flow->accesses[j]);
		}
	}
	return count;
}

uint32_t flow_count_parameters(const struct flow_work *work, uint32_t step, uint32_t *marks, uint32_t mark)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < work->steps[step].count; t++) {
		const uint32_t place = work->touches[work->steps[step].first + t].place;

		if (!work->places[place].parameter || marks[place] == mark)
			continue;
		marks[place] = mark;
		count++;
	}
	return count;
}

/* Does a step of a library work on a place as on a part of a block: one of the parameters that it reads, or,
 * where it packs all of its layer's weights together, of their gradients? */
static bool is_in_block(const struct flow_access *access, const struct flow_place *place, bool packs)
{
	if (place->address <= access->address || !flow_holds(access, place->address))
		return false;
	return place->parameter ? access->mode == FLOW_READ : packs && flow_writes(access);
}

static bool packs_weights(const struct flow_work *work, uint32_t step)
{
	const struct timeline *timeline = work->assign->timeline;
	const struct timeline_operation *operation =
		&timeline->operations[work->assign->graph.steps[step].operation];

	return timeline->functions[operation->function].facts.role == PM_ROLE_RECURRENT;
}

void flow_touch_blocks(struct flow_work *work)
{
	struct flow_touch *touches = NULL;
	size_t count = 0, room = 0;

	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct flow *flow = graph_flow(&work->assign->graph, i);
		const bool packs = packs_weights(work, i);
		const size_t first = count;

		for (uint32_t t = 0; t < work->steps[i].count; t++)
			*MEM_PUSH(touches, count, room) = *flow_touch_of(work, i, t);
		for (uint32_t j = 0; j < flow->access_count && work->steps[i].computes; j++)
			for (uint32_t p = 0; p < work->place_count; p++)
				if (is_in_block(&flow->accesses[j], &work->places[p], packs) &&
					!flow_is_touched(work, p, i, i + 1))
					*MEM_PUSH(touches, count, room) =
						(struct flow_touch){p, 0, .read = work->places[p].parameter,
							.written = !work->places[p].parameter};
		work->steps[i].first = (uint32_t)first;
		work->steps[i].count = (uint32_t)(count - first);
	}
	free(work->touches);
	work->touches = touches;
	work->touch_count = count;
	work->touch_room = room;
}

RULE_SEARCH(parameter, bool, false, struct flow_work, context->assign->rule)

/* Each marks parameters; true: no other rule is needed. */

static bool by_shards(struct flow_work *work)
{
	if (work->shard_count == 0)
		return false;
	work->parameter_count = mark_shards(work);
	return true;
}

static bool by_copies(struct flow_work *work)
{
	work->parameter_count = flow_mark_copied(work, false);
	return false;
}

static bool by_copies_inside(struct flow_work *work)
{
	if (work->parameter_count < PARAMETERS_LEAST)
		work->parameter_count += flow_mark_copied(work, true);
	return false;
}

/* In place of what was copied, of which nothing is updated. */
static bool by_updates(struct flow_work *work)
{
	bool *rows;

	if (are_updated(work))
		return false;
	rows = find_rows(work);
	work->parameter_count = mark_updated(work, rows);
	free(rows);
	return true;
}

static const struct parameter_rule parameter_rules[] = {
	{RULE_SHARDS, by_shards},
	{RULE_COPIED, by_copies},
	{RULE_OVERWRITTEN, replace_overwritten},
	{RULE_COPIED_INSIDE, by_copies_inside},
	{RULE_UPDATED_ROWS, by_updates},
};

/* The rest of the block that most weights are gathered to. */
static bool by_gathered_block(struct flow_work *work)
{
	work->gathered = mark_gathered(work, work->parameter_count);
	work->parameter_count += work->gathered;
	return work->gathered > 0;
}

/* What libraries read alone may be parts of activations: weights are believed where there is an update of
 * them. */
static bool by_weights(struct flow_work *work)
{
	static const struct parameter_rule block = {RULE_GATHERED_BLOCK, by_gathered_block};
	uint32_t weights;

	if (work->shard_count || !flow_find_named_update(work))
		return false;
	weights = mark_weights(work);
	if (weights == 0)
		return false;
	work->parameter_count = weights;
	parameter_apply(&block, work);
	if (!are_arguments_of_updates(work))
		work->assign->list->doubt = LAYER_WEIGHTS_ALONE;
	return true;
}

bool flow_parameters(struct flow_work *work, const struct iteration_list *iterations)
{
	static const struct parameter_rule weights = {RULE_READ_WEIGHTS, by_weights};

	flow_note_set_up(work, iterations);
	parameter_first(RULE_TABLE(parameter_rules), work);
	work->assign->list->updates = flow_count_updates(work);
	parameter_apply(&weights, work);
	return work->parameter_count > 0;
}
