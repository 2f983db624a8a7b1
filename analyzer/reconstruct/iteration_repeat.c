/*
 * Pieces where no name tells of updates: by what repeats. Classes that come equally often, and take turns,
 * are of one loop. Of all loops the innermost one whose passes are alike is taken, or the one around it where
 * what that adds follows the inner one's work without a copy: an update behind micro-batches, not an
 * evaluation. Where no loop has a fair share of the work, as in a short run of a compiler that first times
 * many variants of each kernel, a loop is taken that is nearly all of what is left from its first pass on: it
 * may be launches of one graph.
 */
#include "iteration_search.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_MEMBERS 20 /* of a sequence in which something may be said to repeat */
#define LEAST_PASSES 3
#define MOST_LOOPS 32 /* looked at: those with the most work */
#define MOST_BASES 6  /* classes of a loop that the others are compared with */
#define MOST_PASSES 3000
#define LEAST_COVER 0.25
#define LEAST_END_COVER 0.8 /* of the end of the sequence */
#define LEAST_END_PASSES 8

struct loop {
	uint32_t passes;
	uint32_t *classes; /* that take turns, in order of their first place */
	size_t class_count;
	double cover; /* share of the sequence, or of its end, in passes that are alike */
};

struct repeats {
	const struct sequence *sequence;
	bool runs;        /* members of one class that follow each other count once: layers, micro-batches */
	bool end;         /* what is before a loop's first pass is set-up */
	uint32_t *places; /* of each class, together */
	size_t *first;    /* class_count + 1: where a class's places begin */
	struct loop *loops;
	size_t loop_count, loop_room;
};

static uint32_t place_of(const struct repeats *repeats, uint32_t class, size_t number)
{
	return repeats->places[repeats->first[class] + number];
}

/* Is the member to be counted: of several of a class that follow each other only the first, where runs are?
 */
static bool is_place(const struct repeats *repeats, size_t member)
{
	const uint32_t *classes = repeats->sequence->classes;

	return !repeats->runs || member == 0 || classes[member] != classes[member - 1];
}

static void list_places(struct repeats *repeats)
{
	const struct sequence *sequence = repeats->sequence;
	size_t *next = mem_alloc(sequence->class_count, sizeof(*next)), sum = 0;

	repeats->places = mem_alloc(sequence->count, sizeof(*repeats->places));
	repeats->first = mem_alloc(sequence->class_count + 1u, sizeof(*repeats->first));
	for (size_t i = 0; i < sequence->count; i++)
		next[sequence->classes[i]] += is_place(repeats, i);
	for (uint32_t i = 0; i < sequence->class_count; i++) {
		size_t count = next[i];

		repeats->first[i] = next[i] = sum;
		sum += count;
	}
	repeats->first[sequence->class_count] = sum;
	for (size_t i = 0; i < sequence->count; i++)
		if (is_place(repeats, i))
			repeats->places[next[sequence->classes[i]]++] = (uint32_t)i;
	free(next);
}

