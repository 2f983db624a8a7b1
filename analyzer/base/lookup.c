/* Numbers by hashes, in open addressing: see lookup.h. */
#include "lookup.h"
#include "memory.h"

#include <stdlib.h>

#define LEAST_SLOTS 64

static void put(struct lookup *lookup, struct lookup_slot slot)
{
	size_t at = slot.hash & (lookup->slot_count - 1);

	while (lookup->slots[at].number)
		at = (at + 1) & (lookup->slot_count - 1);
	lookup->slots[at] = slot;
}

void lookup_reserve(struct lookup *lookup, size_t count)
{
	struct lookup old = *lookup;
	size_t slot_count = old.slot_count ? old.slot_count : LEAST_SLOTS;

	while (slot_count < count * 2)
		slot_count *= 2;
	if (slot_count == old.slot_count)
		return;
	lookup->slot_count = slot_count;
	lookup->slots = mem_alloc(slot_count, sizeof(*lookup->slots));
	for (size_t i = 0; i < old.slot_count; i++)
		if (old.slots[i].number)
			put(lookup, old.slots[i]);
	free(old.slots);
}

void lookup_add(struct lookup *lookup, uint64_t hash, uint32_t number)
{
	lookup_reserve(lookup, lookup->used + 1);
	put(lookup, (struct lookup_slot){(uint32_t)hash, number + 1});
	lookup->used++;
}

void lookup_replace(struct lookup *lookup, size_t at, uint32_t number)
{
	lookup->slots[at - 1].number = number + 1;
}

void lookup_free(struct lookup *lookup)
{
	free(lookup->slots);
	*lookup = (struct lookup){0};
}
