/* What a comparison comes to, in sentences: the iteration first, then the phases that the difference is made
 * of, then layers, then what else the sides do not have in common. */
#include "compare.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMED = 4 }; /* of things that differ; more are counted only */

struct words {
	struct compare *compare;
	const struct compare_pair *pair;
	const char *base, *other;
	const char **items;
	size_t count, room;
};

static void say(struct words *words, const char *text)
{
	*MEM_PUSH(words->items, words->count, words->room) = text;
}

#define FORMAT(words, ...) arena_format(&(words)->compare->arena, __VA_ARGS__)

static const char *figure_text(struct words *words, double number)
{
	return print_figure(&words->compare->arena, number, 4);
}

static const char *time_text(struct words *words, double ns)
{
	return print_time(&words->compare->arena, ns);
}

static const char *signed_time(struct words *words, double ns)
{
	return FORMAT(words, "%s%s", ns > 0 ? "+" : "", time_text(words, ns));
}

/* "B is 12.3% faster than A", "B takes 3.1 times as long as A". */
static const char *verdict(struct words *words, const struct compare_row *row)
{
	if (row->other > 2 * row->base)
		return FORMAT(words, "%s takes %.1f× the time of %s", words->other, row->other / row->base,
			words->base);
	return FORMAT(words, "%s is %.1f%% %s than %s", words->other, 100 * fabs(compare_change(row)),
		compare_word_text(row), words->base);
}

static bool decided(const struct compare_row *row)
{
	return row->word == COMPARE_FASTER || row->word == COMPARE_SLOWER;
}

static const char *interval_text(struct words *words, const struct compare_row *row)
{
	return FORMAT(words, "95%% CI: %s to %s", signed_time(words, row->effect.low),
		signed_time(words, row->effect.high));
}

static const char *unit_name(const struct words *words)
{
	return words->compare->how.per_sample ? "per sample" : "per iteration";
}

static void say_iteration(struct words *words, const struct compare_row *row)
{
	double difference = row->effect.difference;

	switch (row->word) {
	case COMPARE_FASTER:
	case COMPARE_SLOWER:
		say(words, FORMAT(words, "%s: %s %s vs %s, %s %s (%s)", verdict(words, row),
				   time_text(words, row->other), unit_name(words),
				   time_text(words, row->base), time_text(words, fabs(difference)),
				   difference > 0 ? "more" : "less", interval_text(words, row)));
		return;
	case COMPARE_SAME:
		say(words, FORMAT(words, "%s and %s take the same time within %.3g%%: %s and %s %s (%s)",
				   words->other, words->base, 100 * words->compare->how.margin,
				   time_text(words, row->other), time_text(words, row->base),
				   unit_name(words), interval_text(words, row)));
		return;
	case COMPARE_UNDECIDED:
		say(words,
			FORMAT(words,
				"Inconclusive whether %s is faster or slower than %s: %s and %s %s, a "
				"difference of %s (%s)%s",
				words->other, words->base, time_text(words, row->other),
				time_text(words, row->base), unit_name(words), signed_time(words, difference),
				interval_text(words, row), row->effect.enough ? "" : "; too few iterations"));
		return;
	default:
		say(words,
			FORMAT(words,
				"%s takes %s %s and %s takes %s: a single iteration allows no significance "
				"test",
				words->other, time_text(words, row->other), unit_name(words), words->base,
				time_text(words, row->base)));
	}
}

/* The layer whose part differs most, in the direction of `sign`; NULL: none. */
static const struct compare_row *most_different_layer(const struct words *words, const char *key, double sign)
{
	const struct compare_row *most = NULL;

	for (size_t i = 0; i < words->pair->row_count; i++) {
		const struct compare_row *row = &words->pair->rows[i];

		if (row->kind == COMPARE_LAYER_PART && strcmp(row->key, key) == 0 &&
			row->effect.difference * sign > 0 &&
			(!most || row->effect.difference * sign > most->effect.difference * sign))
			most = row;
	}
	return most;
}

