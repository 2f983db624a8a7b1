/* The tables and sentences of a comparison, for a person: see comparison_text.h. */
#include "comparison_text.h"
#include "error_table.h"
#include "model/enum_names.h"
#include "report.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parameter, or what the data determine of a level: over the seeds, and the bootstrap interval. */
struct found {
	bool is_there;
	double mean, sd, low, high; /* NaN: unknown */
	unsigned flags;
};

static const struct pm_fit_value *find_value(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (strcmp(model->values[i].name, name) == 0)
			return &model->values[i];
	return NULL;
}

static struct found find(const struct pm_fit_model *model, const char *name, bool contrast)
{
	const struct pm_fit_value *value = contrast ? NULL : find_value(model, name);
	const double one = model->run_count > 1 ? 1 : NAN;

	if (value)
		return (struct found){
			true, value->mean, value->sd * one, value->low, value->high, value->flags};
	for (size_t i = 0; contrast && i < model->contrast_count; i++) {
		const struct pm_fit_contrast *level = &model->contrasts[i];

		if (strcmp(level->name, name) == 0)
			return (struct found){true, level->mean, level->sd * one, level->low, level->high, 0};
	}
	return (struct found){0};
}

/* A column for each set, of words: a figure with its deviation or interval. */
static void begin_table(
	struct print_table *table, struct arena *arena, const struct comparison *c, const char *what)
{
	print_init(table, arena);
	print_column(table, "", what, PRINT_WORD);
	for (size_t s = 0; s < c->count; s++)
		print_column(table, "", c->sets[s].name, PRINT_WORD);
}

static void end_table(struct print_table *table)
{
	print_text(table, NULL, stdout);
	arena_free(table->arena);
	print_free(table);
}

static const char *mark(unsigned flags)
{
	if (flags & PM_FIT_UNDETERMINED)
		return " u";
	if (flags & PM_FIT_DEAD)
		return " d";
	return flags & (PM_FIT_AT_LOWER | PM_FIT_AT_UPPER) ? " b" : "";
}

static bool is_shown_before(const struct comparison *c, size_t set, const char *name, bool contrast)
{
	for (size_t s = 0; s < set; s++)
		if (find(c->sets[s].shown, name, contrast).is_there)
			return true;
	return false;
}

/* A parameter's two lines: mean and deviation over the seeds, and below them the interval. */
static void add_parameter(
	struct print_table *table, const struct comparison *c, const char *name, bool contrast)
{
	bool ends = false;

	print_row(table);
	print_word(table, 0, name);
	for (size_t s = 0; s < c->count; s++) {
		struct found found = find(c->sets[s].shown, name, contrast);

		ends |= found.is_there && isfinite(found.low) && isfinite(found.high);
		if (!found.is_there)
			print_word(table, 1 + s, "-");
		else if (isfinite(found.sd))
			print_word(table, 1 + s,
				arena_format(table->arena, "%.4g +-%.2g%s", found.mean, found.sd,
					mark(found.flags)));
		else
			print_word(table, 1 + s,
				arena_format(table->arena, "%.4g%s", found.mean, mark(found.flags)));
	}
	if (!ends)
		return;
	print_row(table);
	for (size_t s = 0; s < c->count; s++) {
		struct found found = find(c->sets[s].shown, name, contrast);

		if (found.is_there && isfinite(found.low) && isfinite(found.high))
			print_word(table, 1 + s,
				arena_format(table->arena, "[%.4g, %.4g]", found.low, found.high));
	}
}

