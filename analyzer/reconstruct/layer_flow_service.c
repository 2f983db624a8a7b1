/* Which steps of updates serve a parameter. */
#include "layer_flow_assign.h"

static void serve(const struct flow_work *work, uint32_t step, uint32_t number)
{
	struct graph *graph = &work->assign->graph;

	*MEM_PUSH(graph->services, graph->service_count, graph->service_room) =
		(struct graph_service){step, number};
}

/* The place by which an update is given a parameter: its own, or in a block that of the last parameter before
 * it that is an argument: of a block the start alone may be one, or the start of each kind of parameters. */
static uint32_t updated_by(const struct flow_work *work, const struct flow_part *part, uint32_t place)
{
	const uint32_t first = work->places[place].block;

	for (uint32_t p = place; first && p + 1 >= first; p--)
		if (work->places[p].parameter &&
			flow_is_touched(work, p, part->update_begin, part->update_end))
			return p;
	return place;
}

/* Of a part's update. */
static void add_of_part(
	const struct flow_work *work, const struct flow_part *part, uint32_t place, uint32_t number)
{
	const uint32_t argument = updated_by(work, part, place);

	for (uint32_t i = part->update_begin; i < part->update_end; i++)
		if (flow_is_touched(work, argument, i, i + 1))
			serve(work, i, number);
}

void flow_add_services(struct flow_work *work, uint32_t place, uint32_t number)
{
	struct flow_burst burst = {.steps = {0, 0}};

	for (size_t k = 0; k < work->part_count; k++)
		add_of_part(work, &work->parts[k], place, number);
	/* launches for its state beside those that change it */
	while (flow_next_updated(work, burst.steps.end, &burst))
		for (uint32_t i = burst.steps.begin;
			i < burst.steps.end && flow_is_changed(work, &burst, place); i++)
			serve(work, i, number);
}

/* The last step of [from, end) that touches a place, + 1; `from`: there is none. */
static uint32_t last_touch(const struct flow_work *work, uint32_t place, uint32_t from, uint32_t end)
{
	while (end > from && !flow_is_touched(work, place, end - 1, end))
		end--;
	return end;
}

void flow_place_updated(struct flow_assigning *a)
{
	struct flow_work *work = a->work;
	struct flow_burst burst = {.steps = {0, 0}};
	uint32_t from = a->pass->turn;

	while (flow_next_updated(work, burst.steps.end, &burst)) {
		for (uint32_t p = 0; p < work->place_count && burst.layer != FLOW_NOWHERE; p++) {
			uint32_t made;

			if (work->places[p].parameter || !flow_is_argument(work, &burst, p))
				continue;
			made = last_touch(work, p, from, burst.steps.begin);
			if (made <= from || a->fixed[made - 1])
				continue;
			a->groups[made - 1] = burst.layer;
			a->fixed[made - 1] = true;
			flow_by(a, made - 1, LAYER_WHY_GRADIENT, burst.layer, FLOW_NOWHERE);
		}
		from = burst.steps.end > from ? burst.steps.end : from;
	}
}
