/*
 * The passes of an iteration, and in each the turning point from forward to backward: where the order in
 * which parameters are touched is reversed.
 */
#include "layer_flow.h"
#include "timeline/constants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A parameter's last touch before a step and its first from there on. */
struct turn {
	uint32_t before, after;
	double rank;
};

static int by_before(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	return a->before < b->before ? -1 : a->before > b->before;
}

static int by_after(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	return a->after < b->after ? -1 : a->after > b->after;
}

/* Spearman's correlation of the first with the reversed second; those that are equal share the mean of their
 * ranks. 0 where all are equal. */
static double opposite(struct turn *turns, size_t count)
{
	double sum = 0, squares[2] = {0, 0}, mean = ((double)count - 1) / 2;

	qsort(turns, count, sizeof(*turns), by_before);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && turns[end].before == turns[i].before;)
			end++;
		for (size_t j = i; j < end; j++)
			turns[j].rank = (double)(i + end - 1) / 2 - mean;
	}
	qsort(turns, count, sizeof(*turns), by_after);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && turns[end].after == turns[i].after;)
			end++;
		for (size_t j = i; j < end; j++) {
			const double rank = mean - (double)(i + end - 1) / 2;

			sum += turns[j].rank * rank;
			squares[0] += turns[j].rank * turns[j].rank;
			squares[1] += rank * rank;
		}
	}
	return squares[0] > 0 && squares[1] > 0 ? sum / sqrt(squares[0] * squares[1]) : 0;
}

/* Steps before the update that touch a parameter, and only few; how many. */
static uint32_t list_few(const struct flow_work *work, uint32_t *few)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), count = 0;

	for (uint32_t i = work->begin; i < work->update_begin; i++) {
		uint32_t parameters = flow_count_parameters(work, i, marks, i + 1);

		if (parameters > 0 && (parameters <= LAYER_MOST_PARAMETERS || work->steps[i].computes))
			few[count++] = i;
	}
	free(marks);
	return count;
}

/* The parameters that are touched before few[x] and from there on; before: by place, step + 1. */
static size_t list_turns(const struct flow_work *work, const uint32_t *few, uint32_t few_count, uint32_t x,
	const uint32_t *before, uint32_t *marks, struct turn *turns)
{
	size_t count = 0;

	for (uint32_t i = x; i < few_count; i++) {
		const struct flow_step *step = &work->steps[few[i]];

		for (uint32_t t = step->first; t < step->first + step->count; t++) {
			const uint32_t p = work->touches[t].place;

			if (!work->places[p].parameter || !before[p] || marks[p] == x + 1)
				continue;
			marks[p] = x + 1;
			turns[count++] = (struct turn){before[p] - 1, few[i], 0};
		}
	}
	return count;
}

/* The first step of [from, to) that calls the same function, or launches the same, with the same first
 * parameter; `to`: there is none. */
static uint32_t find_again(const struct flow_work *work, uint32_t step, uint32_t from, uint32_t to)
{
	const struct timeline_operation *operations = work->assign->timeline->operations;
	const struct graph_step *steps = work->assign->graph.steps;
	uint32_t parameter = FLOW_NOWHERE;

	for (uint32_t t = 0; t < work->steps[step].count && parameter == FLOW_NOWHERE; t++)
		if (work->places[flow_touch_of(work, step, t)->place].parameter)
			parameter = flow_touch_of(work, step, t)->place;
	for (uint32_t i = from; i < to; i++) {
		if (work->steps[step].launch ? steps[i].operation != steps[step].operation
					     : operations[steps[i].operation].function !=
						       operations[steps[step].operation].function)
			continue;
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			if (flow_touch_of(work, i, t)->place == parameter)
				return i;
	}
	return to;
}

/*
 * Steps that touch the last layer alone may be of either half: of several places for the turn that are as
 * good, from `first` to `last` of `few`, the last one before which the backward pass is seen to begin, else
 * the last.
 */
static uint32_t choose_place(const struct flow_work *work, const uint32_t *few, uint32_t first, uint32_t last)
{
	enum flow_start best = FLOW_START_UNSEEN;
	uint32_t place = last;

	for (uint32_t x = last + 1; x-- > first;) {
		const enum flow_start start = flow_starts_back(work, few[x - 1], few[x]);

		if (start > best) {
			best = start;
			place = x;
		}
	}
	return place;
}

/* A place in the list of steps, or several in a row, where the order is opposite. */
struct best_place {
	uint32_t first, last;
	size_t count; /* parameters */
	double score;
};