static void print_how(const struct comparison_set *set)
{
	const struct pm_fit_parameter *p = &set->shown->parameter;

	printf("%s: %zu samples fitted, %zu to test; %zu of %zu seeds agree; ", set->name,
		set->shown->train.sample_count, set->observations.test.sample_count,
		set->shown->runs_agreeing, set->shown->run_count);
	if (p->lambda_coefficients == 0 && p->lambda_powers == 0)
		printf("no penalty");
	else
		printf("%s with lambda %g", p->penalty == PM_FIT_L1 ? "L1" : "L2", p->lambda_coefficients);
	if (p->lambda_powers != p->lambda_coefficients)
		printf(" (powers %g)", p->lambda_powers);
	if (set->shown->time_unit)
		printf("; times in %s", set->shown->time_unit);
	if (!set->free)
		printf("; a model file, intervals of %.0f%%", 100 * p->confidence);
	printf("\n");
}

/* The parameters of all sets, or the contrasts of their levels, each once. */
static void add_parameters(struct print_table *table, const struct comparison *c, bool contrasts)
{
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_model *shown = c->sets[s].shown;
		const size_t count = contrasts ? shown->contrast_count : shown->value_count;

		for (size_t i = 0; i < count; i++) {
			const char *name = contrasts ? shown->contrasts[i].name : shown->values[i].name;

			if (!is_shown_before(c, s, name, contrasts))
				add_parameter(table, c, name, contrasts);
		}
	}
}

static void print_levels(const struct comparison *c)
{
	struct arena arena = {0};
	struct print_table table;

	begin_table(&table, &arena, c, "level");
	add_parameters(&table, c, true);
	if (table.row_count)
		printf("\n"
		       "  Levels as determined by the data: each minus its column's mean; the base is the\n"
		       "  sum of those means\n");
	if (table.row_count)
		print_text(&table, NULL, stdout);
	print_free(&table);
	arena_free(&arena);
}

static void print_parameters(const struct comparison *c)
{
	struct arena arena = {0};
	struct print_table table;

	printf("Parameters, as in Table 4.3: mean and standard deviation over seeds (search noise);\n"
	       "below, the %.0f%% bootstrap interval (data uncertainty)\n"
	       "\n",
		100 * c->confidence);
	begin_table(&table, &arena, c, "parameter");
	add_parameters(&table, c, false);
	end_table(&table);
	printf("  u: undetermined (other values predict the same); d: dead, below 0.05%% of every\n"
	       "  prediction; b: at a bound\n");
	print_levels(c);
	putchar('\n');
}

static void print_errors_of(const struct comparison *c, const struct comparison_set *set)
{
	const struct baseline model = {.name = "model",
		.seed_count = 1,
		.train = &set->shown->train,
		.seconds = set->shown->seconds};
	const struct baseline *row;
	struct arena arena = {0};
	struct print_table table;

	error_table_init(&table, &arena);
	if (!set->free)
		error_table_row(&table, &model, false, c->confidence);
	for (size_t i = 0; (row = comparison_row(set, i)); i++) {
		error_table_row(&table, row, false, c->confidence);
		if (!row->skipped && set->observations.test.sample_count)
			error_table_row(&table, row, true, c->confidence);
	}
	print_text(&table, set->name, stdout);
	putchar('\n');
	print_free(&table);
	arena_free(&arena);
}

static const char *test_error(struct arena *arena, const struct comparison *c,
	const struct comparison_set *set, const struct baseline *method)
{
	struct error_spread spread;

	if (!method || method->skipped || !set->observations.test.sample_count)
		return "-";
	spread = error_spread(
		method->test, method->seed_count, offsetof(struct pm_fit_error, mape), c->confidence);
	return isfinite(spread.low)
		       ? arena_format(arena, "%.2f [%.2f, %.2f]", spread.mean, spread.low, spread.high)
		       : arena_format(arena, "%.2f", spread.mean);
}

