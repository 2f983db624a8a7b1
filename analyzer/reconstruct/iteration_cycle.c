/* Where in the cycle of a loop that repeats an iteration begins: in front of its input, if it has any. */
#include "iteration_search.h"

#include <stdlib.h>

/* Is there a copy of this direction in front of the member? */
static bool is_copied(const struct sequence *sequence, size_t member, bool input)
{
	return input ? sequence_is_input(sequence, member)
		     : SEQUENCE_SUM(sequence, results, member, member + 1) > 0;
}

/*
 * In each pass the member with a copy in front of it that is farthest behind the one before. `cuts` has room
 * for as many as there are passes; answers how many there are.
 */
static size_t list_cuts(const struct sequence *sequence, const uint32_t *places, size_t count, bool input,
	size_t from, size_t *cuts)
{
	size_t cut_count = 0, pass = 0, before = from, best = 0, best_far = 0;

	for (size_t i = from; i <= places[count - 1]; i++) {
		while (pass < count && i > places[pass]) {
			if (pass > 0 && best_far)
				cuts[cut_count++] = best;
			best_far = 0;
			pass++;
		}
		if (!is_copied(sequence, i, input))
			continue;
		if (pass > 0 && i + 1 - before > best_far) {
			best_far = i + 1 - before;
			best = i;
		}
		before = i;
	}
	if (best_far)
		cuts[cut_count++] = best;
	return cut_count;
}

/* The class that at least 0.8 of the cuts are at; false: there is none. */
static bool common_class(const struct sequence *sequence, const size_t *cuts, size_t count, uint32_t *class)
{
	size_t votes = 0, agree = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t here = sequence->classes[cuts[i]];

		if (votes == 0)
			*class = here;
		votes += *class == here ? 1 : SIZE_MAX;
	}
	for (size_t i = 0; i < count; i++)
		agree += sequence->classes[cuts[i]] == *class;
	return 5 * agree >= 4 * count;
}

/* The begin of the first pass: like the other cuts, if there is such a place before the first one. */
static size_t first_cut(const struct sequence *sequence, size_t first_place, size_t next_cut, size_t length,
	uint32_t class, bool input)
{
	size_t from = first_place > length ? first_place - length : 0, any = SIZE_MAX;

	for (size_t i = first_place + 1; i-- > from;) {
		if (!is_copied(sequence, i, input))
			continue;
		if (sequence->classes[i] == class)
			return i;
		any = any == SIZE_MAX ? i : any;
	}
	return any != SIZE_MAX ? any : next_cut > length ? next_cut - length : 0;
}

static void set_pieces(struct iteration_search *search, const size_t *cuts, size_t count)
{
	size_t *lengths = mem_alloc(count, sizeof(*lengths)), length;

	search->pieces = mem_alloc(count, sizeof(*search->pieces));
	for (size_t i = 0; i + 1 < count; i++) {
		search->pieces[i] = (struct sequence_range){cuts[i], cuts[i + 1]};
		lengths[i] = cuts[i + 1] - cuts[i];
	}
	length = iteration_search_median(lengths, count - 1);
	search->pieces[count - 1].begin = cuts[count - 1];
	search->pieces[count - 1].end = cuts[count - 1] + length < search->sequence->count
						? cuts[count - 1] + length
						: search->sequence->count;
	search->count = count;
	free(lengths);
}

void iteration_search_cut(struct iteration_search *search, const uint32_t *places, uint32_t passes)
{
	const struct sequence *sequence = search->sequence;
	size_t *cuts = mem_alloc(passes + 1u, sizeof(*cuts)), *lengths, length, count = 0;
	bool copies = false;

	lengths = mem_alloc(passes, sizeof(*lengths));
	for (uint32_t i = 0; i + 1 < passes; i++)
		lengths[i] = places[i + 1] - places[i];
	length = iteration_search_median(lengths, passes - 1);
	free(lengths);
	for (int input = 1; input >= 0 && !copies; input--) {
		size_t from = places[0] > length ? places[0] - length : 0;
		uint32_t class = 0;

		count = list_cuts(sequence, places, passes, input, from, cuts + 1);
		if (5 * count < 4 * (passes - 1u) || count == 0 ||
			!common_class(sequence, cuts + 1, count, &class)) {
			count = 0;
			continue;
		}
		cuts[0] = first_cut(sequence, places[0], cuts[1], length, class, input);
		count++;
		copies = true;
	}
	for (uint32_t i = 0; !copies && i < passes; i++)
		cuts[count++] = places[i];
	set_pieces(search, cuts, count);
	free(cuts);
}