static struct best_place find_place(
	const struct flow_work *work, const uint32_t *few, uint32_t few_count, size_t *most)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks));
	uint32_t *before = mem_alloc(work->place_count, sizeof(*before));
	struct turn *turns = mem_alloc(work->parameter_count, sizeof(*turns));
	struct best_place best = {0};

	for (uint32_t x = 0; x < few_count; x++) {
		const struct flow_step *step = &work->steps[few[x]];
		size_t count = list_turns(work, few, few_count, x, before, marks, turns);
		double score = count >= 2 ? opposite(turns, count) * (double)count : 0;

		*most = count > *most ? count : *most;
		if (score > 0 && score >= best.score) { /* what only one pass touches changes nothing */
			if (score > best.score || best.last + 1 != x)
				best.first = x;
			best.last = x;
			best.score = score;
			best.count = count;
		}
		for (uint32_t t = step->first; t < step->first + step->count; t++)
			before[work->touches[t].place] = few[x] + 1;
	}
	free(marks);
	free(before);
	free(turns);
	return best;
}

/* A pass by its steps that touch few parameters; it ends at `end`. Where it may turn goes to `turn`. */
struct turning {
	const struct flow_work *work;
	const uint32_t *few;
	uint32_t few_count, end;
	size_t most; /* parameters that are touched before a place for the turn and after it */
	struct best_place best;
	struct flow_turns *turn;
};

RULE_SEARCH(turn, bool, false, struct turning, context->work->assign->rule)

static bool turn_between(const struct turning *turning, uint32_t low, uint32_t high)
{
	turning->turn->low = low;
	turning->turn->high = high;
	turning->turn->rule = turning->work->assign->rule;
	return true;
}

static bool turn_by_order(struct turning *turning)
{
	const struct flow_work *work = turning->work;
	const struct best_place *best = &turning->best;
	const uint32_t *few = turning->few;
	uint32_t x;

	if (work->parameter_count < PARAMETERS_LEAST || best->count < 2 ||
		best->score < TURN_LEAST_ORDER * (double)best->count)
		return false;
	x = choose_place(work, few, best->first, best->last);
	/* two alone may be in that order by chance: then the pass must begin with a seed */
	return (best->count > 2 || flow_find_seed(work, few[x - 1], few[x]) != FLOW_NOWHERE) &&
	       turn_between(turning, few[x - 1], few[x]);
}

/*
 * Where at most one parameter is touched again, since a network has but one or two layers (of the first one's
 * input no gradient is wanted): between two steps that touch parameters, or the last one and the pass's end,
 * there is a fill of one address, the seed that autograd makes. There must be one such place alone.
 */
static bool turn_by_lone_seed(struct turning *turning)
{
	uint32_t found = 0;

	for (uint32_t x = 0; x < turning->few_count && turning->most <= 1; x++) {
		const uint32_t end = x + 1 < turning->few_count ? turning->few[x + 1] : turning->end;
		const uint32_t seed = flow_find_seed(turning->work, turning->few[x], end);

		if (seed != FLOW_NOWHERE && flow_is_fill(turning->work, seed) &&
			turn_between(turning, turning->few[x], end))
			found++;
	}
	return found == 1;
}

/* Autograd goes back in a thread of its own: where small networks touch too few parameters twice, the turn is
 * where that thread begins, if all after is its. */
static bool turn_by_thread(struct turning *turning)
{
	const struct flow_work *work = turning->work;
	const uint32_t *few = turning->few;
	uint32_t x = 1;

	while (x < turning->few_count && flow_thread(work, few[x]) == flow_thread(work, few[0]))
		x++;
	for (uint32_t i = x; i < turning->few_count; i++)
		if (flow_thread(work, few[i]) != flow_thread(work, few[x]))
			return false;
	return x < turning->few_count && turn_between(turning, few[x - 1], few[x]) &&
	       flow_find_handed_over(work, few[x - 1], few[x]) != FLOW_NOWHERE;
}

static const struct turn_rule turn_rules[] = {
	{RULE_TURN_ORDER, turn_by_order},
	{RULE_TURN_THREAD, turn_by_thread},
	{RULE_TURN_LONE, turn_by_lone_seed},
};

/* The halves of a pass. False: it has no two. */
static bool find_halves(const struct flow_work *work, const uint32_t *few, uint32_t few_count, uint32_t end,
	struct flow_turns *turn)
{
	struct turning turning = {.work = work, .few = few, .few_count = few_count, .end = end, .turn = turn};

	turning.best = find_place(work, few, few_count, &turning.most);
	return turn_first(RULE_TABLE(turn_rules), &turning);
}

/*
 * Does the iteration turn once? Else forward steps come again before the turn, with a turn between them, or
 * in their own order after it. Several inputs may go through the model before the turn, and work that is
 * done again for the backward pass comes in the opposite order.
 */
