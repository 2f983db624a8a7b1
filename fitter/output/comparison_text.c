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

#define CELL 24
/* Where columns hang: the widest of what stands before them. */
#define NAME_LEAST 12

static const struct pm_fit_value *find_value(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->value_count; i++)
		if (strcmp(model->values[i].name, name) == 0)
			return &model->values[i];
	return NULL;
}

static const struct pm_fit_contrast *find_contrast(const struct pm_fit_model *model, const char *name)
{
	for (size_t i = 0; i < model->contrast_count; i++)
		if (strcmp(model->contrasts[i].name, name) == 0)
			return &model->contrasts[i];
	return NULL;
}

static int widest_name(const struct comparison *c)
{
	size_t width = NAME_LEAST;

	for (size_t s = 0; s < c->count; s++)
		for (size_t i = 0; i < c->sets[s].shown->value_count; i++) {
			size_t length = strlen(c->sets[s].shown->values[i].name);

			width = length > width ? length : width;
		}
	return (int)width;
}

static void print_heads(const struct comparison *c, int width, const char *what)
{
	printf("  %-*s", width, what);
	for (size_t s = 0; s < c->count; s++)
		printf(" %*s", CELL, c->sets[s].name);
	putchar('\n');
}

static const char *mark(unsigned flags)
{
	if (flags & PM_FIT_UNDETERMINED)
		return "u";
	if (flags & PM_FIT_DEAD)
		return "d";
	return flags & (PM_FIT_AT_LOWER | PM_FIT_AT_UPPER) ? "b" : " ";
}

/* "6.59 +-0.34 ", right-aligned; a mark behind it. */
static void print_mean(double mean, double deviation, const char *flag)
{
	char text[64];

	snprintf(text, sizeof(text), "%.4g +-%.2g%s", mean, deviation, flag);
	printf(" %*s", CELL, text);
}

static void print_ends(double low, double high)
{
	char text[64] = "";

	if (isfinite(low) && isfinite(high))
		snprintf(text, sizeof(text), "[%.4g, %.4g] ", low, high);
	printf(" %*s", CELL, text);
}

static void print_nothing(void)
{
	printf(" %*s", CELL, "- ");
}

static bool is_shown_before(const struct comparison *c, size_t set, const char *name, bool contrasts)
{
	for (size_t s = 0; s < set; s++)
		if (contrasts ? find_contrast(c->sets[s].shown, name) != NULL
			      : find_value(c->sets[s].shown, name) != NULL)
			return true;
	return false;
}

/* A parameter's two lines: mean and deviation over the seeds, and below them the interval. */
static void print_value(const struct comparison *c, int width, const char *name)
{
	printf("  %-*s", width, name);
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_value *value = find_value(c->sets[s].shown, name);

		if (value)
			print_mean(value->mean, value->sd, mark(value->flags));
		else
			print_nothing();
	}
	printf("\n  %-*s", width, "");
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_value *value = find_value(c->sets[s].shown, name);

		print_ends(value ? value->low : NAN, value ? value->high : NAN);
	}
	putchar('\n');
}

static void print_contrast(const struct comparison *c, int width, const char *name)
{
	printf("  %-*s", width, name);
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_contrast *contrast = find_contrast(c->sets[s].shown, name);

		if (contrast)
			print_mean(contrast->mean, contrast->sd, " ");
		else
			print_nothing();
	}
	printf("\n  %-*s", width, "");
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_contrast *contrast = find_contrast(c->sets[s].shown, name);

		print_ends(contrast ? contrast->low : NAN, contrast ? contrast->high : NAN);
	}
	putchar('\n');
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

