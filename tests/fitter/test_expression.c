/*
 * The search for expressions on made data: each truth is one structure with 2% of noise, and must be found:
 * the form by its text, each constant within 2% (of a power: 0.02), predictions against the truth without
 * noise. Besides: slopes against differences, the same bits with any threads, units, monotone columns, the
 * file.
 */
#include "../analyzer/check.h"
#include "base/random.h"
#include "expression/expression_edit.h"
#include "expression/expression_grow.h"
#include "expression/expression_search.h"
#include "model/expression_model.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 900
#define FITTED 600
#define WORK 8e9     /* for the truth */
#define LITTLE 1.5e9 /* for what holds of every search */

enum { X, Y, BATCH, GPUS, KIND, MODE, COLUMNS };

static const char *const kinds[] = {"plain", "fancy", "odd"};
static const char *const modes[] = {"same", "valid"};
static const struct pm_fit_column all_columns[COLUMNS] = {{"x", PM_FIT_INTRINSIC, NULL, 0, NULL},
	{"y", PM_FIT_INTRINSIC, NULL, 0, NULL}, {"batch", PM_FIT_EXTRINSIC, NULL, 0, NULL},
	{"gpus", PM_FIT_EXTRINSIC, NULL, 0, NULL}, {"kind", PM_FIT_CATEGORICAL, NULL, 3, kinds},
	{"mode", PM_FIT_CATEGORICAL, NULL, 2, modes}};

struct data {
	double values[COLUMNS][ROWS], time[ROWS], truth[ROWS];
	struct pm_fit_column columns[2][COLUMNS]; /* fitted, test */
	struct pm_fit_problem problem[2];
};

static struct data data;
static struct expression_terms terms;
static double work = WORK;

typedef double truth_function(const double *v);

static void make(truth_function *truth, double noise, double unit)
{
	struct random random;

	random_init(&random, 7, 3);
	for (size_t k = 0; k < ROWS; k++) {
		double v[COLUMNS] = {exp(6 * random_unit(&random)), exp(1 - 4 * random_unit(&random)),
			(double)(8 << random_below(&random, 5)), (double)(1 + random_below(&random, 8)),
			(double)random_below(&random, 3), (double)random_below(&random, 2)};

		for (size_t i = 0; i < COLUMNS; i++)
			data.values[i][k] = v[i];
		data.truth[k] = truth(v);
		data.time[k] = data.truth[k] * exp(noise * random_normal(&random));
		data.values[X][k] *= unit;
	}
	for (size_t s = 0; s < 2; s++) {
		size_t from = s ? FITTED : 0;

		for (size_t i = 0; i < COLUMNS; i++) {
			data.columns[s][i] = all_columns[i];
			data.columns[s][i].values = data.values[i] + from;
		}
		data.problem[s] = (struct pm_fit_problem){
			s ? ROWS - FITTED : FITTED, COLUMNS, data.columns[s], data.time + from, "ms"};
	}
}

/* The formula without its numbers, and these; digits of names and of tables (f1) are no numbers. */
static size_t take_numbers(const char *text, char *form, double *numbers, size_t most)
{
	size_t count = 0;

	while (*text) {
		bool begins =
			isdigit((unsigned char)*text) || (*text == '-' && isdigit((unsigned char)text[1]));
		char *end;

		if (begins && count < most) {
			numbers[count++] = strtod(text, &end);
			*form++ = '#';
			text = end;
			continue;
		}
		do
			*form++ = *text++;
		while (isalpha((unsigned char)text[-1]) && isalnum((unsigned char)*text));
	}
	*form = '\0';
	return count;
}

static char *text_of(const struct expression *e, const struct expression_terms *t)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	expression_print(file, e, t);
	fprintf(file, " where");
	expression_print_groups(file, e, t);
	fclose(file);
	return text;
}

static void search(struct expression_search *found, size_t threads, const char *monotone)
{
	struct expression_settings settings;
	const char *bad = expression_terms_init(&terms, &data.problem[0], NULL, NULL);

	CHECK(!bad, "%s", bad);
	for (size_t i = 0; monotone && i < terms.number_count; i++)
		if (strcmp(terms.numbers[i].name, monotone) == 0)
			terms.numbers[i].monotone = 1;
	expression_defaults(&settings);
	settings.work = work;
	settings.constants = 8;
	settings.thread_count = threads;
	CHECK(expression_search(found, &terms, &data.problem[0], &settings) == 0, "search");
	CHECK(found->result_count > 0, "nothing is found");
}

static double truth_constant(const double *v)
{
	return 4 + 0 * v[X];
}

static double truth_factor(const double *v)
{
	static const double of_kind[] = {1, 2.5, 0.6};

	return 0.3 * pow(v[X], 0.7) * of_kind[(int)v[KIND]];
}