static bool is_one_pass(const struct flow_work *work, const uint32_t *few, uint32_t few_count, uint32_t turn)
{
	uint32_t count = 0, earliest = 0, first, last;
	struct flow_turns inner;

	while (count < few_count && few[count] < turn)
		count++;
	if (count == 0)
		return false;
	/* the last forward step of the first pass: is the first one of them done again after it? */
	while (earliest + 1 < count &&
		find_again(work, few[earliest], few[count - 1], few[count - 1] + 1) != few[count - 1])
		earliest++;
	if (find_again(work, few[0], few[earliest] + 1, turn) < turn &&
		find_halves(work, few, count, turn, &inner))
		return false;
	first = find_again(work, few[0], turn, work->update_begin);
	last = find_again(work, few[count - 1], turn, work->update_begin);
	return first == work->update_begin || last == work->update_begin || first > last;
}

/* Is a step the one that a pass begins with? Of several that follow one another, as where products are made
 * image by image, only the first is. */
static bool begins_pass(const struct flow_work *work, const uint32_t *few, uint32_t x)
{
	return x == 0 || (find_again(work, few[0], few[x], few[x] + 1) == few[x] &&
				 find_again(work, few[0], few[x - 1], few[x - 1] + 1) != few[x - 1]);
}

/* The passes of a part: where each begins and ends in the list of steps, with room for as many as these. */
struct passing {
	struct flow_work *work;
	const uint32_t *few;
	uint32_t few_count;
	struct flow_turns *turns;
	uint32_t count;
	bool together; /* each is begun before others have gone back: where they turn is known then */
};

RULE_SEARCH(passes, bool, false, struct passing, context->work->assign->rule)

/* Do passes have as many steps? */
static bool are_alike(const struct passing *passing)
{
	const uint32_t length = passing->turns[0].end - passing->turns[0].first;

	for (uint32_t k = 1; k < passing->count; k++) {
		const uint32_t other = passing->turns[k].end - passing->turns[k].first;

		if (length < 2 || fabs((double)other - length) > PASS_MOST_APART * fmax(other, length))
			return false;
	}
	return true;
}

/*
 * Batches that make one step together go through the model one after the other: the first step that touches a
 * parameter comes again for each. Where they are not alike that step comes again for something else.
 */
static bool passes_of_batches(struct passing *passing)
{
	passing->count = 0;
	for (uint32_t x = 0; x < passing->few_count; x++)
		if (begins_pass(passing->work, passing->few, x))
			passing->turns[passing->count++] =
				(struct flow_turns){.first = x, .end = passing->few_count};
	for (uint32_t k = 0; k + 1 < passing->count; k++)
		passing->turns[k].end = passing->turns[k + 1].first;
	return passing->count > 1 && are_alike(passing);
}

static bool passes_together(struct passing *passing)
{
	passing->count = flow_stretches(passing->work, passing->few, passing->few_count, passing->turns);
	for (uint32_t k = 0; k < passing->count; k++)
		passing->turns[k].rule = passing->work->assign->rule;
	passing->together = passing->count > 0;
	return passing->together;
}

static const struct passes_rule passes_rules[] = {
	{RULE_TURN_BATCHES, passes_of_batches},
	{RULE_TURN_STRETCHES, passes_together},
};

/* Where passes that follow one another turn, each by itself. False: one does not. */
static bool find_turns(const struct flow_work *work, const uint32_t *few, uint32_t few_count,
	struct flow_turns *turns, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		const uint32_t end = turns[k].end;

		if (!find_halves(work, few + turns[k].first, end - turns[k].first,
			    end < few_count ? few[end] : work->update_begin, &turns[k]))
			return false;
	}
	return true;
}

/* The first of `few` before x that touches a place; x: none does. */
static uint32_t first_touch(const struct flow_work *work, const uint32_t *few, uint32_t x, uint32_t place)
{
	uint32_t first = 0;

	while (first < x && !flow_is_touched(work, place, few[first], few[first] + 1))
		first++;
	return first;
}

/* Where in `few` the layer comes first that the step before x is of. */
static uint32_t layer_before(const struct flow_work *work, const uint32_t *few, uint32_t x)
{
	uint32_t least = x;

	for (uint32_t t = 0; t < work->steps[few[x - 1]].count; t++) {
		const uint32_t p = flow_touch_of(work, few[x - 1], t)->place;
		const uint32_t first = work->places[p].parameter ? first_touch(work, few, x, p) : x;

		least = first < least ? first : least;
	}
	return least;
}

/*
 * Where a pass begins that another stands before: after what adds to gradients there. Of a pass that is
 * backward alone these are the gradients of the layer that the one before ended with, and of earlier layers;
 * others are its own.
 */
