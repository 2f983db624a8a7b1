/*
 * Two sequences of keys, aligned: which member of the one is which of the other, in order, with few
 * insertions and deletions (Myers' greedy search for the shortest edit script, "An O(ND) Difference
 * Algorithm", 1986).
 *
 * Time is proportional to the lengths where the sequences differ little. Where they differ much the search
 * takes the furthest that it has come after so many edits, and goes on from there: time is at most so many
 * times the lengths, and memory does not depend on them.
 */
#ifndef RECONSTRUCT_ALIGN_H
#define RECONSTRUCT_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALIGN_NONE UINT32_MAX

struct align_keys {
	const uint64_t *items;
	size_t count; /* less than 2^31 */
};

/*
 * places: by member of `from` its place in `to`, ascending, or ALIGN_NONE; the caller's, from.count of them.
 * False: more than most_edits members have no partner, in both together, and places are not to be used.
 */
bool align(struct align_keys from, struct align_keys to, size_t most_edits, uint32_t *places);

#endif
