/*
 * Copies of parameters in another type, as products under mixed precision read them; and what a library has
 * computed in memory that a copy could be in.
 */
#include "layer_flow.h"
#include "timeline/constants.h"

#include <string.h>

#define COPY_IS_NEW \
	4 /* steps: that long what launches touch is still the copy, later other work in its memory */

static bool is_reused(const struct flow_work *work, uint32_t step, uint32_t place)
{
	return work->steps[step].launch && step - work->places[place].cast_step > COPY_IS_NEW;
}

/* Does the step work on a parameter itself? */
static bool has_parameter(const struct flow_work *work, uint32_t step)
{
	for (uint32_t i = 0; i < work->steps[step].count; i++)
		if (work->places[flow_touch_of(work, step, i)->place].parameter)
			return true;
	return false;
}

/* Does a library read more than a copy of the parameter could be, in the widest type? Then other work came to
 * the same memory, or a bias was added there to what is read. */
static bool reads_more(const struct flow_work *work, uint32_t step, uint32_t place, uint32_t parameter)
{
	const struct flow *flow = graph_flow(&work->assign->graph, step);
	const uint64_t bytes = work->places[parameter].bytes;

	for (uint32_t i = 0; i < flow->access_count && work->steps[step].computes; i++)
		if (flow->accesses[i].address == work->places[place].address &&
			flow->accesses[i].mode != FLOW_WRITE && bytes && !work->places[parameter].shard &&
			flow->accesses[i].bytes > CAST_WIDEST * bytes)
			return true;
	return false;
}

/* A launch that works on parameters themselves reads no copies: it may make one where another was. */
uint32_t flow_meant(const struct flow_work *work, uint32_t step, const struct flow_touch *touch)
{
	const struct flow_place *place = &work->places[touch->place];

	if (place->parameter)
		return touch->place;
	if (work->steps[step].launch && has_parameter(work, step))
		return FLOW_NOWHERE;
	if (place->cast == FLOW_NOWHERE || reads_more(work, step, touch->place, place->cast))
		return FLOW_NOWHERE;
	return touch->read && !is_reused(work, step, touch->place) ? place->cast : FLOW_NOWHERE;
}

bool flow_is_computed(const struct flow_work *work, uint32_t step, uint32_t place)
{
	for (uint32_t i = 0; step && work->steps[step - 1].computes && i < work->steps[step - 1].count; i++)
		if (flow_touch_of(work, step - 1, i)->place == place &&
			flow_touch_of(work, step - 1, i)->written)
			return true;
	return false;
}

bool flow_is_reduction(const struct flow_work *work, uint32_t step)
{
	const uint64_t kernel = flow_kernel(work, step);

	return kernel && strstr(work->assign->timeline->strings[kernel], "reduce_kernel");
}

bool flow_is_copy(const struct flow_work *work, uint32_t step)
{
	const uint64_t kernel = flow_kernel(work, step);

	return kernel && work->steps[step].count == 2 &&
	       strstr(work->assign->timeline->strings[kernel], "copy_kernel");
}

/*
 * A kernel that touches one parameter and one other address copies it, perhaps to another type: but not where
 * a library has computed what is at the other address (`last`, by place, step + 1), which is a bias added to
 * a product, unless the name says that the kernel copies: the memory is used again.
 */
void flow_follow_casts(struct flow_work *work, uint32_t step, const uint32_t *last)
{
	uint32_t parameter = FLOW_NOWHERE, other = FLOW_NOWHERE, others = 0;

	for (uint32_t i = 0; i < work->steps[step].count; i++) {
		const struct flow_touch *touch = flow_touch_of(work, step, i);

		if (work->places[touch->place].parameter) {
			parameter = touch->place;
		} else if (touch->place != other) {
			other = touch->place;
			others++;
		}
		if ((touch->written && (work->steps[step].computes || !touch->read)) ||
			is_reused(work, step, touch->place))
			work->places[touch->place].cast = FLOW_NOWHERE;
	}
	if (work->steps[step].launch && parameter != FLOW_NOWHERE && others == 1 &&
		(flow_is_copy(work, step) || !(last && flow_is_computed(work, last[other], other)))) {
		work->places[other].cast = parameter;
		work->places[other].cast_step = step;
	}
}
