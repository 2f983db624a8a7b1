/*
 * The sizes of parameters that were made on the device, where no copy says them: what is set to a value is as
 * large as the set, and the optimizer's state is as large as the parameter that it stands beside.
 */
#include "layer_flow.h"

#include <stdlib.h>

/* By place: bytes of a set that was the last to write there in the set-up, of the calls that say what they
 * write; 0: there is none. The caller frees them. */
static uint64_t *find_sets(const struct flow_work *work)
{
	uint64_t *sets = mem_alloc(work->place_count, sizeof(*sets));
	const struct layer_assign *assign = work->assign;

	for (size_t i = 0; i < work->set_up_end; i++) {
		const struct flow *flow =
			&assign->model
				 ->flows[timeline_call(assign->timeline, assign->worker->calls[i]).operation];

		for (uint32_t j = 0; j < flow->access_count && flow->kind != PM_KIND_LAUNCH; j++) {
			const struct flow_place *place =
				flow_writes(&flow->accesses[j])
					? flow_place_at(work, flow->accesses[j].address)
					: NULL;

			if (place)
				sets[place - work->places] =
					flow->kind == PM_KIND_SET ? flow->accesses[j].bytes : 0;
		}
	}
	return sets;
}

static uint64_t state_bytes(const uint64_t *sets, const uint32_t *states, uint32_t p)
{
	return states[p] != FLOW_NOWHERE ? sets[states[p]] : 0;
}

/* Is state as large as its parameter wherever both are known? It may be of another type. */
static bool do_states_agree(const struct flow_work *work, const uint64_t *sets, const uint32_t *states)
{
	uint32_t agree = 0;

	for (uint32_t p = 0; p < work->place_count; p++) {
		const uint64_t bytes = work->places[p].parameter ? state_bytes(sets, states, p) : 0;

		if (bytes && flow_is_sized(&work->places[p]) && work->places[p].bytes != bytes)
			return false;
		agree += bytes && flow_is_sized(&work->places[p]);
	}
	return agree > 0;
}

struct sizing {
	struct flow_work *work;
	uint64_t *sets;   /* find_sets */
	uint32_t *states; /* flow_states */
};

RULE_SEQUENCE(size, struct sizing, context->work->assign->rule)

static void size_by_sets(struct sizing *sizing)
{
	for (uint32_t p = 0; p < sizing->work->place_count; p++) {
		struct flow_place *place = &sizing->work->places[p];

		if (place->parameter && !flow_is_sized(place) && sizing->sets[p])
			place->bytes = sizing->sets[p];
	}
}

static void size_by_states(struct sizing *sizing)
{
	if (!do_states_agree(sizing->work, sizing->sets, sizing->states))
		return;
	for (uint32_t p = 0; p < sizing->work->place_count; p++) {
		struct flow_place *place = &sizing->work->places[p];
		const uint64_t bytes = state_bytes(sizing->sets, sizing->states, p);

		if (place->parameter && !flow_is_sized(place) && bytes)
			place->bytes = bytes;
	}
}

static const struct size_rule size_rules[] = {
	{RULE_SET_SIZES, size_by_sets},
	{RULE_STATE_SIZES, size_by_states},
};

void flow_size_made(struct flow_work *work)
{
	struct sizing sizing = {work, find_sets(work), flow_states(work)};

	size_each(RULE_TABLE(size_rules), &sizing);
	free(sizing.states);
	free(sizing.sets);
}
