/* What a module does before it touches its parameters: told by the state that it alone works on. */
#include "layer_flow_assign.h"

#include <stdlib.h>
#include <string.h>

/* By place: how many steps up to the update compute with it, exchanges and copies aside. The caller frees it.
 */
static uint32_t *count_users(const struct flow_work *work)
{
	uint32_t *users = mem_alloc(work->place_count, sizeof(*users));
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks));

	for (uint32_t i = work->begin; i < work->update_begin; i++) {
		if (!work->steps[i].computes && !work->steps[i].launch)
			continue;
		for (uint32_t t = 0; t < work->steps[i].count; t++) {
			const uint32_t place = flow_touch_of(work, i, t)->place;

			users[place] += marks[place] != i + 1;
			marks[place] = i + 1;
		}
	}
	free(marks);
	return users;
}

static const char *module_at(const struct flow_work *work, uint64_t address)
{
	const struct layer_assign *assign = work->assign;

	return timeline_module_at(&assign->timeline->processes[assign->worker->process], address);
}

/* Does a step work on state of the module: what lives on, is no parameter, and nothing else works on? */
static bool has_state_of(
	const struct flow_work *work, uint32_t step, const char *module, const uint32_t *users)
{
	if (!work->steps[step].launch)
		return false;
	for (uint32_t t = 0; t < work->steps[step].count; t++) {
		const struct flow_place *place = &work->places[flow_touch_of(work, step, t)->place];
		const char *own = place->persistent && !place->parameter && users[place - work->places] == 1
					  ? module_at(work, place->address)
					  : NULL;

		if (own && strcmp(own, module) == 0)
			return true;
	}
	return false;
}

void flow_place_states(struct flow_assigning *a)
{
	const struct flow_work *work = a->work;
	uint32_t *users = count_users(work);

	for (uint32_t i = a->pass->begin; i < a->pass->turn; i++) {
		const uint64_t parameter = work->assign->reasons[i].address;
		const char *module = a->fixed[i] && parameter ? module_at(work, parameter) : NULL;
		uint32_t first = i;

		for (uint32_t j = i; module && j-- > a->pass->begin && !a->fixed[j];)
			if (has_state_of(work, j, module, users))
				first = j;
		for (uint32_t j = first; j < i; j++) {
			a->groups[j] = a->groups[i];
			flow_by(a, j, LAYER_WHY_MODULE, FLOW_NOWHERE, i);
		}
	}
	free(users);
}
