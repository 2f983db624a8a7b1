/*
 * Updates within the backward pass: each parameter is updated as soon as its gradient is made, and the
 * gradient let go of. The launches that names tell as updates are taken out of the iteration while passes and
 * layers are found; what they touch then tells which work made their gradients.
 */
#include "layer_flow.h"

#include <stdlib.h>

/* Takes what updates touch away from the steps, or gives it back. */
static void set_shown(struct flow_work *work, bool shown)
{
	for (uint32_t i = 0; i < work->step_count; i++) {
		struct flow_step *step = &work->steps[i];

		if (!step->updates || step->shown == shown)
			continue;
		step->shown = shown;
		step->count = shown ? step->update_count : 0;
	}
}

/* The next launches that update and stand together, from a step on. False: there are none. */
static bool next_burst(const struct flow_work *work, uint32_t from, struct flow_range *burst)
{
	while (from < work->step_count && !work->steps[from].updates)
		from++;
	burst->begin = burst->end = from;
	while (burst->end < work->step_count && work->steps[burst->end].updates)
		burst->end++;
	return burst->begin < burst->end;
}

/* The range of steps that nothing but updates is after: the last burst, where that is the end of all work.
 */
static void set_window(struct flow_work *work)
{
	uint32_t last = work->step_count;

	while (last > 0 && !work->steps[last - 1].updates && !work->steps[last - 1].computes &&
		!work->steps[last - 1].launch)
		last--;
	work->begin = 0;
	work->update_end = last;
	while (last > 0 && work->steps[last - 1].updates)
		last--;
	work->update_begin = last;
}

/* The parameter that a launch changes: the first of its arguments, where results are. Others may be words
 * that launches for other parameters have left behind. FLOW_NOWHERE: that is none. */
static uint32_t changed_by(const struct flow_work *work, uint32_t step)
{
	uint32_t place = FLOW_NOWHERE, least = UINT32_MAX;

	for (uint32_t t = 0; t < work->steps[step].update_count; t++)
		if (flow_touch_of(work, step, t)->word < least) {
			least = flow_touch_of(work, step, t)->word;
			place = flow_touch_of(work, step, t)->place;
		}
	return place != FLOW_NOWHERE && work->places[place].parameter ? place : FLOW_NOWHERE;
}

/* How often parameters are changed with work of the model in between. */
static uint32_t count_apart(const struct flow_work *work)
{
	uint32_t count = 0;
	bool apart = true;

	for (uint32_t i = 0; i < work->step_count; i++) {
		apart |= flow_is_of_model(work, i);
		if (!apart || !work->steps[i].updates || changed_by(work, i) == FLOW_NOWHERE)
			continue;
		count++;
		apart = false;
	}
	return count;
}

bool flow_find_spread(struct flow_work *work)
{
	struct flow_range *ranges = NULL, burst = {0, 0};
	size_t count = 0, room = 0;
	bool *weights;

	work->spread = true;
	for (uint32_t i = 0; i < work->step_count; i++) {
		work->steps[i].updates = work->steps[i].shown = flow_is_update(work, i);
		work->steps[i].update_count = work->steps[i].count;
	}
	while (next_burst(work, burst.end, &burst))
		*MEM_PUSH(ranges, count, room) = burst;
	if (count_apart(work) < 2 || work->shard_count || work->assign->list->doubt == LAYER_WEIGHTS_ALONE) {
		free(ranges);
		return false;
	}
	weights = flow_find_weights(work);
	flow_keep_in(work, ranges, count, weights);
	free(weights);
	free(ranges);
	set_shown(work, false);
	flow_keep_touched(work, 0, work->step_count);
	set_shown(work, true);
	set_window(work);
	*MEM_PUSH(work->parts, work->part_count, work->part_room) =
		(struct flow_part){.update_begin = work->update_begin, .update_end = work->update_end};
	return true;
}

void flow_hide_updates(struct flow_work *work)
{
	for (uint32_t i = 0; i < work->step_count && work->spread; i++)
		work->steps[i].update_count = work->steps[i].count;
	set_shown(work, false);
}

void flow_forget_updates(struct flow_work *work)
{
	set_shown(work, true);
	for (uint32_t i = 0; i < work->step_count && work->spread; i++)
		work->steps[i].updates = false;
	work->spread = false;
}

bool flow_next_updated(struct flow_work *work, uint32_t from, struct flow_burst *burst)
{
	if (!work->spread || !next_burst(work, from, &burst->steps))
		return false;
	burst->layer = FLOW_NOWHERE;
	for (uint32_t i = burst->steps.begin; i < burst->steps.end; i++) {
		const uint32_t place = changed_by(work, i);

		if (place == FLOW_NOWHERE)
			continue;
		if (burst->layer != FLOW_NOWHERE && burst->layer != flow_group(work, place)) {
			burst->layer = FLOW_NOWHERE;
			return true;
		}
		burst->layer = flow_group(work, place);
	}
	return true;
}

bool flow_is_changed(const struct flow_work *work, const struct flow_burst *burst, uint32_t place)
{
	for (uint32_t i = burst->steps.begin; i < burst->steps.end; i++)
		if (changed_by(work, i) == place)
			return true;
	return false;
}

bool flow_is_argument(const struct flow_work *work, const struct flow_burst *burst, uint32_t place)
{
	for (uint32_t i = burst->steps.begin; i < burst->steps.end; i++)
		for (uint32_t t = 0; t < work->steps[i].update_count; t++)
			if (flow_touch_of(work, i, t)->place == place)
				return true;
	return false;
}
