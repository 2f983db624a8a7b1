/* Steps that copy what a product reads, or what it made: kernels of their own, to another type or order. */
#include "layer_flow_assign.h"
#include "timeline/constants.h"

/*
 * The nearest product, a step of a library whose layer is known, that reads what a copy makes, with nothing
 * in between that touches it; `before`: that made what it reads. FLOW_NOWHERE: there is none in [begin, end).
 */
static uint32_t product_beside(
	const struct flow_assigning *a, uint32_t copy, uint32_t begin, uint32_t end, bool before)
{
	const struct flow_work *work = a->work;
	bool touched[2] = {false, false};

	for (uint32_t far = 1; far <= NEAR_CALLS; far++) {
		const uint32_t other = before ? copy - far : copy + far;

		if (before ? copy - begin < far : other >= end)
			break;
		for (uint32_t i = 0; i < 2; i++)
			for (uint32_t j = 0; j < work->steps[other].count && !touched[i]; j++) {
				const struct flow_touch *there = flow_touch_of(work, other, j);

				if (there->place != flow_touch_of(work, copy, i)->place)
					continue;
				if (work->steps[other].computes && a->fixed[other] &&
					(before ? there->written : there->read && !there->written))
					return other;
				touched[i] = true;
			}
	}
	return FLOW_NOWHERE;
}

void flow_place_copies(struct flow_assigning *a, uint32_t begin, uint32_t end)
{
	const bool backward = begin == a->pass->turn;

	for (uint32_t i = begin; i < end; i++) {
		uint32_t product = FLOW_NOWHERE;

		if (a->fixed[i] || !flow_is_copy(a->work, i))
			continue;
		if (backward)
			product = product_beside(a, i, begin, end, true);
		if (product == FLOW_NOWHERE)
			product = product_beside(a, i, begin, end, false);
		if (product == FLOW_NOWHERE)
			continue;
		a->groups[i] = a->groups[product];
		a->fixed[i] = true;
		flow_by(a, i, LAYER_WHY_COPY, FLOW_NOWHERE, product);
	}
}
