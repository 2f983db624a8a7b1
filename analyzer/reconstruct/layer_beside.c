/*
 * The roles of memory that is set, or copied within the device, by the gap between two computations that it
 * is in, and the order there: XLA copies gradients, weights and the optimizer's state of one size by the same
 * operation. Where such copies change places from one iteration to the next, which take the same time, the
 * sums of their layers stay right.
 */
#include "layer_assign.h"

#include <stdlib.h>

static int compare_besides(const void *left, const void *right)
{
	const struct layer_beside *a = left, *b = right;

	if (a->gap != b->gap)
		return a->gap < b->gap ? -1 : 1;
	if (a->operation != b->operation)
		return a->operation < b->operation ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Of those of one gap and operation that are not alike it is not known which is which without their order. */
static bool is_ambiguous(
	const struct layer_list *list, const struct layer_role *one, const struct layer_role *other)
{
	return one->phase != other->phase || !layer_are_of_one(list, one, other);
}

static void join(const struct layer_list *list, struct layer_beside *kept, const struct layer_beside *other)
{
	if (!is_ambiguous(list, &kept->role, &other->role))
		return;
	kept->role.known &= kept->role.phase == other->role.phase;
	kept->role.part_count = 0;
	kept->role.reason.layer = LAYER_WHY_NONE;
}

void layer_note_beside(struct layer_list *list, const struct layer_beside *beside)
{
	*MEM_PUSH(list->besides, list->beside_count, list->beside_room) = *beside;
}

/* Adds what those of a gap and an operation have in common, for calls of another order. */
void layer_sort_besides(struct layer_list *list)
{
	const size_t count = list->beside_count;

	if (count == 0)
		return;
	qsort(list->besides, count, sizeof(*list->besides), compare_besides);
	for (size_t first = 0, end; first < count; first = end) {
		struct layer_beside common = list->besides[first];

		for (end = first + 1; end < count && list->besides[end].gap == common.gap &&
				      list->besides[end].operation == common.operation;
			end++)
			join(list, &common, &list->besides[end]);
		common.order = LAYER_ANY;
		for (size_t i = end; i-- > first && list->besides[i].order == LAYER_ANY;)
			list->besides[i].role = common.role;
		layer_note_beside(list, &common);
	}
	qsort(list->besides, list->beside_count, sizeof(*list->besides), compare_besides);
}

void layer_gap_pass(struct layer_gap *gap)
{
	gap->core++;
	gap->count = 0;
}

uint32_t layer_gap_order(struct layer_gap *gap, uint32_t operation)
{
	uint32_t i = 0;

	while (i < gap->count && gap->seen[i].operation != operation)
		i++;
	if (i == LAYER_GAP_OPERATIONS)
		return LAYER_ANY;
	if (i == gap->count) {
		gap->seen[i].operation = operation;
		gap->seen[i].calls = 0;
		gap->count++;
	}
	return gap->seen[i].calls++;
}

static const struct layer_beside *find(const struct layer_list *list, const struct layer_beside *key)
{
	return list->beside_count
		       ? bsearch(key, list->besides, list->beside_count, sizeof(*key), compare_besides)
		       : NULL;
}

const struct layer_role *layer_beside_role(
	const struct layer_list *list, uint32_t gap, uint32_t operation, uint32_t order)
{
	const struct layer_beside key = {.gap = gap, .operation = operation, .order = order};
	const struct layer_beside any = {.gap = gap, .operation = operation, .order = LAYER_ANY};
	const struct layer_beside *found = find(list, &key);

	if (!found)
		found = find(list, &any);
	return found && found->role.known ? &found->role : NULL;
}

bool layer_is_beside_role(const struct layer_list *list, const struct layer_role *role)
{
	for (size_t i = 0; i < list->beside_count; i++)
		if (role == &list->besides[i].role)
			return true;
	return false;
}