/* The one figure that is compared over sets, with what other seeds would have made of it. */
static void print_test_errors(const struct comparison *c)
{
	const struct comparison_set *first = NULL;
	const struct baseline *row;
	struct arena arena = {0};
	struct print_table table;

	for (size_t s = 0; s < c->count && !first; s++)
		if (c->sets[s].free)
			first = &c->sets[s];
	if (!first)
		return;
	printf("Test MAPE, percent of the measured time, and its %.0f%% interval over seeds\n",
		100 * c->confidence);
	begin_table(&table, &arena, c, "method");
	for (size_t i = 0; (row = comparison_row(first, i)); i++) {
		print_row(&table);
		print_word(&table, 0, row->name);
		for (size_t s = 0; s < c->count; s++)
			print_word(&table, 1 + s,
				test_error(&arena, c, &c->sets[s], comparison_row(&c->sets[s], i)));
	}
	end_table(&table);
	putchar('\n');
}

static bool is_scaling(enum pm_fit_kind kind)
{
	return kind == PM_FIT_KIND_EXTRINSIC || kind == PM_FIT_KIND_CONSTANT;
}

static void print_scaling(const struct comparison *c)
{
	struct arena arena = {0};
	struct print_table table;

	printf("Scaling, as in Table 4.5: extrinsic powers and the constant\n\n");
	begin_table(&table, &arena, c, "parameter");
	for (size_t s = 0; s < c->count; s++)
		for (size_t i = 0; i < c->sets[s].shown->value_count; i++) {
			const struct pm_fit_value *value = &c->sets[s].shown->values[i];

			if (is_scaling(value->kind) && !is_shown_before(c, s, value->name, false))
				add_parameter(&table, c, value->name, false);
		}
	print_row(&table);
	print_word(&table, 0, "C, % of time");
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_value *constant = find_value(c->sets[s].shown, "C");

		print_word(&table, 1 + s,
			constant && isfinite(c->sets[s].typical)
				? arena_format(&arena, "%.1f", 100 * constant->value / c->sets[s].typical)
				: "-");
	}
	end_table(&table);
	printf("  (C in percent of the geometric mean of the fitted times)\n\n");
}

/* What a power says of doubling, and where -1 lies to it: by the interval, where there is one. */
static void print_power(const char *set, const char *column, const struct pm_fit_value *value)
{
	double q = value->value, low = isfinite(value->low) ? value->low : q,
	       high = isfinite(value->high) ? value->high : q;

	printf("  %s, %s^%.3g: ", set, column, q);
	if (value->flags & PM_FIT_UNDETERMINED) {
		printf("not determined by the data.\n");
		return;
	}
	printf("doubling leaves %.0f%% of the scaling part;\n    ", 100 * pow(2, q));
	if (low <= -1 && high >= -1)
		printf("indistinguishable from -1, ideal for a fixed amount of work.\n");
	else if (high < -1)
		printf("steeper than -1, ideal for a fixed amount of work.\n");
	else if (high < 0)
		printf("flatter than -1, ideal for a fixed amount of work: efficiency %.0f%% per "
		       "doubling.\n",
			50 * pow(2, -q));
	else if (low <= 0)
		printf("indistinguishable from no effect.\n");
	else
		printf("the time grows with it.\n");
}

static void print_exponents(const struct comparison *c)
{
	for (size_t s = 0; s < c->count; s++) {
		const struct comparison_set *set = &c->sets[s];
		const struct pm_fit_value *constant = find_value(set->shown, "C");

		for (size_t i = 0; i < set->shown->value_count; i++)
			if (set->shown->values[i].kind == PM_FIT_KIND_EXTRINSIC)
				print_power(set->name, set->shown->columns[set->shown->values[i].column].name,
					&set->shown->values[i]);
		if (!constant)
			continue;
		printf("  %s, C %.4g%s%s: independent of the other columns;\n    ", set->name,
			constant->value, set->shown->time_unit ? " " : "",
			set->shown->time_unit ? set->shown->time_unit : "");
		if (isfinite(constant->low) && constant->low <= 0)
			printf("indistinguishable from 0.\n");
		else
			printf("cannot be reduced by tuning them.\n");
	}
	putchar('\n');
}

