/*
 * Where in the cycle of a loop that repeats an iteration begins: in front of its input, else after its
 * result, else where it goes forward again. A copy between the passes is of neither kind: a loss, or its
 * gradient, that the host makes.
 */
#include "iteration_search.h"

#include <stdlib.h>

enum marker { MARKER_INPUT, MARKER_RESULT, MARKER_FORWARD, MARKER_COUNT };

#define DIRECTIONS (SEQUENCE_FORWARD | SEQUENCE_BACKWARD)

/* By member, the directions of the nearest work before it and from it on of which names tell one. */
struct directions {
	uint8_t *before, *from;
};

static struct directions find_directions(const struct sequence *sequence)
{
	struct directions directions = {mem_alloc(sequence->count, sizeof(*directions.before)),
		mem_alloc(sequence->count, sizeof(*directions.from))};
	uint8_t last = 0;

	for (size_t i = 0; i < sequence->count; i++) {
		directions.before[i] = last;
		last = sequence->marks[i] & DIRECTIONS ? sequence->marks[i] & DIRECTIONS : last;
	}
	last = 0;
	for (size_t i = sequence->count; i-- > 0;) {
		last = sequence->marks[i] & DIRECTIONS ? sequence->marks[i] & DIRECTIONS : last;
		directions.from[i] = last;
	}
	return directions;
}

static void free_directions(struct directions *directions)
{
	free(directions->before);
	free(directions->from);
}

/* May an iteration begin at the member, by this marker? */
static bool is_marked(const struct sequence *sequence, const struct directions *directions, size_t member,
	enum marker marker)
{
	const uint8_t before = directions->before[member], from = directions->from[member];

	if (marker == MARKER_FORWARD)
		return before == SEQUENCE_BACKWARD && sequence->marks[member] & SEQUENCE_FORWARD;
	if (before == SEQUENCE_FORWARD && from == SEQUENCE_BACKWARD)
		return false;
	return marker == MARKER_INPUT ? sequence_is_input(sequence, member)
				      : SEQUENCE_SUM(sequence, results, member, member + 1) > 0;
}

/*
 * In each pass the marked member that is farthest behind the one before. `cuts` has room for as many as there
 * are passes; answers how many there are.
 */
static size_t list_cuts(const struct sequence *sequence, const struct directions *directions,
	const uint32_t *places, size_t count, enum marker marker, size_t from, size_t *cuts)
{
	size_t cut_count = 0, pass = 0, before = from, best = 0, best_far = 0;

	for (size_t i = from; i <= places[count - 1]; i++) {
		while (pass < count && i > places[pass]) {
			if (pass > 0 && best_far)
				cuts[cut_count++] = best;
			best_far = 0;
			pass++;
		}
		if (!is_marked(sequence, directions, i, marker))
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
static size_t first_cut(const struct sequence *sequence, const struct directions *directions,
	size_t first_place, size_t next_cut, size_t length, uint32_t class, enum marker marker)
{
	size_t from = first_place > length ? first_place - length : 0, any = SIZE_MAX;

	for (size_t i = first_place + 1; i-- > from;) {
		if (!is_marked(sequence, directions, i, marker))
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
	struct directions directions = find_directions(sequence);
	size_t *cuts = mem_alloc(passes + 1u, sizeof(*cuts)), *lengths, length, count = 0;
	bool marked = false;

	lengths = mem_alloc(passes, sizeof(*lengths));
	for (uint32_t i = 0; i + 1 < passes; i++)
		lengths[i] = places[i + 1] - places[i];
	length = iteration_search_median(lengths, passes - 1);
	free(lengths);
	for (enum marker marker = 0; marker < MARKER_COUNT && !marked; marker++) {
		size_t from = places[0] > length ? places[0] - length : 0;
		uint32_t class = 0;

		count = list_cuts(sequence, &directions, places, passes, marker, from, cuts + 1);
		if (5 * count < 4 * (passes - 1u) || count == 0 ||
			!common_class(sequence, cuts + 1, count, &class)) {
			count = 0;
			continue;
		}
		cuts[0] = first_cut(sequence, &directions, places[0], cuts[1], length, class, marker);
		count++;
		marked = true;
	}
	for (uint32_t i = 0; !marked && i < passes; i++)
		cuts[count++] = places[i];
	set_pieces(search, cuts, count);
	free_directions(&directions);
	free(cuts);
}