static double truth_overhead(const double *v)
{
	return 0.04 * v[BATCH] / v[GPUS] + 0.5;
}

static double truth_roof(const double *v)
{
	return fmax(0.05 * v[X], 0.3 * v[BATCH]);
}

static double truth_level_powers(const double *v)
{
	static const double q[] = {-0.9, -0.6, -0.3};

	return 5 * pow(v[GPUS], q[(int)v[KIND]]);
}

static double truth_saturation(const double *v)
{
	return 0.02 * (v[BATCH] + 40);
}

static double truth_normal_form(const double *v)
{
	return 2 + 0.3 * v[BATCH] * log2(v[BATCH]);
}

static double truth_norm(const double *v)
{
	return pow(pow(0.1 * v[BATCH], 3) + pow(0.02 * v[X], 3), 1 / 3.0);
}

static double truth_offset(const double *v)
{
	static const double of_kind[] = {1, 4, 9};

	return 0.5 * v[X] + of_kind[(int)v[KIND]];
}

static double truth_generic(const double *v)
{
	return (0.5 * pow(v[X], 0.8) + 10 * v[MODE] + 5) * pow(v[GPUS], -0.9) + 1;
}

static double truth_interaction(const double *v)
{
	return 0.1 * v[X] * v[Y] + 0.02 * v[BATCH];
}

/* One truth: how the formula reads (any of two), the numbers in it in their order. */
static const struct known {
	const char *name;
	truth_function *truth;
	const char *form, *other;
	double numbers[10];
} knowns[] = {
	{"nothing to find", truth_constant, "# where", "", {4}},
	{"a factor by level", truth_factor,
		"#*x^#*f1[kind] where    f1[kind]: # for plain; # for fancy; # for odd\n", "",
		{0.3, 0.7, 1, 2.5, 0.6}},
	{"an overhead", truth_overhead, "#*batch*gpus^# + # where", "# + #*batch*gpus^# where",
		{0.04, -1, 0.5}},
	{"a roof", truth_roof, "max(#*batch, #*x) where", "max(#*x, #*batch) where", {0.3, 0.05}},
	{"powers by level", truth_level_powers,
		"#*gpus^q1[kind] where    q1[kind]: # for plain; # for fancy; # for odd\n", "",
		{5, -0.9, -0.6, -0.3}},
	{"saturation", truth_saturation, "#*batch + # where", "# + #*batch where", {0.02, 0.8}},
	{"a normal form", truth_normal_form, "#*batch*log2(batch) + # where", "# + #*batch*log2(batch) where",
		{0.3, 2}},
	{"parts that overlap", truth_norm, "((#*batch)^# + (#*x)^#)^(#/#) where",
		"((#*x)^# + (#*batch)^#)^(#/#) where", {0.1, 3, 0.02, 3, 1, 3}},
	{"an offset by level", truth_offset,
		"#*x + #*f1[kind] where    f1[kind]: # for plain; # for fancy; # for odd\n",
		"#*f1[kind] + #*x where    f1[kind]: # for plain; # for fancy; # for odd\n",
		{0.5, 1, 1, 4, 9}},
	{"the generic model", truth_generic,
		"gpus^#*(#*x^# + #*f1[mode]) + # where    f1[mode]: # for same; # for valid\n",
		"# + gpus^#*(#*x^# + #*f1[mode]) where    f1[mode]: # for same; # for valid\n",
		{-0.9, 0.5, 0.8, 5, 1, 1, 3}},
	{"an interaction", truth_interaction, "#*x*y + #*batch where", "#*batch + #*x*y where", {0.1, 0.02}},
};

/* Each number of the truth is in the formula. Of a norm's power and of what is a small part 5% are known. */
static void check_numbers(const struct known *known, const double *numbers, size_t count)
{
	bool is_loose = known->truth == truth_norm || known->truth == truth_generic ||
			known->truth == truth_normal_form;

	for (size_t i = 0; i < 10 && known->numbers[i] != 0; i++) {
		double nearest = HUGE_VAL;

		for (size_t j = 0; j < count; j++)
			nearest = fmin(nearest, fabs(numbers[j] / known->numbers[i] - 1));
		CHECK(nearest < (is_loose ? 0.05 : 0.02), "%s: no number is %g, but for %g%%", known->name,
			known->numbers[i], 100 * nearest);
	}
}

