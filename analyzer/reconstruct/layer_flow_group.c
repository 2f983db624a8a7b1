/* Parameters that are one layer: a group, for which its first place stands. */
#include "layer_flow.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

uint32_t flow_group(struct flow_work *work, uint32_t place)
{
	while (work->places[place].group != place)
		place = work->places[place].group;
	return place;
}

void flow_join_groups(struct flow_work *work, uint32_t parameter, uint32_t other)
{
	struct flow_place *from = &work->places[flow_group(work, parameter)];
	struct flow_place *to = &work->places[flow_group(work, other)];

	if (work->places[parameter].unit != work->places[other].unit ||
		(from->group_module && to->group_module && strcmp(from->group_module, to->group_module) != 0))
		return;
	from->group = to->group;
	if (!to->group_module)
		to->group_module = from->group_module;
}

static int by_module(const void *left, const void *right)
{
	const struct flow_place *const *a = left, *const *b = right;
	const int order = strcmp((*a)->copied_in, (*b)->copied_in);

	return order ? order : (*a > *b) - (*a < *b);
}

void flow_join_modules(struct flow_work *work)
{
	const struct flow_place **named = mem_alloc(work->parameter_count, sizeof(const struct flow_place *));
	uint32_t count = 0;

	for (uint32_t p = 0; p < work->place_count; p++)
		if (work->places[p].parameter && work->places[p].copied_in) {
			work->places[p].group_module = work->places[p].copied_in;
			named[count++] = &work->places[p];
		}
	if (count)
		qsort(named, count, sizeof(const struct flow_place *), by_module);
	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && strcmp(named[end]->copied_in, named[i]->copied_in) == 0;)
			end++;
		for (uint32_t j = i + 1; j < end && end - i <= MODULE_MOST_PARAMETERS; j++)
			flow_join_groups(work, (uint32_t)(named[j] - work->places),
				(uint32_t)(named[i] - work->places));
	}
	free(named);
}
