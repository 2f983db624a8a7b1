/*
 * The parts of an iteration: a step of training has several updates where networks train in turns (GANs), or
 * the optimizer goes through the model more than once (SAM, LBFGS).
 */
#include "layer_flow.h"
#include "sequence.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

void flow_select_part(struct flow_work *work, const struct flow_part *part)
{
	work->begin = part->begin;
	work->update_begin = part->update_begin;
	work->update_end = part->update_end;
}

/* Leaves what updates touch, and weights, which may be frozen; of these what other steps touch too: the rest
 * is state. */
static void keep_updated(struct flow_work *work)
{
	struct flow_range *ranges = mem_alloc(work->part_count, sizeof(*ranges));
	bool *weights = flow_find_weights(work);

	for (size_t k = 0; k < work->part_count; k++)
		ranges[k] = (struct flow_range){work->parts[k].update_begin, work->parts[k].update_end};
	flow_keep_in(work, ranges, work->part_count, weights);
	for (size_t k = 0; k < work->part_count; k++)
		ranges[k] = (struct flow_range){work->parts[k].begin, work->parts[k].update_begin};
	flow_keep_in(work, ranges, work->part_count, NULL);
	free(weights);
	free(ranges);
}

static const char *site_of(const struct flow_work *work, uint32_t step)
{
	return work->assign->timeline->operations[work->assign->graph.steps[step].operation].site;
}

/* Is a step called by the function that begins an update? */
static bool is_called_for_update(const struct flow_work *work, uint32_t step)
{
	for (size_t k = 0; k < work->part_count; k++)
		if (sequence_is_called_in(site_of(work, work->parts[k].update_begin), site_of(work, step)))
			return true;
	return false;
}

RULE_SEQUENCE(update, struct flow_work, context->assign->rule)

/*
 * Updates begin with what the functions do before that they are called in: norms of gradients. Of work that
 * is alike the first function that does it is known, which may be another update's, or here and there the
 * model's.
 */
static void grow_by_functions(struct flow_work *work)
{
	for (size_t k = 0; k < work->part_count; k++) {
		uint32_t *begin = &work->parts[k].update_begin;

		for (uint32_t i = *begin;
			i-- > work->parts[k].begin && !flow_is_of_model(work, i) && *begin - i <= NEAR_CALLS;)
			if (is_called_for_update(work, i))
				*begin = i;
	}
}

/* An optimizer may go through the model a last time after its last update: those passes have what it does
 * then as theirs, whatever it touches. */
static void add_last(struct flow_work *work)
{
	const uint32_t behind = work->parts[work->part_count - 1].update_end;
	uint32_t begin = work->step_count;

	while (begin > behind && !flow_is_of_model(work, begin - 1))
		begin--;
	if (begin == behind)
		return;
	while (begin < work->step_count && !flow_is_update(work, begin))
		begin++;
	*MEM_PUSH(work->parts, work->part_count, work->part_room) = (struct flow_part){.begin = behind,
		.update_begin = begin,
		.update_end = work->step_count,
		.may_lack_passes = true};
}

/* Before parameters are known, and when they are. */
static const struct update_rule early_rules[] = {{RULE_UPDATES_CALLER, grow_by_functions}};
static const struct update_rule late_rules[] = {{RULE_UPDATES_LAST_PASSES, add_last}};

/* An update in each stretch without computations of the model that has one. False: there are no two. */
static bool find_several(struct flow_work *work)
{
	uint32_t begin = 0, behind = 0;

	if (work->shard_count || work->assign->list->doubt == LAYER_WEIGHTS_ALONE)
		return false;
	for (uint32_t i = 0; i <= work->step_count; i++) {
		if (i < work->step_count && !flow_is_of_model(work, i))
			continue;
		if (i > begin && flow_find_update_in(work, begin, i)) {
			*MEM_PUSH(work->parts, work->part_count, work->part_room) =
				(struct flow_part){.begin = behind,
					.update_begin = work->update_begin,
					.update_end = work->update_end};
			behind = work->update_end;
		}
		begin = i + 1;
	}
	if (work->part_count < 2)
		return false;
	update_each(RULE_TABLE(early_rules), work);
	keep_updated(work);
	update_each(RULE_TABLE(late_rules), work);
	return true;
}

static bool find_one(struct flow_work *work)
{
	if (!(work->assign->list->doubt == LAYER_WEIGHTS_ALONE ? flow_find_named_update(work)
							       : flow_find_update(work)))
		return false;
	*MEM_PUSH(work->parts, work->part_count, work->part_room) =
		(struct flow_part){.update_begin = work->update_begin, .update_end = work->update_end};
	return true;
}

/* The work on updates, and what it began with: each way to find them begins anew. */
struct searching {
	struct flow_work *work;
	struct flow_place *places;
	uint32_t parameter_count;
};

RULE_SEARCH(way, bool, false, struct searching, context->work->assign->rule)

static void begin_anew(struct searching *searching)
{
	static const struct update_rule blocks[] = {{RULE_BLOCK_TOUCHES, flow_touch_blocks}};
	struct flow_work *work = searching->work;

	flow_forget_updates(work);
	memcpy(work->places, searching->places, work->place_count * sizeof(*work->places));
	work->parameter_count = searching->parameter_count;
	work->part_count = 0;
	update_each(RULE_TABLE(blocks), work);
}

/* Passes for the updates that are found. */
static bool find_passes(struct flow_work *work)
{
	flow_hide_updates(work);
	if (work->parameter_count == 0 || !flow_turn(work))
		return false;
	for (size_t k = 0; k < work->part_count; k++)
		work->parts[k].rule = work->assign->rule;
	return true;
}

static bool search_several(struct searching *searching)
{
	begin_anew(searching);
	return find_several(searching->work) && find_passes(searching->work);
}

static bool search_spread(struct searching *searching)
{
	begin_anew(searching);
	return flow_find_spread(searching->work) && find_passes(searching->work);
}

static bool search_one(struct searching *searching)
{
	begin_anew(searching);
	return find_one(searching->work) && find_passes(searching->work);
}

/* Where these apply it is clear that an iteration has several updates. */
static const struct way_rule ways_to_several[] = {
	{RULE_UPDATES_SEVERAL, search_several},
	{RULE_UPDATES_SPREAD, search_spread},
};
static const struct way_rule way_to_one = {RULE_UPDATES_ONE, search_one};

bool flow_find_passes(struct flow_work *work)
{
	struct searching searching = {
		work, mem_alloc(work->place_count, sizeof(*work->places)), work->parameter_count};
	bool found;

	memcpy(searching.places, work->places, work->place_count * sizeof(*work->places));
	found = way_first(RULE_TABLE(ways_to_several), &searching);
	if (found)
		work->assign->list->updates = 1; /* that there are more puts nothing in doubt */
	else
		found = way_apply(&way_to_one, &searching);
	free(searching.places);
	return found;
}
