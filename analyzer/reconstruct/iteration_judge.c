/*
 * Which pieces are whole, which of them do the same work, and how sure it is that they are the iterations.
 *
 * The confidence is a probability, calibrated on programs whose iterations are known
 * (tests/bench/iterations.sh): the share of the work that lies in whole pieces, times how far the way they
 * were found is to be trusted.
 */
#include "iteration_search.h"
#include "timeline/constants.h"

#include <math.h>
#include <stdlib.h>

/* Whether 0.8 of the pieces have something; then each must, to be whole. */
struct evidence {
	size_t with;
	bool usual;
};

static bool has_forward(const struct sequence *sequence, const struct sequence_range *piece)
{
	return SEQUENCE_SUM(sequence, forward, piece->begin, piece->end) > 0;
}

static bool has_backward(const struct sequence *sequence, const struct sequence_range *piece)
{
	return SEQUENCE_SUM(sequence, backward, piece->begin, piece->end) > 0;
}

static bool has_update(const struct sequence *sequence, const struct sequence_range *piece)
{
	return SEQUENCE_SUM(sequence, update, piece->begin, piece->end) > 0;
}

static bool begins_with_input(const struct sequence *sequence, const struct sequence_range *piece)
{
	return piece->begin < piece->end && sequence_is_input(sequence, piece->begin);
}

static bool has_collective(const struct sequence *sequence, const struct sequence_range *piece)
{
	const struct timeline *timeline = sequence->model->timeline;

	for (size_t i = piece->begin; i < piece->end; i++) {
		const struct timeline_call *call =
			TIMELINE_CALL(timeline, sequence->worker->calls[sequence->positions[i]]);

		if (timeline_function(timeline, call)->kind == PM_KIND_COMM)
			return true;
	}
	return false;
}

typedef bool (*is_there)(const struct sequence *sequence, const struct sequence_range *piece);

static struct evidence evidence_of(const struct iteration_search *search, is_there has)
{
	struct evidence evidence = {0, false};

	for (size_t i = 0; i < search->count; i++)
		evidence.with += has(search->sequence, &search->pieces[i]);
	evidence.usual = 5 * evidence.with >= 4 * search->count;
	return evidence;
}

/* Classes that a tenth of the pieces begin with. The caller frees the counts; `least` is the tenth. */
static uint32_t *list_firsts(const struct iteration_search *search)
{
	const struct sequence *sequence = search->sequence;
	uint32_t *firsts = mem_alloc(sequence->class_count, sizeof(*firsts));

	for (size_t i = 0; i < search->count; i++)
		if (search->pieces[i].begin < search->pieces[i].end)
			firsts[sequence->classes[search->pieces[i].begin]]++;
	return firsts;
}

/* Do enough pieces begin so? One alone, of several, is broken off. */
static bool is_usual_first(const struct iteration_search *search, uint32_t count)
{
	return 10 * (size_t)count >= search->count && (count > 1 || search->count < 3);
}

/* Does another piece end with the same class? */
static bool is_usual_last(const struct iteration_search *search)
{
	const struct sequence *sequence = search->sequence;
	uint32_t class = sequence->classes[search->pieces[search->count - 1].end - 1];

	for (size_t i = 0; i + 1 < search->count; i++)
		if (search->complete[i] && sequence->classes[search->pieces[i].end - 1] == class)
			return true;
	return false;
}

/* Where the recording ends within an update, the last piece is not whole, however little is missing. */
static bool is_broken_off(const struct iteration_search *search)
{
	const struct sequence *sequence = search->sequence;
	const struct sequence_range *last = &search->pieces[search->count - 1];
	uint32_t updates = SEQUENCE_SUM(sequence, update, last->begin, last->end), least = UINT32_MAX;

	if (last->end < sequence->count || last->begin == last->end)
		return false;
	for (size_t i = 0; i + 1 < search->count; i++) {
		uint32_t others =
			SEQUENCE_SUM(sequence, update, search->pieces[i].begin, search->pieces[i].end);

		if (search->complete[i] && others < least)
			least = others;
	}
	return least != UINT32_MAX && (updates < least || !is_usual_last(search));
}