static void print_parameters(const struct comparison *c, int width)
{
	bool has_contrasts = false;

	printf("Parameters, as in Table 4.3: mean and standard deviation over seeds (search noise);\n"
	       "below, the %.0f%% bootstrap interval (data uncertainty)\n"
	       "\n",
		100 * c->confidence);
	print_heads(c, width, "parameter");
	for (size_t s = 0; s < c->count; s++)
		for (size_t i = 0; i < c->sets[s].shown->value_count; i++)
			if (!is_shown_before(c, s, c->sets[s].shown->values[i].name, false))
				print_value(c, width, c->sets[s].shown->values[i].name);
	printf("  u: undetermined (other values predict the same); d: dead, below 0.05%% of every\n"
	       "  prediction; b: at a bound\n");
	for (size_t s = 0; s < c->count; s++)
		for (size_t i = 0; i < c->sets[s].shown->contrast_count; i++) {
			if (is_shown_before(c, s, c->sets[s].shown->contrasts[i].name, true))
				continue;
			if (!has_contrasts)
				printf("\n"
				       "  Levels as determined by the data: each minus its column's mean; "
				       "the base is the\n"
				       "  sum of those means\n");
			has_contrasts = true;
			print_contrast(c, width, c->sets[s].shown->contrasts[i].name);
		}
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

/* The one figure that is compared over sets, with what other seeds would have made of it. */
static void print_test_errors(const struct comparison *c)
{
	const struct comparison_set *first = NULL;
	const struct baseline *row;

	for (size_t s = 0; s < c->count && !first; s++)
		if (c->sets[s].free)
			first = &c->sets[s];
	if (!first)
		return;
	printf("Test MAPE, percent of the measured time, and its %.0f%% interval over seeds\n",
		100 * c->confidence);
	print_heads(c, NAME_LEAST, "method");
	for (size_t i = 0; (row = comparison_row(first, i)); i++) {
		printf("  %-*s", NAME_LEAST, row->name);
		for (size_t s = 0; s < c->count; s++) {
			struct error_spread spread;
			char text[64];

			row = comparison_row(&c->sets[s], i);
			if (!row || row->skipped || !c->sets[s].observations.test.sample_count) {
				print_nothing();
				continue;
			}
			spread = error_spread(row->test, row->seed_count, offsetof(struct pm_fit_error, mape),
				c->confidence);
			if (isfinite(spread.low))
				snprintf(text, sizeof(text), "%.2f [%.2f, %.2f] ", spread.mean, spread.low,
					spread.high);
			else
				snprintf(text, sizeof(text), "%.2f ", spread.mean);
			printf(" %*s", CELL, text);
		}
		putchar('\n');
	}
	putchar('\n');
}

static bool is_scaling(enum pm_fit_kind kind)
{
	return kind == PM_FIT_KIND_EXTRINSIC || kind == PM_FIT_KIND_CONSTANT;
}

static void print_scaling(const struct comparison *c, int width)
{
	printf("Scaling, as in Table 4.5: extrinsic powers and the constant\n\n");
	print_heads(c, width, "");
	for (size_t s = 0; s < c->count; s++)
		for (size_t i = 0; i < c->sets[s].shown->value_count; i++) {
			const struct pm_fit_value *value = &c->sets[s].shown->values[i];

			if (is_scaling(value->kind) && !is_shown_before(c, s, value->name, false))
				print_value(c, width, value->name);
		}
	printf("  %-*s", width, "C, % of time");
	for (size_t s = 0; s < c->count; s++) {
		const struct pm_fit_value *constant = find_value(c->sets[s].shown, "C");

		if (constant && isfinite(c->sets[s].typical))
			printf(" %*.1f ", CELL - 1, 100 * constant->value / c->sets[s].typical);
		else
			print_nothing();
	}
	printf("\n  (C in percent of the geometric mean of the fitted times)\n\n");
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
	int width = widest_name(c);

	for (size_t s = 0; s < c->count; s++)
		print_how(&c->sets[s]);
	putchar('\n');
	print_parameters(c, width);
	printf("Errors, as in Table 4.4: mean and standard deviation over seeds\n\n");
	for (size_t s = 0; s < c->count; s++)
		print_errors_of(c, &c->sets[s]);
	print_test_errors(c);
	print_scaling(c, width);
	print_exponents(c);
	print_differences(c);
	print_lambda(c);
}
