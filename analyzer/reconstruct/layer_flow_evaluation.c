/*
 * Evaluations within an iteration: a full batch is trained and evaluated in each, as on graphs. They go
 * through the model as the forward pass does, and the backward pass reads nothing of what they make.
 */
#include "layer_flow.h"

#include <stdlib.h>

/* The first parameter that a step touches, or FLOW_NOWHERE. */
static uint32_t first_parameter(const struct flow_work *work, uint32_t step)
{
	for (uint32_t t = 0; t < work->steps[step].count; t++)
		if (work->places[flow_touch_of(work, step, t)->place].parameter)
			return flow_touch_of(work, step, t)->place;
	return FLOW_NOWHERE;
}

static bool goes_back(const struct flow_work *work, uint32_t step)
{
	for (size_t k = 0; k < work->pass_count; k++)
		if (step >= work->passes[k].turn && step < work->passes[k].end)
			return true;
	return false;
}

/*
 * By step: is it the last to touch what a library reads going back? Of other kernels is not known what they
 * only write: memory that something else was in. The caller frees it.
 */
static bool *find_used(const struct flow_work *work)
{
	bool *used = mem_alloc(work->step_count, sizeof(*used));
	uint32_t *last = mem_alloc(work->place_count, sizeof(*last));

	for (uint32_t i = 0; i < work->step_count; i++) {
		const bool reads = work->steps[i].computes && goes_back(work, i);

		for (uint32_t t = 0; t < work->steps[i].count && reads; t++) {
			const struct flow_touch *touch = flow_touch_of(work, i, t);

			if (last[touch->place] && touch->read && !touch->written &&
				!work->places[touch->place].parameter)
				used[last[touch->place] - 1] = true;
		}
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			last[flow_touch_of(work, i, t)->place] = i + 1;
	}
	free(last);
	return used;
}

/* Where steps of (low, high] begin that are of the next time through the model: after results of this one
 * that the host has fetched. */
static uint32_t begin_behind(const struct flow_work *work, uint32_t low, uint32_t high)
{
	for (uint32_t i = high; i-- > low + 1;)
		if (flow_is_fetch(work, i))
			return i + 1;
	return high;
}

/*
 * Where each time through the model begins before the turn of a pass: where the parameter comes again that it
 * begins with. begins: with room for all; how many there are.
 */
static uint32_t list_times(const struct flow_work *work, const struct flow_pass *pass, uint32_t *begins)
{
	uint32_t count = 0, first = FLOW_NOWHERE, before = FLOW_NOWHERE, last = 0;

	for (uint32_t i = pass->begin; i < pass->turn; i++) {
		const uint32_t parameter = first_parameter(work, i);

		if (parameter == FLOW_NOWHERE)
			continue;
		first = count ? first : parameter;
		if (parameter == first && before != first)
			begins[count] = count ? begin_behind(work, last, i) : pass->begin, count++;
		before = parameter;
		last = i;
	}
	return count;
}

static bool any(const bool *used, uint32_t begin, uint32_t end)
{
	while (begin < end && !used[begin])
		begin++;
	return begin < end;
}

/* Marks those of a pass, of whose last time something is used; where it begins with some, it begins after
 * them. */
static void mark(struct flow_work *work, struct flow_pass *pass, const bool *used, uint32_t *begins)
{
	const uint32_t count = list_times(work, pass, begins);

	if (count < 2 || !any(used, begins[count - 1], pass->turn))
		return;
	for (uint32_t k = 0; k + 1 < count; k++) {
		if (any(used, begins[k], begins[k + 1]))
			continue;
		for (uint32_t i = begins[k]; i < begins[k + 1]; i++)
			work->steps[i].evaluates = true;
		if (begins[k] == pass->begin)
			pass->begin = begins[k + 1];
	}
}

void flow_find_evaluations(struct flow_work *work)
{
	uint32_t *begins = mem_alloc(work->step_count, sizeof(*begins));
	bool *used = find_used(work);

	for (uint32_t i = 0; i < work->step_count; i++)
		work->steps[i].evaluates = false;
	for (size_t k = 0; k < work->pass_count; k++)
		mark(work, &work->passes[k], used, begins);
	free(used);
	free(begins);
}
