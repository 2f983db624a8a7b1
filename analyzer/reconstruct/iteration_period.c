/*
 * How many pieces one after the other make an iteration: the smallest number at which pieces resemble each
 * other, and clearly better than at any smaller one. So with several optimizers, or micro-batches of which
 * the last one is followed by the update.
 */
#include "iteration_search.h"
#include "timeline/constants.h"

#include <stdlib.h>

#define MOST_PERIOD 8

/* How alike two pieces are: by how often they have each class, or by which classes they have. */
typedef double (*likeness)(const struct sequence_histogram *a, const struct sequence_histogram *b);

/* Mean similarity of each with the p-th after it, and the share of those that are nearly the same. */
static double similarity_at(const struct sequence_histogram *histograms, size_t count, size_t p,
	likeness measure, double *same_share)
{
	double sum = 0;
	size_t same = 0;

	for (size_t i = 0; i + p < count; i++) {
		double similarity = measure(&histograms[i], &histograms[i + p]);

		sum += similarity;
		same += similarity > 0.95;
	}
	*same_share = (double)same / (double)(count - p);
	return sum / (double)(count - p);
}

static size_t find_period(const struct sequence_histogram *histograms, size_t count, likeness measure)
{
	double means[MOST_PERIOD + 1], same;

	for (size_t p = 1; p <= MOST_PERIOD && p <= count / REPEATS_LEAST; p++) {
		bool better = p > 1;

		means[p] = similarity_at(histograms, count, p, measure, &same);
		for (size_t q = 1; q < p; q++)
			better &= means[p] > means[q] + 0.02;
		if (better && means[p] >= 0.95 && means[p] > means[1] + 0.04 && same >= 0.8)
			return p;
	}
	return 1;
}

size_t iteration_search_period(
	const struct sequence *sequence, const struct sequence_range *pieces, size_t count)
{
	struct sequence_histogram *histograms;
	size_t found;

	if (count < 2 * REPEATS_LEAST)
		return 1;
	histograms = sequence_histograms(sequence, pieces, count);
	found = find_period(histograms, count, sequence_similarity);
	/* Where sizes depend on the data, how often differs each time. */
	if (found == 1)
		found = find_period(histograms, count, sequence_common_classes);
	sequence_free_histograms(histograms);
	return found;
}

size_t iteration_search_period_of(const struct sequence *sequence, const struct sequence_range *bursts,
	const struct sequence_range *pieces, size_t count)
{
	struct sequence_histogram *updates, *histograms;
	double same, once, again;
	size_t found;

	if (count < 2 * REPEATS_LEAST)
		return 1;
	updates = sequence_histograms(sequence, bursts, count);
	histograms = sequence_histograms(sequence, pieces, count);
	found = find_period(updates, count, sequence_similarity);
	once = similarity_at(histograms, count, 1, sequence_common_classes, &same);
	again = similarity_at(histograms, count, found, sequence_common_classes, &same);
	sequence_free_histograms(updates);
	sequence_free_histograms(histograms);
	return again > once + 0.04 ? found : 1;
}

/* Does the piece have members of classes that the one before lacks, which follow other work without a copy?
 */
static bool adds_directly(const struct iteration_search *search, size_t number)
{
	const struct sequence *sequence = search->sequence;
	const struct sequence_range *piece = &search->pieces[number];
	struct sequence_histogram *histograms = sequence_histograms(sequence, piece - 1, 2);
	bool direct = false;

	for (size_t i = piece->begin + 1; i < piece->end; i++)
		if (!sequence_bin_count(&histograms[0], sequence->classes[i])) {
			direct = SEQUENCE_SUM(sequence, inputs, i, i + 1) == 0 &&
				 SEQUENCE_SUM(sequence, results, i, i + 1) == 0;
			break;
		}
	sequence_free_histograms(histograms);
	return direct;
}

/* The share of pieces that have exactly what the p-th after them has. */
static double share_identical(const struct sequence_histogram *histograms, size_t count, size_t p)
{
	size_t same = 0;

	for (size_t i = 0; i + p < count; i++)
		same += sequence_similarity(&histograms[i], &histograms[i + p]) >= 1;
	return (double)same / (double)(count - p);
}

/*
 * The period of pieces that differ by little, but exactly: an update of kernels that forward and backward
 * work has too. 1: there is none.
 */
static size_t exact_period(const struct iteration_search *search)
{
	struct sequence_histogram *histograms =
		sequence_histograms(search->sequence, search->pieces, search->count);
	size_t found = 1, least = SIZE_MAX, most = 0;

	for (size_t p = 1; p <= MOST_PERIOD && p <= search->count / REPEATS_LEAST; p++)
		if (share_identical(histograms, search->count, p) >= 0.9) {
			found = p;
			break;
		}
	for (size_t i = 1; i + 1 < search->count; i++) {
		least = histograms[i].total < least ? histograms[i].total : least;
		most = histograms[i].total > most ? histograms[i].total : most;
	}
	sequence_free_histograms(histograms);
	/* Less is a metric that is computed now and then. */
	return most > least && (double)least <= JUDGE_SIMILAR * (double)most ? found : 1;
}

/* Which of `period` pieces is the longest, in sum over all. */
static size_t longest_phase(const struct iteration_search *search, size_t period)
{
	size_t sums[MOST_PERIOD] = {0}, best = 0;

	for (size_t i = 0; i + period <= search->count; i++)
		sums[i % period] += search->pieces[i].end - search->pieces[i].begin;
	for (size_t i = 1; i < period; i++)
		if (sums[i] > sums[best])
			best = i;
	return best;
}

/* Does what the longest of each `period` pieces adds follow other work directly, in most of them? */
static bool is_direct(const struct iteration_search *search, size_t period)
{
	size_t last = longest_phase(search, period), direct = 0, tried = 0;

	for (size_t i = last ? last : period; i < search->count; i += period, tried++)
		direct += adds_directly(search, i);
	return 5 * direct >= 4 * tried;
}

void iteration_search_join(struct iteration_search *search)
{
	size_t period = iteration_search_period(search->sequence, search->pieces, search->count), kept = 0;

	if (period == 1 || !is_direct(search, period))
		period = exact_period(search);
	if (period == 1)
		return;
	for (size_t i = longest_phase(search, period); i < search->count; i += period) {
		size_t first = i + 1 >= period ? i + 1 - period : 0;

		search->pieces[kept++] =
			(struct sequence_range){search->pieces[first].begin, search->pieces[i].end};
	}
	search->count = kept;
	search->around = true;
}