static const char *phase_text(struct words *words, const struct compare_row *row, double whole_ns)
{
	double difference = row->effect.difference, share = difference / whole_ns;
	const char *of_it = isnan(whole_ns) ? ""
			    : share > 1.05  ? "more than all of it"
			    : share > 0     ? FORMAT(words, "%.0f%% of it", 100 * share)
					    : "in the opposite direction";
	const char *sure = row->word == COMPARE_UNDECIDED ? "not decided" : "";
	const char *text = FORMAT(words, "%s %s%s%s%s%s%s", row->title, signed_time(words, difference),
		*of_it || *sure ? " (" : "", of_it, *of_it && *sure ? ", " : "", sure,
		*of_it || *sure ? ")" : "");
	const struct compare_row *layer = most_different_layer(words, row->key, difference);

	if (layer && fabs(layer->effect.difference) > 0.3 * fabs(difference))
		text = FORMAT(words, "%s, mostly in layer %s (%s)", text, layer->title,
			signed_time(words, layer->effect.difference));
	return text;
}

static int by_difference(const void *left, const void *right)
{
	const struct compare_row *const *a = left, *const *b = right;
	double x = fabs((*a)->effect.difference), y = fabs((*b)->effect.difference);

	return x > y ? -1 : x < y;
}

/* Rows of a kind by size of their difference; the caller frees them. */
static const struct compare_row **sorted_rows(
	const struct words *words, enum compare_kind kind, size_t *count)
{
	const struct compare_row **rows = mem_alloc(words->pair->row_count, sizeof(struct compare_row *));

	*count = 0;
	for (size_t i = 0; i < words->pair->row_count; i++)
		if (words->pair->rows[i].kind == kind && isfinite(words->pair->rows[i].effect.difference))
			rows[(*count)++] = &words->pair->rows[i];
	qsort(rows, *count, sizeof(struct compare_row *), by_difference);
	return rows;
}

/* Exclusive phases add up to the iteration, so their differences add up to its. */
static void say_phases(struct words *words, const struct compare_row *iteration)
{
	size_t count, named = 0;
	const struct compare_row **rows = sorted_rows(words, COMPARE_EXCLUSIVE, &count);
	double whole_ns = iteration->effect.difference;
	double least_ns = fmax(0.1 * fabs(whole_ns), words->compare->how.margin / 2 * iteration->base);
	const char *text = NULL;

	for (size_t i = 0; i < count && named < MOST_NAMED; i++) {
		const char *phase;

		if (fabs(rows[i]->effect.difference) < least_ns || rows[i]->word == COMPARE_SAME)
			continue;
		phase = phase_text(words, rows[i], decided(iteration) ? whole_ns : NAN);
		text = named++ ? FORMAT(words, "%s; %s", text, phase) : phase;
	}
	free(rows);
	if (text)
		say(words, FORMAT(words,
				   decided(iteration) ? "Where it shows, by phase (exclusive time): %s"
						      : "Largest differences by phase (exclusive time): %s",
				   text));
}

static void say_layers(struct words *words)
{
	size_t count, different = 0, same = 0, named = 0, shared = 0;
	const struct compare_row **rows = sorted_rows(words, COMPARE_LAYER, &count);
	const char *text = "";

	for (size_t i = 0; i < count; i++) {
		shared++;
		same += rows[i]->word == COMPARE_SAME;
		different += decided(rows[i]);
		if (!decided(rows[i]) || named == MOST_NAMED)
			continue;
		text = FORMAT(words, "%s%s%s%s %s by %s (%s)", text, named ? ", " : "", rows[i]->title,
			words->pair->matches[rows[i]->match].sizes_differ ? " (different sizes)" : "",
			compare_word_text(rows[i]), time_text(words, fabs(rows[i]->effect.difference)),
			rows[i]->other > 2 * rows[i]->base && rows[i]->base > 0
				? FORMAT(words, "%.1f× the time", rows[i]->other / rows[i]->base)
				: FORMAT(words, "%+.1f%%", 100 * compare_change(rows[i])));
		named++;
	}
	free(rows);
	if (shared == 0)
		return;
	if (different == 0)
		say(words, FORMAT(words,
				   "No layer differs significantly in computation: %zu of %zu are "
				   "the same",
				   same, shared));
	else
		say(words, FORMAT(words,
				   "Layers with different computation time, %zu of %zu: %s%s; %zu are "
				   "the same",
				   different, shared, text, different > named ? ", and others" : "", same));
}