static void check_known(const struct known *known)
{
	struct expression_search found;
	const struct expression_result *chosen;
	struct expression_rows rows;
	double numbers[40], times[ROWS], worst = 0;
	char form[4096];
	char *text;
	size_t count;

	make(known->truth, 0.02, 1);
	search(&found, 2, NULL);
	chosen = &found.results[found.chosen];
	text = text_of(&chosen->expression, &terms);
	count = take_numbers(text, form, numbers, 40);
	printf("%-22s %2zu constants, %zu fits, %.1f s: %s\n", known->name, chosen->expression.constant_count,
		found.candidates, found.seconds, text);
	CHECK(strcmp(form, known->form) == 0 || strcmp(form, known->other) == 0, "%s: '%s' is not '%s'",
		known->name, form, known->form);
	check_numbers(known, numbers, count);
	CHECK(expression_rows_init(&rows, &terms, &data.problem[1], NULL, ROWS - FITTED) == 0, "rows");
	expression_times(&chosen->expression, &rows, times);
	for (size_t k = 0; k < ROWS - FITTED; k++)
		worst = fmax(worst, fabs(times[k] / data.truth[FITTED + k] - 1));
	CHECK(worst < 0.02, "%s: a prediction is off by %g", known->name, worst);
	expression_rows_free(&rows);
	expression_search_free(&found);
	free(text);
}

/* Slopes of all ops and factors against differences. */
static void check_slopes(void)
{
	struct expression e = {.node_count = 1};
	struct expression_rows rows;
	double logs[EXPRESSION_BLOCK], more[EXPRESSION_BLOCK];
	static double slopes[EXPRESSION_CONSTANTS * EXPRESSION_BLOCK];
	size_t leaf;
	bool built;

	make(truth_generic, 0.02, 1);
	expression_terms_init(&terms, &data.problem[0], NULL, NULL);
	CHECK(expression_rows_init(&rows, &terms, &data.problem[0], NULL, FITTED) == 0, "rows");
	/* harmonic(norm(leaf, leaf), max(leaf, leaf), leaf) with each factor somewhere */
	e.nodes[0].op = EXPRESSION_HARMONIC;
	e.nodes[1] = (struct expression_node){.op = EXPRESSION_NORM};
	e.nodes[2] = (struct expression_node){.op = EXPRESSION_MAX};
	e.node_count = 3;
	built = edit_constant(&e, 0.4, &e.nodes[1].at) && edit_add_power(&e, 0, 3, -0.7) &&
		edit_add_group(&e, &terms, 1, 0);
	for (size_t i = 0; i < 5; i++) {
		leaf = edit_add_leaf(&e, i < 2 ? 1 : i < 4 ? 2 : 0);
		built = built && leaf != EDIT_NOWHERE &&
			edit_add_power(&e, leaf, i % 3, 0.3 + 0.1 * (double)i);
		e.constants[e.nodes[leaf].at] = 1 - 0.3 * (double)i;
	}
	built = built && edit_add(&e, leaf, (struct expression_factor){EXPRESSION_LOG, 2, 0, 0, 0});
	e.nodes[3].factors[0].kind = EXPRESSION_POWER_BY_GROUP;
	built = built && edit_constants(&e, 3, 0.2, &e.nodes[3].factors[0].at) && expression_pack(&e, &terms);
	CHECK(built && e.constant_count == 14, "%zu constants", e.constant_count);
	expression_logs(&e, &rows, 0, EXPRESSION_BLOCK, logs, slopes);
	for (size_t c = 0; c < e.constant_count; c++) {
		const double step = 1e-6;
		size_t wrong = 0;

		e.constants[c] += step;
		expression_logs(&e, &rows, 0, EXPRESSION_BLOCK, more, NULL);
		e.constants[c] -= step;
		for (size_t k = 0; k < EXPRESSION_BLOCK; k++)
			wrong += fabs((more[k] - logs[k]) / step - slopes[c * EXPRESSION_BLOCK + k]) > 1e-4;
		/* at the kink of a max there is no slope */
		CHECK(wrong < 2, "constant %zu: %zu slopes are wrong", c, wrong);
	}
	expression_rows_free(&rows);
}

/* The same formula, to the bit, with one thread and with three; and in other units the same predictions. */
static void check_same(void)
{
	struct expression_search one, three, scaled;
	char *first, *second, form[2][4096];
	double numbers[40];

	make(truth_offset, 0.02, 1);
	search(&one, 1, NULL);
	first = text_of(&one.results[one.chosen].expression, &terms);
	search(&three, 3, NULL);
	second = text_of(&three.results[three.chosen].expression, &terms);
	CHECK(one.candidates == three.candidates && one.result_count == three.result_count, "threads");
	for (size_t i = 0; i < one.result_count && i < three.result_count; i++)
		CHECK(memcmp(one.results[i].expression.constants, three.results[i].expression.constants,
			      one.results[i].expression.constant_count * sizeof(double)) == 0,
			"threads change result %zu", i);
	CHECK(strcmp(first, second) == 0, "'%s' is not '%s'", first, second);
	free(second);
	make(truth_offset, 0.02, 1000);
	search(&scaled, 2, NULL);
	second = text_of(&scaled.results[scaled.chosen].expression, &terms);
	take_numbers(first, form[0], numbers, 40);
	take_numbers(second, form[1], numbers, 40);
	CHECK(strcmp(form[0], form[1]) == 0, "another unit, another form: '%s', '%s'", form[0], form[1]);
	CHECK(fabs(scaled.results[scaled.chosen].held_out / one.results[one.chosen].held_out - 1) < 1e-3,
		"another unit, another error");
	free(first);
	free(second);
	expression_search_free(&one);
	expression_search_free(&three);
	expression_search_free(&scaled);
}

