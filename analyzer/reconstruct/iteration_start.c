/*
 * Where in its piece an iteration begins. Pieces without anything in front show a class that each iteration
 * has early and equally often: where a piece has it more often, what comes before the last so many is set-up,
 * evaluation or generation. A search for algorithms repeats work too, but has no input of its own, and stays.
 */
#include "iteration_search.h"
#include "timeline/constants.h"

#include <stdlib.h>

/* The class that iterations begin with, or nearly. */
struct anchor {
	bool found;
	uint32_t class;
	uint32_t per_piece; /* how often an iteration has it */
	size_t rank;        /* members in front of the first */
};

/* Pieces with nothing in front: not much longer than the median. */
static size_t list_short(const struct iteration_search *search, size_t *numbers)
{
	size_t *lengths = mem_alloc(search->count, sizeof(*lengths)), count = 0, median;

	for (size_t i = 0; i < search->count; i++)
		if (i > 0 || search->count == 1)
			lengths[count++] = search->pieces[i].end - search->pieces[i].begin;
	median = iteration_search_median(lengths, count);
	count = 0;
	for (size_t i = 0; i < search->count; i++)
		if ((i > 0 || search->count == 1) &&
			10 * (search->pieces[i].end - search->pieces[i].begin) <= 11 * median)
			numbers[count++] = i;
	free(lengths);
	return count;
}

/*
 * How often most short pieces have each class, 0 where no number is that of at least 0.8 of them. By a
 * majority vote: one pass for the candidate of each class, one to count its votes. Pieces without the class
 * vote for 0, so a class counts only if most have it.
 */
static uint32_t *usual_counts(const struct sequence *sequence, const struct sequence_histogram *histograms,
	const size_t *numbers, size_t count)
{
	uint32_t *usual = mem_alloc(sequence->class_count, sizeof(*usual));
	uint32_t *votes = mem_alloc(sequence->class_count, sizeof(*votes));

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < histograms[numbers[i]].bin_count; j++) {
			const struct sequence_bin *bin = &histograms[numbers[i]].bins[j];

			if (votes[bin->class] == 0)
				usual[bin->class] = bin->count;
			votes[bin->class] += usual[bin->class] == bin->count ? 1 : UINT32_MAX;
		}
	for (uint32_t i = 0; i < sequence->class_count; i++)
		votes[i] = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < histograms[numbers[i]].bin_count; j++) {
			const struct sequence_bin *bin = &histograms[numbers[i]].bins[j];

			votes[bin->class] += usual[bin->class] == bin->count;
		}
	for (uint32_t i = 0; i < sequence->class_count; i++)
		if (5 * (uint64_t)votes[i] < 4 * (uint64_t)count)
			usual[i] = 0;
	free(votes);
	return usual;
}

#define MOST_TRIED 50 /* pieces */

static struct anchor find_anchor(const struct iteration_search *search)
{
	const struct sequence *sequence = search->sequence;
	size_t *numbers = mem_alloc(search->count, sizeof(*numbers));
	size_t count = list_short(search, numbers);
	struct sequence_histogram *histograms = sequence_histograms(sequence, search->pieces, search->count);
	uint32_t *usual = usual_counts(sequence, histograms, numbers, count);
	struct anchor anchor = {.found = false};

	for (size_t i = 0; i < count && i < MOST_TRIED; i++) {
		const struct sequence_range *piece = &search->pieces[numbers[i]];
		size_t length = piece->end - piece->begin, early = length / 20 > START_EARLY ? length / 20 : START_EARLY;
		size_t rank = 0;

		while (rank < early && rank < length && !usual[sequence->classes[piece->begin + rank]])
			rank++;
		if (rank < early && rank < length && (!anchor.found || rank < anchor.rank)) {
			uint32_t class = sequence->classes[piece->begin + rank];

			anchor = (struct anchor){true, class, usual[class], rank};
		}
	}
	sequence_free_histograms(histograms);
	free(usual);
	free(numbers);
	return anchor;
}

/* The last member at or before `member`, but after `from`, with input in front of it; `from` if none. */
static size_t input_before(const struct sequence *sequence, size_t from, size_t member)
{
	while (member > from && !sequence_is_input(sequence, member))
		member--;
	return member;
}

/* With the `per_piece`-th of the anchor's class from the end of the piece, and what always precedes it. */
static size_t start_at_anchor(
	const struct iteration_search *search, size_t number, const struct anchor *anchor, bool by_input)
{
	const struct sequence *sequence = search->sequence;
	const struct sequence_range *piece = &search->pieces[number];
	size_t place = piece->end, found = 0, all = 0, begin;

	for (size_t i = piece->end; i-- > piece->begin;)
		if (sequence->classes[i] == anchor->class) {
			all++;
			if (found < anchor->per_piece) {
				found++;
				place = i;
			}
		}
	begin = place >= piece->begin + anchor->rank ? place - anchor->rank : piece->begin;
	if (all > anchor->per_piece)
		return by_input ? input_before(sequence, piece->begin, place) : begin;
	return number == 0 && all == anchor->per_piece ? begin : piece->begin;
}

/* ---- An evaluation in front ---- */

/* Classes of forward work in [begin, end) that are in the set; `all`: how many there are. */
static size_t count_forward_in(const struct sequence *sequence, size_t begin, size_t end, const uint32_t *set,
	uint32_t mark, size_t *all)
{
	size_t common = 0;

	*all = 0;
	for (size_t i = begin; i < end; i++)
		if (sequence->marks[i] & SEQUENCE_FORWARD) {
			(*all)++;
			common += set[sequence->classes[i]] == mark;
		}
	return common;
}