struct rank {
	uint32_t total, first, class;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* In each pass one of `a`, then one of `b`. */
static bool precedes(const struct repeats *repeats, uint32_t a, uint32_t b, uint32_t passes)
{
	for (uint32_t i = 0; i < passes; i++)
		if (place_of(repeats, a, i) > place_of(repeats, b, i) ||
			(i + 1 < passes && place_of(repeats, b, i) > place_of(repeats, a, i + 1)))
			return false;
	return true;
}

/* The largest set of the classes that take turns with one of them. */
static void take_turns(
	const struct repeats *repeats, const struct rank *ranks, size_t count, struct loop *loop)
{
	uint32_t *turns = mem_alloc(count, sizeof(*turns));

	loop->classes = mem_alloc(count, sizeof(*loop->classes));
	for (size_t base = 0; base < count && base < MOST_BASES; base++) {
		size_t turn_count = 0;

		/* In order of their first place, as the ranks are. */
		for (size_t i = 0; i < count; i++) {
			uint32_t a = ranks[base].class, b = ranks[i].class;

			if (i == base || precedes(repeats, a, b, loop->passes) ||
				precedes(repeats, b, a, loop->passes))
				turns[turn_count++] = b;
		}
		if (turn_count > loop->class_count) {
			memcpy(loop->classes, turns, turn_count * sizeof(*turns));
			loop->class_count = turn_count;
		}
	}
	free(turns);
}

/* Passes of a loop: from each place of its first class to the next. The caller frees them. */
static struct sequence_range *list_passes(
	const struct repeats *repeats, const struct loop *loop, size_t *count)
{
	struct sequence_range *passes = mem_alloc(loop->passes, sizeof(*passes));

	*count = 0;
	for (uint32_t i = 0; i + 1 < loop->passes && *count < MOST_PASSES; i++)
		passes[(*count)++] = (struct sequence_range){
			place_of(repeats, loop->classes[0], i), place_of(repeats, loop->classes[0], i + 1)};
	return passes;
}

#define SAMPLES 30

/* How many members lie in passes like the one that resembles the others most. */
static double alike_members(
	const struct sequence *sequence, const struct sequence_range *passes, size_t count)
{
	struct sequence_histogram *histograms = sequence_histograms(sequence, passes, count);
	size_t step = count / SAMPLES + 1, best = 0;
	double best_sum = -1, members = 0;

	for (size_t i = 0; i < count; i += step) {
		double sum = 0;

		for (size_t j = 0; j < count; j += step)
			sum += sequence_similarity(&histograms[i], &histograms[j]) >= 0.9;
		if (sum > best_sum) {
			best_sum = sum;
			best = i;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (sequence_similarity(&histograms[i], &histograms[best]) >= 0.9)
			members += (double)histograms[i].total;
	sequence_free_histograms(histograms);
	return members;
}

static bool have_backward(const struct sequence *sequence, const struct sequence_range *passes, size_t count)
{
	size_t with = 0;

	for (size_t i = 0; i < count; i++)
		with += SEQUENCE_SUM(sequence, backward, passes[i].begin, passes[i].end) > 0;
	return 5 * with >= 4 * count;
}

/* What a loop's share is of. */
static size_t whole_of(const struct repeats *repeats, const struct loop *loop)
{
	return repeats->sequence->count - (repeats->end ? place_of(repeats, loop->classes[0], 0) : 0);
}

static void add_loop(struct repeats *repeats, const struct rank *ranks, size_t count)
{
	const struct sequence *sequence = repeats->sequence;
	struct loop loop = {.passes = ranks[0].total};
	struct sequence_range *passes;
	size_t pass_count;

	take_turns(repeats, ranks, count, &loop);
	passes = list_passes(repeats, &loop, &pass_count);
	if ((loop.class_count >= 2 || repeats->end) && pass_count >= 2 &&
		(sequence->sums[sequence->count].backward < 5 ||
			have_backward(sequence, passes, pass_count))) {
		double scale = (double)(loop.passes - 1) / (double)pass_count;
		double whole = (double)loop.passes / (double)(loop.passes - 1);

		loop.cover = alike_members(sequence, passes, pass_count) * scale * whole /
			     (double)whole_of(repeats, &loop);
		loop.cover = loop.cover < 1 ? loop.cover : 1;
		*MEM_PUSH(repeats->loops, repeats->loop_count, repeats->loop_room) = loop;
	} else {
		free(loop.classes);
	}
	free(passes);
}

struct group {
	size_t first, count; /* of the ranks */
	uint64_t members;
};

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->members != b->members)
		return a->members > b->members ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Are so many classes, the first of which is given, enough for a loop? */
static bool may_be_loop(const struct repeats *repeats, const struct rank *first, size_t count)
{
	const struct sequence *sequence = repeats->sequence;
	const struct timeline *timeline = sequence->model->timeline;
	struct timeline_call call;

	if (!repeats->end || count >= 2)
		return first->total >= (repeats->end ? LEAST_END_PASSES : LEAST_PASSES) && count >= 2;
	call = timeline_call(timeline, sequence->worker->calls[sequence->positions[first->first]]);
	return first->total >= LEAST_END_PASSES && timeline_function(timeline, &call)->kind == PM_KIND_GRAPH;
}

static void list_loops(struct repeats *repeats)
{
	const struct sequence *sequence = repeats->sequence;
	struct rank *ranks = mem_alloc(sequence->class_count, sizeof(*ranks));
	struct group *groups = NULL;
	size_t group_count = 0, group_room = 0;

	for (uint32_t i = 0; i < sequence->class_count; i++)
		ranks[i] = (struct rank){
			(uint32_t)(repeats->first[i + 1] - repeats->first[i]), place_of(repeats, i, 0), i};
	qsort(ranks, sequence->class_count, sizeof(*ranks), compare_ranks);
	for (size_t i = 0, end; i < sequence->class_count; i = end) {
		for (end = i; end < sequence->class_count && ranks[end].total == ranks[i].total;)
			end++;
		if (may_be_loop(repeats, &ranks[i], end - i))
			*MEM_PUSH(groups, group_count, group_room) =
				(struct group){i, end - i, (uint64_t)ranks[i].total * (end - i)};
	}
	if (group_count)
		qsort(groups, group_count, sizeof(*groups), compare_groups);
	for (size_t i = 0; i < group_count && i < MOST_LOOPS; i++)
		add_loop(repeats, ranks + groups[i].first, groups[i].count);
	free(groups);
	free(ranks);
}

static bool is_class_of(const struct loop *loop, uint32_t class)
{
	for (size_t i = 0; i < loop->class_count; i++)
		if (loop->classes[i] == class)
			return true;
	return false;
}

/* Does each pass of `outer` have as many of `inner`? */
static bool divides(const struct repeats *repeats, const struct loop *outer, const struct loop *inner)
{
	uint32_t each = inner->passes / outer->passes, next = 0;
	uint32_t last = outer->classes[outer->class_count - 1];

	if (2 * inner->passes < 3 * outer->passes || inner->passes % outer->passes != 0)
		return false;
	for (uint32_t i = 0; i < outer->passes; i++) {
		uint32_t count = 0;

		while (next < inner->passes &&
			place_of(repeats, inner->classes[0], next) < place_of(repeats, last, i)) {
			next++;
			count++;
		}
		if (count != each)
			return false;
	}
	return true;
}

/* Does what the outer loop adds follow other work directly, without a copy between? */
static bool follows_directly(const struct repeats *repeats, const struct loop *outer)
{
	const struct sequence *sequence = repeats->sequence;
	uint32_t direct = 0;

	for (uint32_t i = 0; i < outer->passes; i++) {
		bool any = false;

		for (size_t j = 0; j < outer->class_count && !any; j++) {
			uint32_t place = place_of(repeats, outer->classes[j], i);

			any = place > 0 && !is_class_of(outer, sequence->classes[place - 1]) &&
			      SEQUENCE_SUM(sequence, inputs, place, place + 1) == 0 &&
			      SEQUENCE_SUM(sequence, results, place, place + 1) == 0;
		}
		direct += any;
	}
	return 5 * direct >= 4 * outer->passes;
}

/* Of the loops that cover nearly as much as the best the innermost, or one around it. NULL: none. */
static const struct loop *choose_loop(const struct repeats *repeats, bool *around)
{
	const struct loop *chosen = NULL;
	double best = 0;

	for (size_t i = 0; i < repeats->loop_count; i++)
		best = repeats->loops[i].cover > best ? repeats->loops[i].cover : best;
	if (best < (repeats->end ? LEAST_END_COVER : LEAST_COVER))
		return NULL;
	for (size_t i = 0; i < repeats->loop_count; i++)
		if (repeats->loops[i].cover >= 0.8 * best &&
			(!chosen || repeats->loops[i].passes > chosen->passes))
			chosen = &repeats->loops[i];
	for (size_t i = 0; i < repeats->loop_count; i++) {
		const struct loop *loop = &repeats->loops[i];

		if (loop->cover >= 0.8 * best && divides(repeats, loop, chosen) &&
			follows_directly(repeats, loop)) {
			chosen = loop;
			*around = true;
		}
	}
	return chosen;
}

/* ---- Where in the cycle an iteration begins ---- */

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

/* Cuts the sequence once a pass: in front of its input, else behind its result, else at the loop's first
 * class. */
static void cut_loop(struct iteration_search *search, const struct repeats *repeats, const struct loop *loop)
{
	const struct sequence *sequence = search->sequence;
	const uint32_t *places = repeats->places + repeats->first[loop->classes[0]];
	size_t *cuts = mem_alloc(loop->passes + 1u, sizeof(*cuts)), *lengths, length, count = 0;
	bool copies = false;

	lengths = mem_alloc(loop->passes, sizeof(*lengths));
	for (uint32_t i = 0; i + 1 < loop->passes; i++)
		lengths[i] = places[i + 1] - places[i];
	length = iteration_search_median(lengths, loop->passes - 1);
	free(lengths);
	for (int input = 1; input >= 0 && !copies; input--) {
		size_t from = places[0] > length ? places[0] - length : 0;
		uint32_t class = 0;

		count = list_cuts(sequence, places, loop->passes, input, from, cuts + 1);
		if (5 * count < 4 * (loop->passes - 1u) || count == 0 ||
			!common_class(sequence, cuts + 1, count, &class)) {
			count = 0;
			continue;
		}
		cuts[0] = first_cut(sequence, places[0], cuts[1], length, class, input);
		count++;
		copies = true;
	}
	for (uint32_t i = 0; !copies && i < loop->passes; i++)
		cuts[count++] = places[i];
	set_pieces(search, cuts, count);
	free(cuts);
}

static bool search_loops(struct iteration_search *search, bool runs, bool end)
{
	struct repeats repeats = {.sequence = search->sequence, .runs = runs, .end = end};
	const struct loop *loop;

	list_places(&repeats);
	list_loops(&repeats);
	loop = choose_loop(&repeats, &search->around);
	search->passes = loop ? loop->passes : 0;
	if (loop)
		cut_loop(search, &repeats, loop);
	for (size_t i = 0; i < repeats.loop_count; i++)
		free(repeats.loops[i].classes);
	free(repeats.loops);
	free(repeats.places);
	free(repeats.first);
	return search->count > 0;
}

void iteration_search_repeats(struct iteration_search *search)
{
	search->source = ITERATION_BY_PERIOD;
	search->optimizers = 1;
	if (search->sequence->count < LEAST_MEMBERS || search_loops(search, false, false) ||
		search_loops(search, false, true))
		return;
	search_loops(search, true, false);
}