static uint32_t pass_begin(const struct flow_work *work, const uint32_t *few, const struct flow_turns *turns)
{
	const uint32_t x = turns->first;
	const bool alone = turns->low == FLOW_NOWHERE;
	const uint32_t last_layer = alone ? layer_before(work, few, x) : x;
	uint32_t begin = few[x - 1] + 1;

	for (uint32_t i = begin; i < few[x]; i++)
		for (uint32_t t = 0; t < work->steps[i].count; t++) {
			const uint32_t of = work->places[flow_touch_of(work, i, t)->place].gradient_of;

			if (of != FLOW_NOWHERE && (!alone || first_touch(work, few, x, of) <= last_layer))
				begin = i + 1;
		}
	return begin;
}

struct beginning {
	struct flow_work *work;
	struct flow_part *part;
};

RULE_SEQUENCE(norms, const struct beginning, context->work->assign->rule)

static void begin_with_norms(const struct beginning *beginning)
{
	if (!beginning->work->spread)
		flow_begin_update(beginning->work, beginning->part);
}

static const struct norms_rule norms_rules[] = {{RULE_UPDATES_NORMS, begin_with_norms}};

/* From the turns; gradients are touched after the part's `turn`. */
static void set_passes(struct flow_work *work, const uint32_t *few, const struct flow_turns *turns,
	uint32_t count, struct flow_part *part)
{
	flow_gradients(work, part->turn);
	norms_each(RULE_TABLE(norms_rules), &(struct beginning){work, part});
	part->first_pass = (uint32_t)work->pass_count;
	part->pass_count = count;
	for (uint32_t k = 0; k < count; k++)
		*MEM_PUSH(work->passes, work->pass_count, work->pass_room) = (struct flow_pass){0};
	for (uint32_t k = count; k-- > 0;) {
		struct flow_pass *pass = &work->passes[part->first_pass + k];

		pass->begin = k > 0 ? pass_begin(work, few, &turns[k]) : work->begin;
		pass->end = k + 1 < count ? pass[1].begin : work->update_begin;
		pass->rule = turns[k].rule;
		pass->turn = turns[k].low != FLOW_NOWHERE ? flow_place_turn(work, &turns[k], pass->end)
							  : pass->begin;
	}
}

/* The passes of a part; without a rule for several there is one. */
static bool find_passes(
	struct flow_work *work, const uint32_t *few, uint32_t few_count, struct flow_part *part)
{
	struct passing passing = {.work = work,
		.few = few,
		.few_count = few_count,
		.turns = mem_alloc(few_count, sizeof(*passing.turns))};
	bool found;

	if (!passes_first(RULE_TABLE(passes_rules), &passing)) {
		passing.turns[0] = (struct flow_turns){.end = few_count};
		passing.count = 1;
	}
	found = passing.together || find_turns(work, few, few_count, passing.turns, passing.count);
	/* where parts of the model take turns, one may have gone back for the last time long before the end
	 */
	part->turn = passing.turns[passing.together ? 0 : passing.count - 1].low + 1;
	if (found)
		set_passes(work, few, passing.turns, passing.count, part);
	free(passing.turns);
	return found && (passing.together || passing.count > 1 ||
				is_one_pass(work, few, few_count, work->passes[part->first_pass].turn));
}

/* Leaves the parameters that forward passes touch, of which a later one may go through a network that the
 * first does not: what was copied to the device and they do not is gradients, or state. */
static void keep_forward(struct flow_work *work)
{
	struct flow_range *ranges = mem_alloc(work->pass_count, sizeof(*ranges));

	for (size_t k = 0; k < work->pass_count; k++)
		ranges[k] = (struct flow_range){work->passes[k].begin, work->passes[k].turn};
	flow_keep_in(work, ranges, work->pass_count, NULL);
	free(ranges);
}

RULE_SEQUENCE(evaluation, struct flow_work, context->assign->rule)

static const struct evaluation_rule evaluation_rules[] = {{RULE_EVALUATIONS, flow_find_evaluations}};

bool flow_turn(struct flow_work *work)
{
	uint32_t *few = mem_alloc(work->step_count, sizeof(*few));
	bool found = true;

	work->pass_count = 0;
	for (size_t k = 0; k < work->part_count && found; k++) {
		uint32_t few_count;

		flow_select_part(work, &work->parts[k]);
		few_count = list_few(work, few);
		found = few_count > 0 && find_passes(work, few, few_count, &work->parts[k]);
		if (!found && work->parts[k].may_lack_passes) {
			work->part_count = k;
			found = k > 0;
		}
	}
	free(few);
	if (!found)
		return false;
	keep_forward(work);
	evaluation_each(RULE_TABLE(evaluation_rules), work);
	if (!work->shard_count)
		flow_divide_blocks(work);
	return work->parameter_count > 0;
}
