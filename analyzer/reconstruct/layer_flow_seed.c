/*
 * Where between two steps a pass turns from forward to backward: at the seed of the backward pass, which is
 * filled or received, or by the threads.
 */
#include "layer_flow.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

bool flow_is_touched(const struct flow_work *work, uint32_t place, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++)
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			if (flow_touch_of(work, i, t)->place == place)
				return true;
	return false;
}

bool flow_is_fill(const struct flow_work *work, uint32_t step)
{
	const uint64_t kernel = flow_kernel(work, step);

	return kernel && strcasestr(work->assign->timeline->strings[kernel], "fill");
}

/* A launch that touches one address alone, which nothing has touched just before, or which it fills (memory
 * is used again at once): the seed of the backward pass. */
static bool is_seed(const struct flow_work *work, uint32_t step)
{
	uint32_t place;

	if (!work->steps[step].launch || work->steps[step].count != 1)
		return false;
	place = flow_touch_of(work, step, 0)->place;
	return !work->places[place].parameter &&
	       (flow_is_fill(work, step) ||
		       !flow_is_touched(work, place, step > NEAR_CALLS ? step - NEAR_CALLS : 0, step));
}

uint16_t flow_thread(const struct flow_work *work, uint32_t step)
{
	const struct layer_assign *assign = work->assign;

	return timeline_call(assign->timeline, layer_captured_call(assign, assign->graph.steps[step].call))
		.thread;
}

/*
 * Autograd goes back in a thread of its own, after a seed that the thread which goes forward fills: the last
 * fill of steps (low, high) before that thread begins, where it is the one of `high`; FLOW_NOWHERE: there is
 * none.
 */
uint32_t flow_find_handed_over(const struct flow_work *work, uint32_t low, uint32_t high)
{
	uint32_t first = high;

	if (flow_thread(work, low) == flow_thread(work, high))
		return FLOW_NOWHERE;
	while (first > low + 1 && flow_thread(work, first - 1) == flow_thread(work, high))
		first--;
	for (uint32_t i = first; i-- > low + 1;)
		if (is_seed(work, i) && flow_is_fill(work, i))
			return i;
	return FLOW_NOWHERE;
}

/* The first seed of steps (low, high), one that is filled before one that is made in another way (a range of
 * numbers is, too); or FLOW_NOWHERE. */
uint32_t flow_find_seed(const struct flow_work *work, uint32_t low, uint32_t high)
{
	uint32_t other = FLOW_NOWHERE;

	for (uint32_t i = low + 1; i < high; i++)
		if (is_seed(work, i)) {
			if (flow_is_fill(work, i))
				return i;
			if (other == FLOW_NOWHERE)
				other = i;
		}
	return other;
}

/* The first step of (low, high) that receives from another rank, or FLOW_NOWHERE: the gradient of what a
 * stage of a pipeline has sent. */
static uint32_t find_received(const struct flow_work *work, uint32_t low, uint32_t high)
{
	for (uint32_t i = low + 1; i < high; i++) {
		const struct flow *flow = graph_flow(&work->assign->graph, i);

		if (flow->kind == PM_KIND_COMM && flow->access_count == 1 &&
			flow->accesses[0].mode == FLOW_WRITE)
			return i;
	}
	return FLOW_NOWHERE;
}

/* Is a step a copy in that direction? */
static bool is_copied(const struct flow_work *work, uint32_t step, enum pm_direction direction)
{
	const struct timeline *timeline = work->assign->timeline;

	return graph_flow(&work->assign->graph, step)->kind == PM_KIND_COPY &&
	       timeline_direction(timeline,
		       &timeline->operations[work->assign->graph.steps[step].operation]) == direction;
}

bool flow_is_fetch(const struct flow_work *work, uint32_t step)
{
	return is_copied(work, step, PM_DIRECTION_D2H);
}

/* The last step of (low, high) that copies from the host after one that copies to it: the loss and its
 * gradient are made there. FLOW_NOWHERE: there is none. */
static uint32_t find_returned(const struct flow_work *work, uint32_t low, uint32_t high)
{
	uint32_t returned = FLOW_NOWHERE;
	bool fetched = false;

	for (uint32_t i = low + 1; i < high; i++) {
		fetched |= is_copied(work, i, PM_DIRECTION_D2H);
		if (fetched && is_copied(work, i, PM_DIRECTION_H2D))
			returned = i;
	}
	return returned;
}

/* After copies of results to the host, which are made of forward work. */
static uint32_t behind_results(const struct flow_work *work, uint32_t step, uint32_t end)
{
	while (step < end && is_copied(work, step, PM_DIRECTION_D2H))
		step++;
	return step;
}

static bool touches_input(const struct flow_work *work, uint32_t step)
{
	for (uint32_t t = 0; work->steps[step].launch && t < work->steps[step].count; t++)
		if (work->places[flow_touch_of(work, step, t)->place].input)
			return true;
	return false;
}

/* The first step of (low, high) that works on what was copied from the host, or FLOW_NOWHERE. */
static uint32_t find_compared(const struct flow_work *work, uint32_t low, uint32_t high)
{
	for (uint32_t i = low + 1; i < high; i++)
		if (touches_input(work, i))
			return i;
	return FLOW_NOWHERE;
}

/* Does the pass go forward with fills of the seed's kernel, as where each layer clears what it will add to?
 */
static bool is_common_fill(const struct flow_work *work, uint32_t seed, uint32_t low)
{
	for (uint32_t i = work->begin; i < low && flow_is_fill(work, seed); i++)
		if (flow_kernel(work, i) == flow_kernel(work, seed) && is_seed(work, i))
			return true;
	return false;
}

