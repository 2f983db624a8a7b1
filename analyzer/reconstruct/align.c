/* Two sequences of keys, aligned: see align.h. */
#include "align.h"
#include "base/memory.h"

#include <stdlib.h>

#define MOST_EDITS 256 /* of one search; its memory grows with their square, its time per edit with them */
#define NOWHERE (-1)

/*
 * One search, from the start of what is left. A diagonal is the members taken of `from` less those of `to`;
 * reached[edits] says for each diagonal -edits, -edits + 2, ..., edits how many of `from` are taken at most
 * with so many edits.
 */
struct search {
	struct align_keys from, to;
	int32_t *reached; /* a triangle */
};

static int32_t *row_of(const struct search *search, int32_t edits)
{
	return search->reached + (size_t)edits * ((size_t)edits + 1) / 2;
}

/* Where the last of the edits leads to on a diagonal, before members that agree; *skips: it is a member of
 * `from` that has no partner, else one of `to`. */
static int32_t last_edit(const struct search *search, int32_t edits, int32_t place, bool *skips)
{
	const int32_t *before = row_of(search, edits - 1), diagonal = 2 * place - edits;
	int32_t skipped = NOWHERE, kept = NOWHERE;

	if (place > 0 && before[place - 1] != NOWHERE && before[place - 1] < (int32_t)search->from.count)
		skipped = before[place - 1] + 1;
	/* Of `to` so many are taken on the diagonal above. */
	if (place < edits && before[place] != NOWHERE &&
		before[place] - (diagonal + 1) < (int32_t)search->to.count)
		kept = before[place];
	*skips = skipped > kept;
	return *skips ? skipped : kept;
}

static int32_t follow(const struct search *search, int32_t taken, int32_t diagonal)
{
	while (taken < (int32_t)search->from.count && taken - diagonal < (int32_t)search->to.count &&
		search->from.items[taken] == search->to.items[taken - diagonal])
		taken++;
	return taken;
}

/* Until both end, or so many edits are made; *place is the diagonal that came furthest. Returns the edits. */
static int32_t find_furthest(const struct search *search, int32_t *place)
{
	const int64_t all = (int64_t)search->from.count + (int64_t)search->to.count;
	int32_t edits = 0;

	row_of(search, 0)[0] = follow(search, 0, 0);
	*place = 0;
	if (2 * (int64_t)row_of(search, 0)[0] == all)
		return 0;
	for (edits = 1;; edits++) {
		int64_t most = -1;

		for (int32_t i = 0; i <= edits; i++) {
			const int32_t diagonal = 2 * i - edits;
			int32_t *reached = &row_of(search, edits)[i];
			bool skips;

			*reached = last_edit(search, edits, i, &skips);
			if (*reached == NOWHERE)
				continue;
			*reached = follow(search, *reached, diagonal);
			if (2 * (int64_t)*reached - diagonal > most) {
				most = 2 * (int64_t)*reached - diagonal;
				*place = i;
			}
		}
		if (most == all || edits == MOST_EDITS)
			return edits;
	}
}

/* Notes the partners on the way there, for members of `to` from to_first on. */
static void note(const struct search *search, int32_t edits, int32_t place, size_t to_first, uint32_t *places)
{
	for (;; edits--) {
		const int32_t diagonal = 2 * place - edits, end = row_of(search, edits)[place];
		bool skips = false;
		const int32_t begin = edits ? last_edit(search, edits, place, &skips) : 0;

		for (int32_t i = begin; i < end; i++)
			places[i] = (uint32_t)(to_first + (size_t)(i - diagonal));
		if (edits == 0)
			return;
		place -= skips;
	}
}

static struct align_keys rest(struct align_keys keys, size_t first)
{
	return (struct align_keys){keys.items + first, keys.count - first};
}

bool align(struct align_keys from, struct align_keys to, size_t most_edits, uint32_t *places)
{
	struct search search = {0};
	size_t from_first = 0, to_first = 0, edits = 0;

	for (size_t i = 0; i < from.count; i++)
		places[i] = ALIGN_NONE;
	while (from_first < from.count && to_first < to.count &&
		from.items[from_first] == to.items[to_first]) {
		places[from_first++] = (uint32_t)to_first;
		to_first++;
	}
	if (from_first < from.count && to_first < to.count)
		search.reached =
			mem_alloc(((size_t)MOST_EDITS + 1) * (MOST_EDITS + 2) / 2, sizeof(*search.reached));
	while (from_first < from.count && to_first < to.count && edits <= most_edits) {
		int32_t made, place, taken;

		search.from = rest(from, from_first);
		search.to = rest(to, to_first);
		made = find_furthest(&search, &place);
		taken = row_of(&search, made)[place];
		note(&search, made, place, to_first, places + from_first);
		edits += (size_t)made;
		from_first += (size_t)taken;
		to_first += (size_t)(taken - (2 * place - made));
	}
	free(search.reached);
	return edits + (from.count - from_first) + (to.count - to_first) <= most_edits;
}
