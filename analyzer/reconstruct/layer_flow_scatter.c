/*
 * Gradients of which a reduce-scatter gives each rank its shard. A kernel puts them together, by a table of
 * their addresses that is copied to the device for it; the shards come in the same order, and the update is
 * given each beside the shard of its parameter.
 */
#include "layer_flow.h"

#include <stdlib.h>

/* The parameter whose gradient's shard is the n-th in a range, or FLOW_NOWHERE. */
static uint32_t nth_gradient(const struct flow_work *work, const struct flow_scatter *scatter, size_t n)
{
	for (uint32_t p = 0; p < work->place_count; p++)
		if (work->places[p].gradient_of != FLOW_NOWHERE &&
			work->places[p].address >= scatter->receive &&
			work->places[p].address - scatter->receive < scatter->receive_bytes && n-- == 0)
			return work->places[p].gradient_of;
	return FLOW_NOWHERE;
}

/* The last step of [begin, end) that touches an address, or FLOW_NOWHERE. */
static uint32_t last_before(const struct flow_work *work, uint32_t begin, uint32_t end, uint64_t address)
{
	const struct flow_place *place = flow_place_at(work, address);

	for (uint32_t i = end; place && i-- > begin;)
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			if (&work->places[flow_touch_of(work, i, t)->place] == place)
				return i;
	return FLOW_NOWHERE;
}

size_t flow_scattered(struct flow_work *work, const struct flow_pass *pass, struct flow_gradient **gradients)
{
	size_t count = 0, room = 0;

	*gradients = NULL;
	for (size_t i = 0; i < work->scatter_count; i++) {
		const struct flow_scatter *scatter = &work->scatters[i];

		if (scatter->step < pass->turn || scatter->step >= pass->end)
			continue;
		/* they are known by their number, if each of them comes back */
		if (!scatter->count || nth_gradient(work, scatter, scatter->count - 1) == FLOW_NOWHERE ||
			nth_gradient(work, scatter, scatter->count) != FLOW_NOWHERE)
			continue;
		for (size_t n = 0; n < scatter->count; n++) {
			const uint32_t step =
				last_before(work, pass->turn, scatter->step, scatter->gradients[n].address);

			if (step != FLOW_NOWHERE)
				*MEM_PUSH(*gradients, count, room) =
					(struct flow_gradient){step, nth_gradient(work, scatter, n)};
		}
		work->steps[scatter->step].unit = work->steps[scatter->copy].unit =
			nth_gradient(work, scatter, 0);
	}
	return count;
}
