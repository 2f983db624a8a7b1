/*
 * Numbers of things by what they are: of things in an array, the one that equals another, without looking at
 * all. The table knows hashes and numbers alone; who asks compares the things themselves.
 *
 *	for (size_t at = 0; (i = lookup_next(&table, hash, &at)) != LOOKUP_NONE;)
 *		if (equal(&things[i], thing))
 *			return i;
 */
#ifndef BASE_LOOKUP_H
#define BASE_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#define LOOKUP_NONE UINT32_MAX

struct lookup_slot;

/* All zero: empty. */
struct lookup {
	struct lookup_slot *slots;
	size_t slot_count, used;
};

/* The next number with this hash; `*at` is 0 at the start. LOOKUP_NONE: there is no other. */
uint32_t lookup_next(const struct lookup *lookup, uint64_t hash, size_t *at);

/* One more, which need not be the first with its hash. */
void lookup_add(struct lookup *lookup, uint64_t hash, uint32_t number);

void lookup_free(struct lookup *lookup);

#endif
