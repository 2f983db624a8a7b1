/*
 * The parts of an iteration: a step of training has several updates where networks train in turns (GANs), or
 * the optimizer goes through the model more than once (SAM, LBFGS).
 */
#include "layer_flow.h"
#include "rule.h"
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
	if (rule_is_on(RULE_UPDATES_CALLER))
		grow_by_functions(work);
	keep_updated(work);
	if (rule_is_on(RULE_UPDATES_LAST_PASSES))
		add_last(work);
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

static bool find_with(struct flow_work *work, bool (*find_updates)(struct flow_work *))
{
	work->part_count = 0;
	if (!find_updates(work))
		return false;
	if (rule_is_on(RULE_BLOCK_TOUCHES))
		flow_touch_blocks(work);
	flow_hide_updates(work);
	return work->parameter_count > 0 && flow_turn(work);
}

struct update_rule {
	enum rule rule;
	bool (*find)(struct flow_work *work);
};

bool flow_find_passes(struct flow_work *work)
{
	static const struct update_rule rules[] = {
		{RULE_UPDATES_SEVERAL, find_several},
		{RULE_UPDATES_SPREAD, flow_find_spread},
		{RULE_UPDATES_ONE, find_one},
	};
	struct flow_place *places = mem_alloc(work->place_count, sizeof(*places));
	const uint32_t parameter_count = work->parameter_count;
	bool found = false;

	memcpy(places, work->places, work->place_count * sizeof(*places));
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules) && !found; i++) {
		if (!rule_is_on(rules[i].rule))
			continue;
		flow_forget_updates(work);
		memcpy(work->places, places, work->place_count * sizeof(*places));
		work->parameter_count = parameter_count;
		found = find_with(work, rules[i].find);
		if (found && rules[i].rule != RULE_UPDATES_ONE)
			work->assign->list->updates = 1; /* that there are more puts nothing in doubt */
	}
	free(places);
	return found;
}