/* Where the backward pass is looked for: between two steps; by what it is seen to begin there. */
struct starting {
	const struct flow_work *work;
	uint32_t low, high;
	enum flow_start start;
};

RULE_SEARCH(start, uint32_t, FLOW_NOWHERE, struct starting, context->work->assign->rule)

/* Each answers the first step of the backward pass, or FLOW_NOWHERE. */

static uint32_t found(struct starting *at, enum flow_start start, uint32_t step)
{
	if (step != FLOW_NOWHERE)
		at->start = start;
	return step;
}

/* Where the forward pass has fills like the seed: the step that compares with the input, which seeds are
 * after. */
static uint32_t find_common_fills(struct starting *at)
{
	const uint32_t seed = flow_find_seed(at->work, at->low, at->high);
	const uint32_t compared = find_compared(at->work, at->low, at->high);

	return seed != FLOW_NOWHERE && compared != FLOW_NOWHERE && compared >= seed &&
			       is_common_fill(at->work, seed, at->low)
		       ? compared
		       : FLOW_NOWHERE;
}

static uint32_t find_own_seed(struct starting *at)
{
	static const struct start_rule common = {RULE_START_COMMON_FILLS, find_common_fills};
	const uint32_t compared = start_apply(&common, at);

	return flow_find_seed(at->work, compared != FLOW_NOWHERE ? compared : at->low, at->high);
}

/* A range of numbers, or what else a launch makes of nothing. */
static uint32_t find_made_seed(struct starting *at)
{
	const uint32_t seed = find_own_seed(at);

	return seed != FLOW_NOWHERE && !flow_is_fill(at->work, seed) ? seed : FLOW_NOWHERE;
}

static uint32_t find_filled_seed(struct starting *at)
{
	const uint32_t seed = find_own_seed(at);

	return found(at, FLOW_START_SEED,
		seed != FLOW_NOWHERE && flow_is_fill(at->work, seed) ? seed : FLOW_NOWHERE);
}

static uint32_t find_thread(struct starting *at)
{
	return found(at, FLOW_START_HANDED_OVER, flow_find_handed_over(at->work, at->low, at->high));
}

static uint32_t find_message(struct starting *at)
{
	return found(at, FLOW_START_RECEIVED, find_received(at->work, at->low, at->high));
}

static uint32_t find_after_return(struct starting *at)
{
	const uint32_t returned = find_returned(at->work, at->low, at->high);

	return found(at, FLOW_START_RETURNED,
		returned != FLOW_NOWHERE ? behind_results(at->work, returned + 1, at->high) : FLOW_NOWHERE);
}

static uint32_t find_loss(struct starting *at)
{
	return found(at, FLOW_START_COMPARED, find_compared(at->work, at->low, at->high));
}

/* The loss compares with what was copied from the host: the second kernel that does so is its backward. */
static uint32_t find_second_loss(struct starting *at)
{
	uint32_t first = FLOW_NOWHERE;

	for (uint32_t i = at->low + 1; i < at->high; i++)
		if (touches_input(at->work, i)) {
			if (first != FLOW_NOWHERE)
				return i;
			first = i + 1;
		}
	return first;
}

/* What a backward pass starts with. */
static const struct start_rule start_rules[] = {
	{RULE_START_THREAD, find_thread},
	{RULE_START_SEED, find_filled_seed},
	{RULE_START_RECEIVED, find_message},
	{RULE_START_RETURNED, find_after_return},
	{RULE_START_COMPARED, find_loss},
};

enum flow_start flow_starts_back(const struct flow_work *work, uint32_t low, uint32_t high)
{
	struct starting at = {work, low, high, FLOW_START_UNSEEN};

	start_first(RULE_TABLE(start_rules), &at);
	return at.start;
}

/* Before the first step of (low, high) that makes a gradient. */
static uint32_t first_gradient(const struct starting *at, uint32_t end)
{
	const struct flow_work *work = at->work;
	uint32_t *last = flow_last_touches(work, work->begin, end), first = at->high;

	for (uint32_t p = 0; p < work->place_count; p++)
		if (work->places[p].gradient_of != FLOW_NOWHERE && last[p] > at->low + 1 &&
			last[p] - 1 < first)
			first = last[p] - 1;
	free(last);
	return first;
}

/*
 * The turning point lies between them: at the seed of the backward pass, or where its gradient comes from
 * another rank, or from the host; else before the first step that makes a gradient too, by the loss. `end`:
 * of the pass.
 */
uint32_t flow_place_turn(const struct flow_work *work, const struct flow_turns *turns, uint32_t end)
{
	static const struct start_rule seen[] = {
		{RULE_START_THREAD, find_thread},
		{RULE_START_SEED, find_filled_seed},
		{RULE_START_RECEIVED, find_message},
		{RULE_START_RETURNED, find_after_return},
		{RULE_START_MADE, find_made_seed},
	};
	static const struct start_rule compared = {RULE_START_COMPARED, find_second_loss};
	struct starting at = {work, turns->low, turns->high, FLOW_START_UNSEEN};
	uint32_t turn = start_first(RULE_TABLE(seen), &at);

	if (turn != FLOW_NOWHERE)
		return turn;
	at.high = first_gradient(&at, end);
	turn = start_apply(&compared, &at);
	return behind_results(work, turn != FLOW_NOWHERE ? turn : (at.low + 1 + at.high) / 2, at.high);
}