static double truth_falling(const double *v)
{
	return 5 * pow(v[GPUS], -0.9) + 0.1 * v[BATCH];
}

/* More gpus make it no shorter, whatever the data say. */
static void check_monotone(void)
{
	struct expression_search found;
	struct expression_rows rows;
	double times[ROWS];
	size_t wrong = 0;

	make(truth_falling, 0.02, 1);
	search(&found, 2, "gpus");
	for (size_t i = 0; i < found.result_count; i++) {
		for (size_t g = 1; g <= 8; g++) {
			double before[ROWS];

			memcpy(before, times, sizeof(before));
			for (size_t k = 0; k < ROWS; k++)
				data.values[GPUS][k] = (double)g;
			CHECK(expression_rows_init(&rows, &terms, &data.problem[0], NULL, FITTED) == 0,
				"rows");
			expression_times(&found.results[i].expression, &rows, times);
			for (size_t k = 0; g > 1 && k < FITTED; k++)
				wrong += !(times[k] >= before[k] * (1 - 1e-12));
			expression_rows_free(&rows);
		}
	}
	CHECK(wrong == 0, "%zu times fall with more gpus", wrong);
	expression_search_free(&found);
}

/* A model gives the same times after it was printed and read, and wrong files are refused in a sentence. */
static void check_file(void)
{
	static const char *const wrongs[][2] = {{"\"version\":\t1", "\"version\":\t2"},
		{"\"op\":\t\"sum\"", "\"op\":\t\"product\""}, {"\"column\":\t\"x\"", "\"column\":\t\"z\""},
		{"\"coefficient\"", "\"efficient\""},
		{"\"levels_of\":\t\"mode\"", "\"levels_of\":\t\"mood\""},
		{"\"groups\":\t[0", "\"groups\":\t[3"}};
	struct expression_search found;
	struct pm_fit_model *model, *again;
	double first[ROWS], second[ROWS];
	const char *bad;
	char *text;

	make(truth_generic, 0.02, 1);
	search(&found, 2, NULL);
	CHECK(expression_model(&model, &found.results[found.chosen].expression, &terms, &data.problem[0]) ==
			0,
		"model");
	text = pm_fit_print(model);
	bad = pm_fit_parse(text, &again);
	CHECK(!bad, "%s", bad);
	for (size_t s = 0; s < 2 && !bad; s++) {
		for (size_t i = 0; i < COLUMNS; i++)
			data.columns[s][i].role = i < KIND ? PM_FIT_EXTRINSIC : PM_FIT_FACTOR;
		bad = pm_fit_check_predict(again, &data.problem[s]);
		CHECK(!bad, "%s", bad);
		CHECK(pm_fit_predict(model, &data.problem[s], first) == 0 &&
				pm_fit_predict(again, &data.problem[s], second) == 0,
			"predict");
		for (size_t k = 0; k < data.problem[s].sample_count; k++)
			CHECK(fabs(first[k] / second[k] - 1) < 1e-12, "sample %zu: %g, %g", k, first[k],
				second[k]);
	}
	pm_fit_free(again);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		char *copy = strdup(text), *at = strstr(copy, wrongs[i][0]), *wrong = NULL;

		CHECK(at, "no %s in %s", wrongs[i][0], text);
		if (at) {
			*at = '\0';
			CHECK(asprintf(&wrong, "%s%s%s", copy, wrongs[i][1], at + strlen(wrongs[i][0])) > 0,
				"print");
			bad = pm_fit_parse(wrong, &again);
			CHECK(bad && !again, "%s is taken for %s", wrongs[i][1], wrongs[i][0]);
			pm_fit_free(again);
		}
		free(copy);
		free(wrong);
	}
	free(text);
	pm_fit_free(model);
	expression_search_free(&found);
}

int main(void)
{
	check_slopes();
	work = LITTLE;
	check_file();
	check_same();
	check_monotone();
	work = WORK;
	for (size_t i = 0; i < sizeof(knowns) / sizeof(*knowns); i++)
		check_known(&knowns[i]);
	return check_end();
}
