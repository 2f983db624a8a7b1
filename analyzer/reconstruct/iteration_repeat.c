/*
 * Pieces where no name tells of updates: by what repeats. Classes that come equally often, and take turns,
 * are of one loop. Of all loops the innermost one whose passes are alike is taken, or the one around it where
 * what that adds follows the inner one's work without a copy: an update after micro-batches, not an
 * evaluation.
 */
#include "iteration_search.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LOOPS 32 /* looked at: those with the most work */
#define MOST_BASES 6  /* classes of a loop that the others are compared with */
#define MOST_PASSES 3000

struct loop {
	uint32_t passes;
	uint32_t *classes; /* that take turns, in order of their first place */
	size_t class_count;
	bool layered; /* many come as often, but take no turns with these: layers, forward and backward */
	double cover; /* share of the sequence in passes that are alike */
};

struct repeats {
	const struct sequence *sequence;
	bool runs;        /* members of one class that follow each other count once: layers, micro-batches */
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

static void add_loop(struct repeats *repeats, const struct rank *ranks, size_t count)
{
	const struct sequence *sequence = repeats->sequence;
	struct loop loop = {.passes = ranks[0].total};
	struct sequence_range *passes;
	size_t pass_count;

	take_turns(repeats, ranks, count, &loop);
	loop.layered = 3 * loop.class_count <= 2 * count;
	passes = list_passes(repeats, &loop, &pass_count);
	if ((loop.class_count >= 2 || count == 1) && pass_count >= 2 &&
		(sequence->sums[sequence->count].backward < 5 ||
			have_backward(sequence, passes, pass_count))) {
		double scale = (double)(loop.passes - 1) / (double)pass_count;
		double whole = (double)loop.passes / (double)(loop.passes - 1);

		loop.cover =
			alike_members(sequence, passes, pass_count) * scale * whole / (double)sequence->count;
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

/* Is there input between a place of the class and the next, nearly each time? */
static bool takes_input(const struct repeats *repeats, uint32_t class, uint32_t total)
{
	uint32_t with = 0;

	for (uint32_t i = 1; i < total; i++)
		with += SEQUENCE_SUM(repeats->sequence, inputs, place_of(repeats, class, i - 1),
				place_of(repeats, class, i)) > 0;
	return 5 * with >= 4 * (total - 1);
}

/* Are so many classes, the first of which is given, enough for a loop? One alone is if each time there is
 * input. */
static bool may_be_loop(const struct repeats *repeats, const struct rank *first, size_t count)
{
	return first->total >= REPEATS_LEAST &&
	       (count > 1 || takes_input(repeats, first->class, first->total));
}

static void list_loops(struct repeats *repeats)
{
	const struct sequence *sequence = repeats->sequence;
	struct rank *ranks = mem_alloc(sequence->class_count, sizeof(*ranks));
	struct group *groups = NULL;
	size_t group_count = 0, group_room = 0;

	for (uint32_t i = 0; i < sequence->class_count; i++) {
		const uint32_t total = (uint32_t)(repeats->first[i + 1] - repeats->first[i]);

		ranks[i] = (struct rank){total, total ? place_of(repeats, i, 0) : 0, i};
	}
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

/* Of the loops that cover so much the innermost of several classes; or, around layers, one that is none of
 * layers, and may have one class. NULL: none. */
static const struct loop *find_innermost(const struct repeats *repeats, double cover)
{
	const struct loop *inner = NULL, *outer = NULL;

	for (size_t i = 0; i < repeats->loop_count; i++) {
		const struct loop *loop = &repeats->loops[i];

		if (loop->cover >= cover && loop->class_count > 1 && (!inner || loop->passes > inner->passes))
			inner = loop;
	}
	for (size_t i = 0; inner && inner->layered && i < repeats->loop_count; i++) {
		const struct loop *loop = &repeats->loops[i];

		if (loop->cover >= cover && !loop->layered && divides(repeats, loop, inner) &&
			(!outer || loop->passes > outer->passes))
			outer = loop;
	}
	return outer ? outer : inner;
}

/* Of the loops that cover nearly as much as the best the innermost, or one around it. NULL: none. */
static const struct loop *choose_loop(const struct repeats *repeats, bool *around)
{
	const struct loop *chosen;
	double best = 0;

	for (size_t i = 0; i < repeats->loop_count; i++)
		best = repeats->loops[i].cover > best ? repeats->loops[i].cover : best;
	if (best < REPEAT_LEAST_COVER)
		return NULL;
	chosen = find_innermost(repeats, 0.8 * best);
	for (size_t i = 0; i < repeats->loop_count; i++) {
		const struct loop *loop = &repeats->loops[i];

		if (chosen && loop->class_count > 1 && loop->cover >= 0.8 * best &&
			divides(repeats, loop, chosen) && follows_directly(repeats, loop)) {
			chosen = loop;
			*around = true;
		}
	}
	return chosen;
}

static bool search_loops(struct iteration_search *search, bool runs)
{
	struct repeats repeats = {.sequence = search->sequence, .runs = runs};
	const struct loop *loop;

	list_places(&repeats);
	list_loops(&repeats);
	loop = choose_loop(&repeats, &search->around);
	search->passes = loop ? loop->passes : 0;
	if (loop)
		iteration_search_cut(search, repeats.places + repeats.first[loop->classes[0]], loop->passes);
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
	if (!search_loops(search, false))
		search_loops(search, true);
}