static void say_whole(struct words *words, const char *key, const char *name)
{
	const struct compare_row *row = compare_find(words->pair, COMPARE_WHOLE, key);

	if (!row || !decided(row))
		return;
	if (row->type == PRINT_TIME)
		say(words, FORMAT(words, "%s: %s vs %s", name, time_text(words, row->other),
				   time_text(words, row->base)));
	else
		say(words, FORMAT(words, "%s: %s vs %s (%+.1f%%)", name, figure_text(words, row->other),
				   figure_text(words, row->base), 100 * compare_change(row)));
}

static void say_facts(struct words *words)
{
	const struct compare_facts *base = &words->compare->facts[words->pair->base];
	const struct compare_facts *other = &words->compare->facts[words->pair->other];

	if (base->gpus != other->gpus)
		say(words, FORMAT(words, "The numbers of GPUs differ: %zu and %zu", base->gpus, other->gpus));
	if (base->samples > 0 && other->samples > 0 && base->samples != other->samples)
		say(words, FORMAT(words, "The batch sizes differ, %.0f and %.0f samples: %s", base->samples,
				   other->samples,
				   words->compare->how.per_sample
					   ? "times are per sample"
					   : "compare samples/s, or times per sample (--per-sample)"));
	if (base->parameters > 0 && other->parameters > 0 && base->parameters != other->parameters)
		say(words, FORMAT(words, "The models differ: %.0f and %.0f parameters", base->parameters,
				   other->parameters));
}

static void say_unmatched(struct words *words)
{
	size_t only[2] = {0, 0}, sizes = 0;
	const char *names[2] = {"", ""};

	for (size_t m = 0; m < words->pair->match_count; m++) {
		const struct compare_match *match = &words->pair->matches[m];
		int side = match->base ? 0 : 1;

		sizes += match->sizes_differ;
		if (match->base && match->other)
			continue;
		if (only[side]++ < MOST_NAMED)
			names[side] = FORMAT(words, "%s%s%s", names[side], *names[side] ? ", " : "",
				layer_title(match->base ? match->base : match->other));
	}
	for (int side = 0; side < 2; side++)
		if (only[side])
			say(words, FORMAT(words, "Only %s has %zu layer%s: %s%s",
					   side ? words->other : words->base, only[side],
					   pm_text_plural(only[side]), names[side],
					   only[side] > MOST_NAMED ? ", ..." : ""));
	if (sizes)
		say(words, FORMAT(words, "%zu layer%s the same name and different sizes", sizes,
				   sizes == 1 ? " has" : "s have"));
}

const char **compare_words(struct compare *compare, const struct compare_pair *pair)
{
	struct words words = {.compare = compare,
		.pair = pair,
		.base = compare->sides[pair->base].name,
		.other = compare->sides[pair->other].name};
	const struct compare_row *iteration = compare_find(pair, COMPARE_WHOLE, "t_iter");
	const char **kept;

	if (iteration) {
		const char *cause = compare_cause(compare, pair);

		say_iteration(&words, iteration);
		if (cause)
			say(&words, cause);
		say_phases(&words, iteration);
	}
	say_layers(&words);
	say_whole(&words, "wait", "Waiting for the last rank");
	say_whole(&words, "lif", "Load imbalance factor of computing");
	say_facts(&words);
	if (compare->facts[pair->base].samples != compare->facts[pair->other].samples)
		say_whole(&words, "samples_per_second", "Samples per second");
	say_unmatched(&words);
	kept = arena_alloc(&compare->arena, words.count + 1, sizeof(*kept));
	if (words.count)
		memcpy(kept, words.items, words.count * sizeof(*kept));
	free(words.items);
	return kept;
}