static void find_complete(struct iteration_search *search)
{
	static const is_there needs[] = {has_forward, has_backward, has_update};
	const struct sequence *sequence = search->sequence;
	struct evidence needed[3], input = evidence_of(search, begins_with_input);
	uint32_t *firsts = list_firsts(search);

	for (int j = 0; j < 3; j++)
		needed[j] = evidence_of(search, needs[j]);
	for (size_t i = 0; i < search->count; i++) {
		const struct sequence_range *piece = &search->pieces[i];
		bool complete = piece->begin < piece->end;

		complete =
			complete && ((input.usual && begins_with_input(sequence, piece)) ||
					    is_usual_first(search, firsts[sequence->classes[piece->begin]]));
		for (int j = 0; j < 3; j++)
			complete = complete && (!needed[j].usual || needs[j](sequence, piece));
		search->complete[i] = complete;
	}
	if (search->count > 1 && is_broken_off(search))
		search->complete[search->count - 1] = false;
	free(firsts);
}

/* ---- As much work ---- */

struct amounts {
	double *bins; /* work of each bin of the pieces' histograms, in their order */
	const struct sequence_histogram *histograms;
};

/* Bins lie together, so a bin's place in all of them is that of its work. */
static double *amount_at(const struct amounts *amounts, const struct sequence_histogram *histogram)
{
	return amounts->bins + (histogram->bins - amounts->histograms[0].bins);
}

static void add_up_work(const struct iteration_search *search, const struct amounts *amounts)
{
	const struct sequence *sequence = search->sequence;
	const struct timeline *timeline = sequence->model->timeline;
	const struct timeline_process *process = &timeline->processes[sequence->worker->process];
	uint64_t *works = mem_alloc(process->operation_count, sizeof(*works)); /* + 1 */
	size_t *bins = mem_alloc(sequence->class_count, sizeof(*bins));

	for (size_t i = 0; i < search->count; i++) {
		const struct sequence_histogram *histogram = &amounts->histograms[i];

		for (size_t j = 0; j < histogram->bin_count; j++)
			bins[histogram->bins[j].class] = j;
		for (size_t j = search->pieces[i].begin; j < search->pieces[i].end; j++) {
			uint32_t number =
				timeline_call(timeline, sequence->worker->calls[sequence->positions[j]])
					.operation;
			uint64_t *work = &works[number - process->first_operation];

			if (!*work)
				*work = 1 + sequence_work(timeline, &timeline->operations[number]);
			amount_at(amounts, histogram)[bins[sequence->classes[j]]] += (double)(*work - 1);
		}
	}
	free(works);
	free(bins);
}

/* The sum over classes of how far two pieces' work differs, of the larger one's work. */
static bool is_same_work(const struct amounts *amounts, size_t a, size_t b)
{
	const struct sequence_histogram *one = &amounts->histograms[a], *other = &amounts->histograms[b];
	const double *works = amount_at(amounts, one), *others = amount_at(amounts, other);
	double sum = 0, other_sum = 0, apart = 0;

	for (size_t i = 0, j = 0; i < one->bin_count || j < other->bin_count;) {
		bool left = j >= other->bin_count ||
			    (i < one->bin_count && one->bins[i].class <= other->bins[j].class);
		bool right = i >= one->bin_count ||
			     (j < other->bin_count && other->bins[j].class <= one->bins[i].class);
		double x = left ? works[i] : 0, y = right ? others[j] : 0;

		sum += x;
		other_sum += y;
		apart += fabs(x - y);
		i += left;
		j += right;
	}
	return fmax(sum, other_sum) - apart >= JUDGE_SIMILAR * fmax(sum, other_sum);
}

/*
 * Mostly the same calls, with another amount of work in many of them: another batch. Where a few calls are
 * missing, as where an update is left out, the others do the same work.
 */
static bool has_other_size(const struct amounts *amounts, size_t a, size_t b)
{
	const struct sequence_histogram *one = &amounts->histograms[a], *other = &amounts->histograms[b];
	const double *works = amount_at(amounts, one), *others = amount_at(amounts, other);
	size_t common = 0, differ = 0;

	for (size_t i = 0, j = 0; i < one->bin_count && j < other->bin_count;) {
		uint32_t left = one->bins[i].class, right = other->bins[j].class;

		if (left == right) {
			common++;
			differ += fmin(works[i], others[j]) < JUDGE_SIMILAR * fmax(works[i], others[j]);
		}
		i += left <= right;
		j += right <= left;
	}
	return sequence_common_classes(one, other) >= 0.8 && 10 * differ >= 3 * common;
}

