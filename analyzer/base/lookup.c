/* Numbers by hashes, in open addressing: see lookup.h. */
#include "lookup.h"
#include "memory.h"

#include <stdlib.h>

struct lookup_slot {
	uint64_t hash;
	uint32_t number; /* and 1: 0 is a free slot */
};

static void put(struct lookup *lookup, struct lookup_slot slot)
{
	size_t at = slot.hash & (lookup->slot_count - 1);

	while (lookup->slots[at].number)
		at = (at + 1) & (lookup->slot_count - 1);
	lookup->slots[at] = slot;
}

uint32_t lookup_next(const struct lookup *lookup, uint64_t hash, size_t *at)
{
	if (!lookup->slot_count)
		return LOOKUP_NONE;
	for (;;) {
		const struct lookup_slot *slot = &lookup->slots[(hash + (*at)++) & (lookup->slot_count - 1)];

		if (!slot->number)
			return LOOKUP_NONE;
		if (slot->hash == hash)
			return slot->number - 1;
	}
}

void lookup_add(struct lookup *lookup, uint64_t hash, uint32_t number)
{
	if (lookup->used * 2 >= lookup->slot_count) {
		struct lookup old = *lookup;

		lookup->slot_count = old.slot_count ? old.slot_count * 2 : 64;
		lookup->slots = mem_alloc(lookup->slot_count, sizeof(*lookup->slots));
		for (size_t i = 0; i < old.slot_count; i++)
			if (old.slots[i].number)
				put(lookup, old.slots[i]);
		free(old.slots);
	}
	put(lookup, (struct lookup_slot){hash, number + 1});
	lookup->used++;
}

void lookup_free(struct lookup *lookup)
{
	free(lookup->slots);
	*lookup = (struct lookup){0};
}
