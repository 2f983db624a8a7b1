/* A comparison in words: see comparison_words.h. */
#include "comparison_words.h"
#include "comparison_table.h"
#include "report.h"

#include <math.h>

const char *comparison_words_penalty(
	struct arena *arena, const struct pm_fit_parameter *p, const char *between)
{
	const char *text = p->lambda_coefficients == 0 && p->lambda_powers == 0
				   ? "no penalty"
				   : arena_format(arena, "%s%s %g", p->penalty == PM_FIT_L1 ? "L1" : "L2",
					     between, p->lambda_coefficients);

	if (p->lambda_powers == p->lambda_coefficients)
		return text;
	return arena_format(arena, "%s (powers %g)", text, p->lambda_powers);
}

void comparison_words_set(const struct comparison_set *set, struct sentences *said)
{
	const struct pm_fit_model *shown = set->shown;
	const char *text = arena_format(said->arena,
		"%s: %zu samples fitted, %zu to test; %zu of %zu seeds agree; %s", set->name,
		shown->train.sample_count, set->observations.test.sample_count, shown->runs_agreeing,
		shown->run_count, comparison_words_penalty(said->arena, &shown->parameter, " with lambda"));

	if (shown->time_unit)
		text = arena_format(said->arena, "%s; times in %s", text, shown->time_unit);
	if (!set->free)
		text = arena_format(said->arena, "%s; a model file, intervals of %.0f%%", text,
			100 * shown->parameter.confidence);
	sentences_add(said, "%s", text);
}

/* Where a power lies to -1: by the interval, where there is one. */
static const char *compared_with_ideal(struct arena *arena, double power, double low, double high)
{
	if (low <= -1 && high >= 0)
		return "undecided: its interval has both -1, ideal for a fixed amount of work, and no effect";
	if (low <= -1 && high >= -1)
		return "indistinguishable from -1, ideal for a fixed amount of work";
	if (high < -1)
		return "steeper than -1, ideal for a fixed amount of work";
	if (high < 0)
		return arena_format(arena,
			"flatter than -1, ideal for a fixed amount of work: efficiency %.0f%% per doubling",
			50 * pow(2, -power));
	return low <= 0 ? "indistinguishable from no effect" : "the time grows with it";
}

static void say_power(
	const char *set, const char *column, const struct pm_fit_value *value, struct sentences *said)
{
	double power = value->value, low = isfinite(value->low) ? value->low : power,
	       high = isfinite(value->high) ? value->high : power;

	if (value->flags & PM_FIT_UNDETERMINED)
		sentences_add(said, "%s, %s^%.3g: not determined by the data.", set, column, power);
	else
		sentences_add(said, "%s, %s^%.3g: doubling leaves %.0f%% of the scaling part; %s.", set,
			column, power, 100 * pow(2, power),
			compared_with_ideal(said->arena, power, low, high));
}

void comparison_words_scaling(const struct comparison_set *set, struct sentences *said)
{
	const struct pm_fit_model *shown = set->shown;
	const struct pm_fit_value *constant = comparison_value(shown, "C");

	for (size_t i = 0; i < shown->value_count; i++)
		if (shown->values[i].kind == PM_FIT_KIND_EXTRINSIC)
			say_power(set->name, shown->columns[shown->values[i].column].name, &shown->values[i],
				said);
	if (constant)
		sentences_add(said, "%s, C %.4g%s%s: independent of the other columns; %s.", set->name,
			constant->value, shown->time_unit ? " " : "",
			shown->time_unit ? shown->time_unit : "",
			isfinite(constant->low) && constant->low <= 0 ? "indistinguishable from 0"
								      : "cannot be reduced by tuning them");
}

/* Where lambda has carried a power across what a reader would conclude from. */
static void say_crossing(const struct comparison_set *set, struct sentences *said)
{
	for (size_t i = 0; i < set->free->value_count; i++) {
		const struct pm_fit_value *value = &set->free->values[i];

		if (value->kind != PM_FIT_KIND_EXTRINSIC || (value->flags & PM_FIT_UNDETERMINED))
			continue;
		if ((value->value < -1) != (set->bound->values[i].value < -1))
			sentences_add(said,
				"Power %s crosses -1: whether it scales ideally depends on lambda.",
				value->name);
	}
}

void comparison_words_lambda(const struct comparison_set *set, struct sentences *said)
{
	report_shift(set->bound, set->free, said);
	say_crossing(set, said);
}

/* The differences of one pair: each of scaling, the others by name. */
static void say_pair(const struct comparison *c, const struct comparison_pair *pair, struct sentences *said)
{
	const char *first = c->sets[pair->first].name, *second = c->sets[pair->second].name, *names = "";

	for (size_t i = 0; i < pair->count; i++) {
		const struct difference *row = &pair->rows[i];

		if (comparison_is_scaling(row->kind))
			sentences_add(said, "%s: %s %.4g, %s %.4g: difference %.3g [%.3g, %.3g], %s",
				row->name, first, row->first, second, row->second, row->second - row->first,
				row->low, row->high, row->is_clear ? "clear" : "indistinguishable");
		else if (row->is_clear)
			names = arena_format(said->arena, "%s%s %s", names, *names ? "," : "", row->name);
	}
	if (*names)
		sentences_add(said, "%s and %s also differ in%s", first, second, names);
}

void comparison_words_differences(const struct comparison *c, struct sentences *said)
{
	size_t clear = 0, all = 0;
	bool units = true;

	for (size_t p = 0; p < c->pair_count; p++) {
		const struct comparison_pair *pair = &c->pairs[p];

		say_pair(c, pair, said);
		all += pair->count;
		for (size_t i = 0; i < pair->count; i++)
			clear += pair->rows[i].is_clear;
		units &= differences_same_unit(c->sets[pair->first].shown, c->sets[pair->second].shown);
	}
	if (c->pair_count && !all) {
		sentences_add(said,
			"Nothing to compare: no determined parameter has the same name in both sets, or one "
			"set has fewer than 20 resamples.");
		return;
	}
	if (all)
		sentences_add(said,
			"%zu of %zu comparisons are clear; about %.0f are expected by chance if all are equal.",
			clear, all, (1 - c->confidence) * (double)all);
	if (all && !units)
		sentences_add(said, "Where time units differ or one is missing, only powers are compared.");
}