static bool is_alike(const struct amounts *amounts, size_t a, size_t b)
{
	return is_same_work(amounts, a, b) &&
	       sequence_similarity(&amounts->histograms[a], &amounts->histograms[b]) >= JUDGE_SIMILAR;
}

#define MOST_TRIED 60 /* pieces that the others are compared with */

/* The largest group of whole pieces with the same work; all whole ones where no group is half of them. */
static void find_alike(struct iteration_search *search, const struct sequence_histogram *histograms)
{
	struct amounts amounts = {.histograms = histograms};
	size_t bin_count = 0, complete = 0, best = 0, best_piece = 0, tried = 0;

	for (size_t i = 0; i < search->count; i++) {
		bin_count += histograms[i].bin_count;
		complete += search->complete[i];
	}
	amounts.bins = mem_alloc(bin_count, sizeof(*amounts.bins));
	add_up_work(search, &amounts);
	for (size_t i = 0; i < search->count && tried < MOST_TRIED && 2 * best <= complete; i++) {
		size_t same = 0;

		if (!search->complete[i])
			continue;
		tried++;
		for (size_t j = 0; j < search->count; j++)
			same += search->complete[j] && is_alike(&amounts, i, j);
		if (same > best) {
			best = same;
			best_piece = i;
		}
	}
	search->varies = 2 * best < complete;
	for (size_t i = 0; i < search->count; i++)
		search->alike[i] =
			search->complete[i] && (search->varies || is_alike(&amounts, best_piece, i));
	for (size_t i = 0; i < search->count; i++)
		search->other_size[i] = has_other_size(&amounts, i, best_piece);
	free(amounts.bins);
}

/* ---- Confidence ---- */

#define SAMPLES 40

/* The piece that resembles the others most. */
static size_t find_middle(const struct iteration_search *search, const struct sequence_histogram *histograms)
{
	size_t step = search->count / SAMPLES + 1, best = 0;
	double best_sum = -1;

	for (size_t i = 0; i < search->count; i += step) {
		double sum = 0;

		for (size_t j = 0; j < search->count; j += step)
			sum += sequence_similarity(&histograms[i], &histograms[j]);
		if (sum > best_sum) {
			best_sum = sum;
			best = i;
		}
	}
	return best;
}

/* The share of the members in whole pieces; stretches between them that only go forward do not count. */
static double find_cover(const struct iteration_search *search, const struct sequence_histogram *histograms)
{
	const struct sequence *sequence = search->sequence;
	const struct sequence_histogram *middle = &histograms[find_middle(search, histograms)];
	size_t inside = 0, all = search->pieces[search->count - 1].end - search->pieces[0].begin;

	for (size_t i = 0; i < search->count; i++) {
		const struct sequence_range *piece = &search->pieces[i];

		if (search->complete[i] && (search->source != ITERATION_BY_PERIOD ||
						   sequence_similarity(&histograms[i], middle) >= 0.9))
			inside += piece->end - piece->begin;
		if (i > 0 && SEQUENCE_SUM(sequence, backward, search->pieces[i - 1].end, piece->begin) == 0)
			all -= piece->begin - search->pieces[i - 1].end;
	}
	return all ? (double)inside / (double)all : 0;
}

/* Was the program's set-up recorded? It takes memory before any backward work. */
static bool is_from_the_start(const struct sequence *sequence)
{
	const struct timeline *timeline = sequence->model->timeline;
	const struct timeline_process *process = &timeline->processes[sequence->worker->process];

	for (size_t i = 0; i < process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, process->first_call + i);

		if (timeline_function(timeline, call)->kind == PM_KIND_ALLOC)
			return true;
		if (sequence->count &&
			i + process->first_call >= sequence->worker->calls[sequence->positions[0]])
			return false;
	}
	return false;
}

/*
 * Does a piece fetch a result between forward work and its first backward work? Then an evaluation may be
 * left in front of it, which is unknown where lengths depend on the data.
 */
static bool may_hide_evaluation(const struct iteration_search *search)
{
	const struct sequence *sequence = search->sequence;

	for (size_t i = 0; i < search->count; i++) {
		bool forward = false;

		for (size_t j = search->pieces[i].begin;
			j < search->pieces[i].end && !(sequence->marks[j] & SEQUENCE_BACKWARD); j++) {
			if (forward && SEQUENCE_SUM(sequence, results, j, j + 1))
				return true;
			forward |= sequence->marks[j] & SEQUENCE_FORWARD;
		}
	}
	return false;
}