/* A result is fetched in [from, member), after forward work. */
static bool fetches_result(const struct sequence *sequence, size_t from, size_t member)
{
	while (from < member && !(sequence->marks[from] & SEQUENCE_FORWARD))
		from++;
	return from < member && SEQUENCE_SUM(sequence, results, from + 1, member + 1) > 0;
}

/* The first member after `from` with input or a result fetched in front of it, or `end`. */
static size_t next_copy(const struct sequence *sequence, size_t from, size_t end)
{
	for (size_t i = from + 1; i < end; i++)
		if (sequence_is_input(sequence, i) || SEQUENCE_SUM(sequence, results, i, i + 1) > 0)
			return i;
	return end;
}

/* Is the pass in front of `at` the same work as the one after it? Then they are micro-batches. */
static bool are_micro_batches(const struct sequence *sequence, size_t begin, size_t at, size_t first_backward)
{
	struct sequence_range passes[2] = {{begin, at}, {at, first_backward}};
	struct sequence_histogram *histograms;
	double similarity;

	for (size_t i = begin; (i = next_copy(sequence, i, at)) < at;)
		if (at - i >= 3)
			passes[0].begin = i;
	for (size_t i = at; (i = next_copy(sequence, i, first_backward)) < first_backward;)
		if (2 * (i - at) >= at - passes[0].begin) {
			passes[1].end = i;
			break;
		}
	histograms = sequence_histograms(sequence, passes, 2);
	similarity = sequence_similarity(&histograms[0], &histograms[1]);
	sequence_free_histograms(histograms);
	return similarity >= 0.99;
}

#define MOST_PASSES 64 /* tried in one piece */

/*
 * Forward work with input and results of its own in front of the iteration's is an evaluation, or generation.
 * Tried is from the backward pass to the front, so that the shortest iteration is found.
 */
static size_t start_behind_evaluation(
	const struct sequence *sequence, size_t begin, size_t end, uint32_t *set, uint32_t mark)
{
	size_t first = begin, tried = 0, all, begins = begin;

	while (first < end && !(sequence->marks[first] & SEQUENCE_BACKWARD))
		first++;
	if (first == end || SEQUENCE_SUM(sequence, forward, begin, first) == 0)
		return begin;
	for (size_t i = first; i-- > begin + 1 && tried < MOST_PASSES;) {
		set[sequence->classes[i]] =
			sequence->marks[i] & SEQUENCE_FORWARD ? mark : set[sequence->classes[i]];
		if (!sequence_is_input(sequence, i) || SEQUENCE_SUM(sequence, forward, i, first) == 0)
			continue;
		tried++;
		if (2 * (i - begin) < first - i || !fetches_result(sequence, begin, i))
			continue;
		if (10 * count_forward_in(sequence, begin, i, set, mark, &all) >= 7 * all && all > 0 &&
			!are_micro_batches(sequence, begin, i, first)) {
			begins = i;
			break;
		}
	}
	return begins;
}

/* The class that 0.8 of the pieces after the first begin with; false: there is none. */
static bool first_class(const struct iteration_search *search, uint32_t *class)
{
	const struct sequence *sequence = search->sequence;
	size_t votes = 0, agree = 0;

	for (size_t i = 1; i < search->count; i++) {
		uint32_t here = sequence->classes[search->pieces[i].begin];

		if (votes == 0)
			*class = here;
		votes += *class == here ? 1 : SIZE_MAX;
	}
	for (size_t i = 1; i < search->count; i++)
		agree += sequence->classes[search->pieces[i].begin] == *class;
	return search->count > 1 && 5 * agree >= 4 * (search->count - 1);
}

/* After the set-up: where the first piece has what the others begin with, with input if they have it. */
static size_t start_first(const struct iteration_search *search, size_t begin, bool by_input)
{
	const struct sequence *sequence = search->sequence;
	const struct sequence_range *piece = &search->pieces[0];
	uint32_t class = 0;

	if (!first_class(search, &class))
		return begin;
	for (size_t i = begin; i < piece->end; i++)
		if (sequence->classes[i] == class && (!by_input || sequence_is_input(sequence, i)))
			return i;
	return begin;
}

void iteration_search_starts(struct iteration_search *search)
{
	const struct sequence *sequence = search->sequence;
	struct anchor anchor = find_anchor(search);
	uint32_t *set = mem_alloc(sequence->class_count, sizeof(*set));
	size_t with_input = 0, longest = 0;

	for (size_t i = 1; i < search->count; i++) {
		size_t length = search->pieces[i].end - search->pieces[i].begin;

		with_input += sequence_is_input(sequence, search->pieces[i].begin);
		longest = length > longest ? length : longest;
	}
	for (size_t i = 0; i < search->count; i++) {
		struct sequence_range *piece = &search->pieces[i];
		size_t length = piece->end - piece->begin;
		bool by_input = search->count > 1 && 5 * with_input >= 4 * (search->count - 1);

		size_t begin = anchor.found ? start_at_anchor(search, i, &anchor, by_input) : piece->begin;

		if (i == 0 && begin == piece->begin)
			begin = start_first(search, begin, by_input);
		/* The set-up may have work like an iteration's. */
		if (i == 0 && begin == piece->begin && search->count > 1 && 2 * length > 3 * longest)
			begin = piece->end - longest;
		piece->begin = start_behind_evaluation(sequence, begin, piece->end, set, (uint32_t)i + 1);
	}
	free(set);
}
