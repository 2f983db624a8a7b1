/*
 * The hash table of analyzer and fitter: numbers of things by what they are. Of things in an array it finds
 * the one that equals another, without looking at all. The table knows hashes and numbers alone; who asks
 * compares the things themselves, so that a key may be of any kind, and of several parts:
 *
 *	for (size_t at = 0; (i = lookup_next(&table, hash, &at)) != LOOKUP_NONE;)
 *		if (equal(&things[i], thing))
 *			return i;
 *
 * Texts that are kept once have `base/intern.h` on top of it. Open addressing, eight bytes a slot, at most
 * half of them used; nothing is ever removed. Not uthash: with its handle of 56 bytes in each thing it took
 *three to five times as long (a million keys, 1000 to 632,407 of them distinct, each asked for five times),
 *and its things must not move. preload/ has tables of its own: they neither allocate nor lock on the path of
 *a call.
 */
#ifndef BASE_LOOKUP_H
#define BASE_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#define LOOKUP_NONE UINT32_MAX

struct lookup_slot {
	uint32_t hash;   /* its low half: that decides the place, and most comparisons */
	uint32_t number; /* and 1: 0 is a free slot */
};

/* All zero: empty. */
struct lookup {
	struct lookup_slot *slots;
	size_t slot_count, used; /* slot_count: 0 or a power of two */
};

/* The next number with this hash; `*at` is 0 at the start. LOOKUP_NONE: there is no other. Now and then one
 * with another hash comes too. */
static inline uint32_t lookup_next(const struct lookup *lookup, uint64_t hash, size_t *at)
{
	size_t mask = lookup->slot_count - 1, slot = *at ? *at : (uint32_t)hash;

	if (!lookup->slot_count)
		return LOOKUP_NONE;
	for (;; slot++) {
		const struct lookup_slot *found = &lookup->slots[slot & mask];

		if (found->number && found->hash != (uint32_t)hash)
			continue;
		*at = (slot & mask) + 1;
		return found->number - 1; /* LOOKUP_NONE for a free slot */
	}
}

/* One more, which need not be the first with its hash. The number is less than LOOKUP_NONE. Ends the program
 * where memory ends. */
void lookup_add(struct lookup *lookup, uint64_t hash, uint32_t number);

/* Another number in the place of the one that lookup_next gave last with this `at`. */
void lookup_replace(struct lookup *lookup, size_t at, uint32_t number);

/* Room for so many, so that adding them moves nothing. */
void lookup_reserve(struct lookup *lookup, size_t count);

void lookup_free(struct lookup *lookup);

#endif