/* The differences of one pair: those of scaling one a line, the others by name. */
static size_t print_pair(const struct comparison *c, const struct comparison_pair *pair)
{
	const char *first = c->sets[pair->first].name, *second = c->sets[pair->second].name;
	size_t clear = 0;
	int column = 0;

	for (size_t i = 0; i < pair->count; i++) {
		const struct difference *row = &pair->rows[i];

		clear += row->is_clear;
		if (is_scaling(row->kind))
			printf("  %s: %s %.4g, %s %.4g: difference %.3g [%.3g, %.3g], %s\n", row->name, first,
				row->first, second, row->second, row->second - row->first, row->low,
				row->high, row->is_clear ? "clear" : "indistinguishable");
	}
	for (size_t i = 0; i < pair->count; i++) {
		const struct difference *row = &pair->rows[i];

		if (!row->is_clear || is_scaling(row->kind))
			continue;
		if (column == 0)
			column = printf("  %s and %s also differ in", first, second);
		else if (column + 2 + (int)strlen(row->name) > 78)
			column = printf(",\n   ") - 2;
		else
			column += printf(",");
		column += printf(" %s", row->name);
	}
	if (column)
		printf("\n");
	return clear;
}

static void print_differences(const struct comparison *c)
{
	size_t clear = 0, all = 0;
	bool units = true;

	if (c->count < 2)
		return;
	for (size_t i = 0; i < c->pair_count; i++)
		all += c->pairs[i].count;
	printf("Differences, by the bootstrap intervals of the differences (%.0f%%)\n", 100 * c->confidence);
	if (!all) {
		printf("  Nothing to compare: no determined parameter has the same name in both sets, or "
		       "one\n"
		       "  set has fewer than 20 resamples.\n"
		       "\n");
		return;
	}
	for (size_t i = 0; i < c->pair_count; i++) {
		clear += print_pair(c, &c->pairs[i]);
		units &= differences_same_unit(
			c->sets[c->pairs[i].first].shown, c->sets[c->pairs[i].second].shown);
	}
	printf("  %zu of %zu comparisons are clear; about %.0f are expected by chance if all are equal.\n",
		clear, all, (1 - c->confidence) * (double)all);
	if (!units)
		printf("  Where time units differ or one is missing, only powers are compared.\n");
	putchar('\n');
}

/* Where lambda has carried a power across what a reader would conclude from. */
static void print_crossing(const struct comparison_set *set)
{
	for (size_t i = 0; i < set->free->value_count; i++) {
		double without = set->free->values[i].value, with = set->bound->values[i].value;

		if (set->free->values[i].kind != PM_FIT_KIND_EXTRINSIC ||
			(set->free->values[i].flags & PM_FIT_UNDETERMINED))
			continue;
		if ((without < -1) != (with < -1))
			printf("  Power %s crosses -1: whether it scales ideally depends on lambda.\n",
				set->free->values[i].name);
	}
}

static void print_lambda(const struct comparison *c)
{
	for (size_t s = 0; s < c->count; s++)
		if (c->sets[s].free) {
			const struct pm_fit_parameter *p = &c->sets[s].bound->parameter;

			printf("%s, %s %g", c->sets[s].name, c->is_l1 ? "L1" : "L2", c->lambda);
			if (p->lambda_powers != p->lambda_coefficients)
				printf(" (powers %g)", p->lambda_powers);
			putchar('\n');
			report_shift(c->sets[s].bound, c->sets[s].free, stdout);
			print_crossing(&c->sets[s]);
		}
}

void comparison_text(const struct comparison *c)
{
	for (size_t s = 0; s < c->count; s++)
		print_how(&c->sets[s]);
	putchar('\n');
	print_parameters(c);
	printf("Errors, as in Table 4.4: mean and standard deviation over seeds\n\n");
	for (size_t s = 0; s < c->count; s++)
		print_errors_of(c, &c->sets[s]);
	print_test_errors(c);
	print_scaling(c);
	print_exponents(c);
	print_differences(c);
	print_lambda(c);
}
