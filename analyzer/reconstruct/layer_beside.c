/*
 * The roles of memory that is set, or copied within the device, by the gap between two computations that it
 * is in: XLA copies gradients, weights and the optimizer's state of one size by the same operation.
 */
#include "layer_assign.h"

#include <stdlib.h>

static int compare_besides(const void *left, const void *right)
{
	const struct layer_beside *a = left, *b = right;

	if (a->gap != b->gap)
		return a->gap < b->gap ? -1 : 1;
	return a->operation < b->operation ? -1 : a->operation > b->operation;
}

/* Are two of one gap alike? Of those that are not it is not known which is which. */
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
	kept->role.reason.layer = LAYER_RULE_NONE;
}

void layer_note_beside(
	struct layer_list *list, uint32_t gap, uint32_t operation, const struct layer_role *role)
{
	*MEM_PUSH(list->besides, list->beside_count, list->beside_room) =
		(struct layer_beside){gap, operation, *role};
}

void layer_sort_besides(struct layer_list *list)
{
	size_t kept = 0;

	if (list->beside_count == 0)
		return;
	qsort(list->besides, list->beside_count, sizeof(*list->besides), compare_besides);
	for (size_t i = 0; i < list->beside_count; i++)
		if (kept > 0 && compare_besides(&list->besides[kept - 1], &list->besides[i]) == 0)
			join(list, &list->besides[kept - 1], &list->besides[i]);
		else
			list->besides[kept++] = list->besides[i];
	list->beside_count = kept;
}

const struct layer_role *layer_beside_role(const struct layer_list *list, uint32_t gap, uint32_t operation)
{
	const struct layer_beside key = {.gap = gap, .operation = operation};
	const struct layer_beside *found =
		list->beside_count
			? bsearch(&key, list->besides, list->beside_count, sizeof(key), compare_besides)
			: NULL;

	return found && found->role.known ? &found->role : NULL;
}

bool layer_is_beside_role(const struct layer_list *list, const struct layer_role *role)
{
	for (size_t i = 0; i < list->beside_count; i++)
		if (role == &list->besides[i].role)
			return true;
	return false;
}
