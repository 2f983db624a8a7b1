/*
 * Pieces by updates. Updates that follow each other, with little between them, are one burst; an iteration
 * ends with its burst and what follows that is neither input nor forward work. With several optimizers an
 * iteration has several bursts.
 */
#include "iteration_search.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

static int compare_sizes(const void *left, const void *right)
{
	const size_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

size_t iteration_search_median(size_t *values, size_t count)
{
	if (count == 0)
		return 0;
	qsort(values, count, sizeof(*values), compare_sizes);
	return values[(count - 1) / 2];
}

struct gaps {
	size_t usual; /* the median of the large ones; 0: there are none */
	size_t longest;
	bool forward; /* of work that goes forward in one */
};

/* Of the members between updates. */
static struct gaps measure_gaps(const struct sequence *sequence)
{
	size_t *large = mem_alloc(sequence->count, sizeof(*large)), count = 0, last = SIZE_MAX;
	struct gaps gaps = {0};

	for (size_t i = 0; i < sequence->count; i++) {
		if (!(sequence->marks[i] & SEQUENCE_UPDATE))
			continue;
		if (last != SIZE_MAX && i - last - 1 >= BURST_LARGE_GAP)
			large[count++] = i - last - 1;
		if (last != SIZE_MAX && i - last - 1 > gaps.longest)
			gaps.longest = i - last - 1;
		gaps.forward |= last != SIZE_MAX && SEQUENCE_SUM(sequence, forward, last + 1, i) > 0;
		last = i;
	}
	gaps.usual = iteration_search_median(large, count);
	free(large);
	return gaps;
}

/* Do two updates, with members (a, b) between them, belong to different bursts? */
static bool is_apart(const struct sequence *sequence, size_t a, size_t b, const struct gaps *gaps)
{
	uint32_t forward = SEQUENCE_SUM(sequence, forward, a + 1, b);
	uint32_t backward = SEQUENCE_SUM(sequence, backward, a + 1, b);
	size_t gap = b - a - 1;

	if (SEQUENCE_SUM(sequence, pauses, a + 1, b + 1))
		return true;
	/* An update that evaluates forward work again and again is done only when there is new input. */
	if (sequence->closures)
		return SEQUENCE_SUM(sequence, inputs, a + 1, b + 1) > 0;
	/* Parameters may be updated within the backward pass, as soon as their gradient is made. */
	if (backward && !forward && gaps->forward && SEQUENCE_SUM(sequence, inputs, a + 1, b + 1) == 0)
		return false;
	if (forward && backward)
		return true;
	if (gaps->usual)
		return 2 * gap >= gaps->usual;
	/* Of few members: something must happen between. */
	return gap > 0 && 2 * gap >= gaps->longest &&
	       (forward || backward || SEQUENCE_SUM(sequence, inputs, a + 1, b + 1) > 0);
}

/* From the first to after the last update of each; the caller frees them. */
static struct sequence_range *list_bursts(const struct sequence *sequence, size_t *count)
{
	struct sequence_range *bursts = NULL;
	struct gaps gaps = measure_gaps(sequence);
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < sequence->count; i++) {
		if (!(sequence->marks[i] & SEQUENCE_UPDATE))
			continue;
		if (*count == 0 || is_apart(sequence, bursts[*count - 1].end - 1, i, &gaps))
			*MEM_PUSH(bursts, *count, room) = (struct sequence_range){i, i + 1};
		else
			bursts[*count - 1].end = i + 1;
	}
	return bursts;
}

/* Averages, metrics, norms: up to the next input or forward work. SIZE_MAX: to the end of the sequence. */
static size_t tail_end(const struct sequence *sequence, size_t from, size_t limit)
{
	for (size_t i = from; i < limit; i++)
		if (sequence_is_input(sequence, i) || sequence_is_paused(sequence, i) ||
			(sequence->marks[i] & SEQUENCE_FORWARD))
			return i;
	return SIZE_MAX;
}

/* Where each burst's piece ends: after its tail, the usual one where the sequence ends in it. */
static void end_bursts(const struct sequence *sequence, struct sequence_range *bursts, size_t count)
{
	size_t *tails = mem_alloc(count, sizeof(*tails)), *known = mem_alloc(count, sizeof(*known));
	size_t known_count = 0, median;

	for (size_t i = 0; i < count; i++) {
		size_t limit = i + 1 < count ? bursts[i + 1].begin : sequence->count;
		size_t end = tail_end(sequence, bursts[i].end, limit);

		tails[i] = end == SIZE_MAX ? SIZE_MAX : end - bursts[i].end;
		if (end != SIZE_MAX)
			known[known_count++] = tails[i];
	}
	median = iteration_search_median(known, known_count);
	for (size_t i = 0; i < count; i++) {
		size_t limit = i + 1 < count ? bursts[i + 1].begin : sequence->count;

		bursts[i].end += tails[i] == SIZE_MAX ? median : tails[i];
		if (bursts[i].end > limit)
			bursts[i].end = limit;
	}
	free(tails);
	free(known);
}

/* How many bursts an iteration has. updates: the bursts without their tails. */
static size_t count_optimizers(const struct sequence *sequence, const struct sequence_range *updates,
	const struct sequence_range *bursts, size_t count)
{
	struct sequence_range *ends;
	size_t *lengths, length, found;

	if (count < 2)
		return 1;
	ends = mem_alloc(count, sizeof(*ends));
	lengths = mem_alloc(count, sizeof(*lengths));
	for (size_t i = 1; i < count; i++)
		lengths[i - 1] = bursts[i].end - bursts[i - 1].end;
	/* Compared are the ends alone, since an evaluation in front of some has a period of its own. */
	qsort(lengths, count - 1, sizeof(*lengths), compare_sizes);
	length = lengths[(count - 1) / 10];
	for (size_t i = 1; i < count; i++) {
		ends[i - 1].end = bursts[i].end;
		ends[i - 1].begin = bursts[i].end - bursts[i - 1].end > length ? bursts[i].end - length
									       : bursts[i - 1].end;
	}
	found = iteration_search_period(sequence, ends, count - 1);
	for (size_t i = 1; i < count && found == 1; i++)
		ends[i - 1].begin = bursts[i - 1].end;
	if (found == 1)
		found = iteration_search_period_of(sequence, updates + 1, ends, count - 1);
	free(ends);
	free(lengths);
	return found;
}

void iteration_search_bursts(struct iteration_search *search)
{
	const struct sequence *sequence = search->sequence;
	struct sequence_range *bursts = list_bursts(sequence, &search->updates), *updates;
	size_t begin = 0;

	search->source = ITERATION_BY_NAMES;
	search->optimizers = 1;
	if (search->updates == 0)
		return;
	updates = mem_alloc(search->updates, sizeof(*updates));
	memcpy(updates, bursts, search->updates * sizeof(*updates));
	end_bursts(sequence, bursts, search->updates);
	search->optimizers = count_optimizers(sequence, updates, bursts, search->updates);
	free(updates);
	search->pieces = mem_alloc(search->updates, sizeof(*search->pieces));
	for (size_t i = search->optimizers - 1; i < search->updates; i += search->optimizers) {
		search->pieces[search->count++] = (struct sequence_range){begin, bursts[i].end};
		begin = bursts[i].end;
	}
	free(bursts);
}
