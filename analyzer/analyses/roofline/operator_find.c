/* Operators and their work by call: see operator_find.h. */
#include "operator_find.h"
#include "analyses/kernels.h"
#include "base/lookup.h"
#include "timeline/timeline_range.h"
#include "work_operator.h"

#include <stdlib.h>
#include <string.h>

/* An operator with such inputs. */
struct sort {
	uint32_t name, inputs;
	struct work work;
};

struct operator_finder {
	const struct timeline *timeline;
	struct lookup sorts;
	struct sort *items;
	size_t count, room;
	bool *begun; /* by range of the timeline: something that it launched was asked for */
};

struct operator_finder *operator_finder_make(const struct timeline *timeline)
{
	struct operator_finder *finder;
	size_t i = 0;

	while (i < timeline->range_count && !timeline->ranges[i].inputs)
		i++;
	if (i == timeline->range_count)
		return NULL;
	finder = mem_alloc(1, sizeof(*finder));
	finder->timeline = timeline;
	finder->begun = mem_alloc(timeline->range_count, sizeof(*finder->begun));
	return finder;
}

void operator_finder_free(struct operator_finder *finder)
{
	if (!finder)
		return;
	lookup_free(&finder->sorts);
	free(finder->items);
	free(finder->begun);
	free(finder);
}

static const struct sort *sort_of(struct operator_finder *finder, const struct timeline_range *range)
{
	const uint64_t hash = mem_hash(mem_hash(MEM_HASH_START, range->name), range->inputs);
	const struct timeline *timeline = finder->timeline;
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&finder->sorts, hash, &at)) != LOOKUP_NONE;)
		if (finder->items[i].name == range->name && finder->items[i].inputs == range->inputs)
			return &finder->items[i];
	lookup_add(&finder->sorts, hash, (uint32_t)finder->count);
	*MEM_PUSH(finder->items, finder->count, finder->room) = (struct sort){range->name, range->inputs,
		work_of_operator(timeline->range_names[range->name].name, timeline->strings[range->inputs])};
	return &finder->items[finder->count - 1];
}

/* Floats on a matrix unit, as the kernel is called. */
static bool is_tf32(const struct timeline *timeline, const struct timeline_call *call)
{
	for (uint32_t i = 0; i < call->interval_count; i++) {
		const char *name =
			kernel_name(timeline, timeline_interval(timeline, call->interval + i).operation);

		if (strstr(name, "tf32") || strstr(name, "s1688"))
			return true;
	}
	return false;
}

bool operator_find(struct operator_finder *finder, const struct timeline_process *process,
	const struct timeline_call *call, struct operator_found *found)
{
	const struct timeline_range *ranges;
	uint32_t number, chosen = TIMELINE_NO_RANGE;
	const struct sort *sort;

	if (!finder || process->range_count == 0)
		return false;
	ranges = timeline_ranges(finder->timeline, process);
	for (number = timeline_range_at(finder->timeline, process, call->thread, call->begin_ns);
		number != TIMELINE_NO_RANGE; number = ranges[number].parent) {
		if (!ranges[number].inputs)
			continue;
		if (chosen == TIMELINE_NO_RANGE)
			chosen = number;
		if (!sort_of(finder, &ranges[number])->work.known)
			continue;
		chosen = number;
		break;
	}
	if (chosen == TIMELINE_NO_RANGE)
		return false;
	sort = sort_of(finder, &ranges[chosen]);
	*found = (struct operator_found){
		sort->name, sort->inputs, sort->work, !finder->begun[process->first_range + chosen]};
	finder->begun[process->first_range + chosen] = true;
	if (!found->first)
		found->work.flops = found->work.bytes = 0;
	if (found->work.type == WORK_F32 && found->work.flops > 0 && is_tf32(finder->timeline, call))
		found->work.type = WORK_TF32;
	return true;
}