/* Of pieces that follow each other, on average: several optimizers have classes of their own. */
static double common_classes(const struct iteration_search *search)
{
	struct sequence_histogram *histograms =
		sequence_histograms(search->sequence, search->pieces, search->count);
	double sum = 0;

	for (size_t i = 1; i < search->count; i++)
		sum += sequence_common_classes(&histograms[i - 1], &histograms[i]);
	sequence_free_histograms(histograms);
	return search->count > 1 ? sum / (double)(search->count - 1) : 1;
}

/* How far the way they were found is to be trusted. */
static double find_certainty(const struct iteration_search *search)
{
	double n = (double)search->count;
	bool backward = evidence_of(search, has_backward).usual,
	     forward = evidence_of(search, has_forward).usual;
	double certainty;

	bool outer =
		evidence_of(search, begins_with_input).usual || evidence_of(search, has_collective).usual;

	/* Repetition tells of a loop, not of which one: an epoch's, a step's of time. Input makes it
	 * likelier, and what all ranks do together. */
	if (search->source == ITERATION_BY_PERIOD)
		return (backward       ? (search->sequence->given ? 0.95 : 0.8)
			       : outer ? 0.65
				       : 0.5) *
		       (search->around ? 0.7 : 1) * (1 - 1 / (n + 1));
	certainty = (backward || forward ? 1 : 0.8) * (1 - pow(0.5, n));
	if (search->varies && may_hide_evaluation(search))
		certainty *= 0.85;
	/* Fewer cannot show the period of two optimizers: the first piece is not compared. */
	if (search->optimizers == 1 && search->count < 2 * REPEATS_LEAST + 1)
		certainty *= 0.5 + 0.5 * common_classes(search);
	/* A recording that begins in the middle may begin between two of the optimizers. */
	if (search->optimizers > 1 && !is_from_the_start(search->sequence))
		certainty /= (double)search->optimizers;
	return certainty;
}

void iteration_search_judge(struct iteration_search *search)
{
	struct sequence_histogram *histograms;

	search->complete = mem_alloc(search->count, sizeof(*search->complete));
	search->alike = mem_alloc(search->count, sizeof(*search->alike));
	search->other_size = mem_alloc(search->count, sizeof(*search->other_size));
	if (search->count == 0)
		return;
	histograms = sequence_histograms(search->sequence, search->pieces, search->count);
	find_complete(search);
	find_alike(search, histograms);
	search->confidence = find_cover(search, histograms) * find_certainty(search);
	sequence_free_histograms(histograms);
}

static size_t count_groups(const struct iteration_search *search, bool input)
{
	const struct sequence *sequence = search->sequence;
	size_t count = 0, last = 0;

	for (size_t i = search->pieces[0].begin; i < search->pieces[search->count - 1].end; i++) {
		if (input ? !sequence_is_input(sequence, i) : !SEQUENCE_SUM(sequence, results, i, i + 1))
			continue;
		count += count == 0 || i - last > JUDGE_CLOSE;
		last = i;
	}
	return count;
}

struct iteration_candidates iteration_search_candidates(const struct iteration_search *search)
{
	struct iteration_candidates candidates = {.updates = search->updates, .passes = search->passes};

	if (search->count > 0) {
		candidates.inputs = count_groups(search, true);
		candidates.results = count_groups(search, false);
	}
	return candidates;
}

const char *iteration_candidates_text(const struct iteration_candidates *candidates, struct arena *arena)
{
	const struct {
		size_t count;
		const char *what;
	} all[] = {{candidates->updates, "by updates"}, {candidates->inputs, "by copies from the host"},
		{candidates->results, "by copies to the host"}, {candidates->passes, "by repetition"}};
	const char *text = "";

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].count)
			text = arena_format(
				arena, "%s%s%zu %s", text, *text ? ", " : "", all[i].count, all[i].what);
	return *text ? text : "nothing repeats";
}

void iteration_search(struct iteration_search *search, const struct sequence *sequence)
{
	*search = (struct iteration_search){.sequence = sequence};
	iteration_search_bursts(search);
	if (search->count == 0) {
		iteration_search_repeats(search);
		iteration_search_join(search);
	}
	if (search->count)
		iteration_search_starts(search);
	iteration_search_judge(search);
}

void iteration_search_free(struct iteration_search *search)
{
	free(search->pieces);
	free(search->complete);
	free(search->alike);
	free(search->other_size);
}
