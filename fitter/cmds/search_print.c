/* What pmfit search prints: the front as a table, and in text why one formula of it is taken. */
#include "formula_words.h"
#include "search.h"
#include "base/text.h"
#include "model/expression_model.h"
#include "model/model_file.h"
#include "output/report.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define OPTIMISM 3 /* power of 1 - c/n by which a held-out error is too small */

/* Columns of the front: where the test rows' errors begin, and the last. */
enum { FRONT_TEST = 10, FRONT_FORMULA = 14 };

const char *const search_cost_names[] = {"relative", "absolute", "squared", NULL};
const char *const search_cost_heads[] = {"MAPE %", "MAE", "MSE"};

double search_shown(const struct search_answer *a, double loss)
{
	return a->choices->settings.cost == EXPRESSION_RELATIVE ? 100 * loss : loss;
}

bool search_has_test(const struct search_answer *a)
{
	return a->observations->test.sample_count > 0;
}

/* The unit of what search_shown returns. */
static const char *cost_unit(const struct search_answer *a, struct arena *arena)
{
	const char *unit = a->observations->train.time_unit ? a->observations->train.time_unit : "time";

	switch (a->choices->settings.cost) {
	case EXPRESSION_RELATIVE:
		return "%";
	case EXPRESSION_SQUARED:
		return arena_format(arena, "%s^2", unit);
	default:
		return unit;
	}
}

static char *text_of(const struct search_answer *a, size_t result)
{
	char *text = expression_text(&a->search.results[result].expression, &a->terms);

	if (!text)
		errx(1, "out of memory");
	return text;
}

/* No formula with fewer constants is within the best's standard error. */
static bool is_fewest(const struct search_answer *a)
{
	const struct expression_result *best = &a->search.results[a->search.best];

	for (size_t i = 0; i < a->taken; i++)
		if (a->search.results[i].held_out <= best->held_out + best->error)
			return false;
	return true;
}

static void say_why(const struct search_answer *a, struct sentences *said)
{
	const struct expression_result *best = &a->search.results[a->search.best],
				       *taken = &a->search.results[a->taken];

	if (a->taken != a->search.chosen)
		sentences_add(said, "Requested by --take; the default selection has %zu constants.",
			a->search.results[a->search.chosen].expression.constant_count);
	else if (a->taken == a->search.best)
		sentences_add(said,
			"Selected: the best on held-out rows; no formula with fewer constants is within its "
			"standard error (%.3g).",
			search_shown(a, best->error));
	else if (taken->excess > best->error && taken->excess < 1e-4)
		sentences_add(said,
			"Selected: the best has %zu constants and is better by %.3g, less than one "
			"millionth of the time.",
			best->expression.constant_count, search_shown(a, taken->excess));
	else if (taken->excess > best->error)
		sentences_add(said,
			"Selected by the Bayesian information criterion (of held-out errors; constants and factors count): the best "
			"has %zu constants and is better by %.3g, too little for more constants with so few rows.",
			best->expression.constant_count, search_shown(a, taken->excess));
	else
		sentences_add(said,
			"Selected: the best has %zu constants and is better by %.3g, within its standard error (%.3g); no formula "
			"with fewer constants is%s.",
			best->expression.constant_count, search_shown(a, taken->excess),
			search_shown(a, best->error),
			is_fewest(a) ? "" : ", but for those that miss the largest values by twice as much");
}

/* All that was chosen by the rows: constants, and the powers that were fixed at one of a few numbers. */
static size_t chosen_numbers(const struct expression *e)
{
	size_t count = e->constant_count;

	for (size_t n = 0; n < e->node_count; n++)
		for (size_t f = 0; f < e->nodes[n].factor_count; f++)
			count += e->nodes[n].factors[f].kind == EXPRESSION_FIXED;
	return count;
}

/*
 * The error to be expected on new rows. The held-out error is too small, since the formula's structure was
 * chosen with all rows: by about (1 - c/n)^3 on tables of 60 to 110 rows, c numbers chosen from n rows. NAN:
 * c is not less than n.
 */
static double expected_error(const struct search_answer *a, const struct expression_result *r)
{
	double share = (double)chosen_numbers(&r->expression) / (double)a->observations->train.sample_count;

	return share < 1 ? r->held_out / pow(1 - share, OPTIMISM) : NAN;
}

/* A row for each number of constants; `front` is empty. Its errors are in cost_unit. */
static void tabulate_front(const struct search_answer *a, struct print_table *front)
{
	const bool tested = search_has_test(a);
	const struct print_column columns[] = {
		PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
		PRINT_COLUMN("constants", "constants", PRINT_COUNT),
		PRINT_COLUMN("chosen", NULL, PRINT_FLAG, .csv_key = ""),
		PRINT_COLUMN("taken", NULL, PRINT_FLAG),
		PRINT_COLUMN("held_out",
			arena_format(
				front->arena, "held-out %s", search_cost_heads[a->choices->settings.cost]),
			PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("held_out_error", "+-", PRINT_FIGURE, .digits = 2, .of_previous = true),
		PRINT_COLUMN("expected", NULL, PRINT_FIGURE, .csv_key = ""),
		PRINT_COLUMN("excess", NULL, PRINT_FIGURE),
		PRINT_COLUMN("excess_error", NULL, PRINT_FIGURE),
		PRINT_COLUMN("fitted", NULL, PRINT_FIGURE),
		PRINT_COLUMN(NULL, tested ? "test MAPE %" : NULL, PRINT_FIGURE, .digits = 4,
			.csv_key = "test_mape"),
		PRINT_COLUMN(NULL, NULL, PRINT_FIGURE, .csv_key = "test_mae"),
		PRINT_COLUMN(NULL, NULL, PRINT_FIGURE, .csv_key = "test_rmse"),
		PRINT_COLUMN(NULL, tested ? "test R2" : NULL, PRINT_REAL, .digits = 4, .csv_key = "test_r2"),
		PRINT_COLUMN("formula", "formula", PRINT_WORD),
	};

	print_columns(front, columns, FRONT_FORMULA + 1);
	for (size_t i = 0; i < a->search.result_count; i++) {
		const struct expression_result *r = &a->search.results[i];
		const struct pm_fit_error *test = &a->test[i];
		char *text = text_of(a, i);

		print_row(front);
		print_word(front, 0, i == a->taken ? "*" : "");
		print_numbers(front, 1,
			(double[]){(double)r->expression.constant_count, i == a->search.chosen, i == a->taken,
				search_shown(a, r->held_out), search_shown(a, r->error),
				search_shown(a, expected_error(a, r)), search_shown(a, r->excess),
				search_shown(a, r->excess_error), search_shown(a, r->fitted)},
			FRONT_TEST - 1);
		if (tested)
			print_numbers(front, FRONT_TEST,
				(double[]){test->mape, test->mae, test->rmse, test->r2},
				FRONT_FORMULA - FRONT_TEST);
		print_word(front, FRONT_FORMULA, text);
		free(text);
	}
}

static void say_expected(const struct search_answer *a, struct sentences *said)
{
	const struct expression_result *taken = &a->search.results[a->taken];
	double expected = expected_error(a, taken);
	size_t numbers = chosen_numbers(&taken->expression), rows = a->observations->train.sample_count;

	if (isfinite(expected))
		sentences_add(said,
			"Expected on new rows: %s %.4g (held-out %.4g; %zu constant%s and chosen powers from %zu "
			"rows).",
			search_cost_heads[a->choices->settings.cost], search_shown(a, expected),
			search_shown(a, taken->held_out), numbers, pm_text_plural(numbers), rows);
	else
		sentences_add(said,
			"Expected on new rows: - (%zu constants and chosen powers from %zu rows).", numbers,
			rows);
}

static void say_beyond(const struct search_answer *a, struct sentences *said)
{
	struct formula_beyond beyond[EXPRESSION_COLUMNS];
	size_t count =
		formula_beyond(&a->search.results[a->taken], &a->terms, &a->observations->train, beyond);

	formula_say_beyond(said, beyond, count);
}

static void say_unused(const struct search_answer *a, struct sentences *said)
{
	const char *text = "Unused columns:", *gap = " ";

	for (size_t i = 0; i < a->model->column_count; i++)
		if (a->model->columns[i].role == PM_FIT_IGNORED &&
			a->observations->train.columns[i].role != PM_FIT_IGNORED) {
			text = arena_format(said->arena, "%s%s%s", text, gap, a->model->columns[i].name);
			gap = ", ";
		}
	if (*gap == ',')
		sentences_add(said, "%s.", text);
}

/* What was searched: the rows, and how long. */
static void say_extent(const struct search_answer *a, struct sentences *said)
{
	const struct pm_fit_problem *train = &a->observations->train;

	sentences_add(said, "%s: %zu samples to fit, %zu to test%s%s", a->path, train->sample_count,
		a->observations->test.sample_count, train->time_unit ? "; times in " : "",
		train->time_unit ? train->time_unit : "");
	sentences_add(said, "%zu fits of formulas in %zu round%s%s; %s.", a->search.candidates,
		a->search.rounds, pm_text_plural(a->search.rounds),
		a->choices->form == PRINT_TEXT ? arena_format(said->arena, ", %.1f s", a->search.seconds)
					       : "", /* files are the same from run to run */
		a->search.interrupted ? "interrupted"
		: a->search.complete  ? "no change improves the result"
				      : "the work budget is spent");
}

/* What a search yields beside its numbers, for all forms. */
struct result {
	struct print_table front;
	struct sentences extent, formula, said;
};

static void print_answer(const struct search_answer *a, const struct result *result)
{
	sentences_text(&result->extent, 0, 2, stdout);
	putchar('\n');
	print_text(&result->front, NULL, stdout);
	putchar('\n');
	/* unbroken: they are copied */
	for (size_t i = 0; i < result->formula.count; i++)
		printf("%s%s\n", i ? "    " : "time = ", result->formula.items[i]);
	putchar('\n');
	sentences_text(&result->said, 0, 2, stdout);
	putchar('\n');
	report_error_table((const struct report_error[]){{"fitted", a->model->train, NULL},
				   {"test", a->test[a->taken], NULL}},
		search_has_test(a) ? 2 : 1, stdout);
}

static void print_answer_json(const struct search_answer *a, const struct result *result)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "cost", search_cost_names[a->choices->settings.cost]);
	cJSON_AddStringToObject(root, "cost_unit", cost_unit(a, result->front.arena));
	cJSON_AddNumberToObject(root, "samples_fitted", (double)a->observations->train.sample_count);
	cJSON_AddNumberToObject(root, "samples_tested", (double)a->observations->test.sample_count);
	cJSON_AddNumberToObject(root, "fits", (double)a->search.candidates);
	cJSON_AddNumberToObject(root, "rounds", (double)a->search.rounds);
	cJSON_AddBoolToObject(root, "complete", a->search.complete);
	cJSON_AddBoolToObject(root, "interrupted", a->search.interrupted);
	array = cJSON_AddArrayToObject(root, "front");
	for (size_t i = 0; i < a->search.result_count; i++) {
		cJSON *object = print_json_row(&result->front, i);

		cJSON_AddItemToObject(object, "test",
			search_has_test(a) ? model_file_error(&a->test[i]) : cJSON_CreateNull());
		cJSON_AddItemToArray(array, object);
	}
	cJSON_AddItemToObject(root, "model", model_file_json(a->model));
	sentences_json(&result->formula, root, "formula");
	sentences_json(&result->extent, root, "sentences");
	sentences_json(&result->said, root, "sentences");
	print_json_end(root, stdout);
}

void search_print(const struct search_answer *a)
{
	struct arena arena = {0};
	struct result result = {
		.extent = {.arena = &arena}, .formula = {.arena = &arena}, .said = {.arena = &arena}};

	print_init(&result.front, &arena);
	tabulate_front(a, &result.front);
	say_extent(a, &result.extent);
	report_expression(&a->search.results[a->taken].expression, &a->terms, &result.formula);
	say_why(a, &result.said);
	say_expected(a, &result.said);
	if (a->choices->settings.cost == EXPRESSION_RELATIVE)
		say_beyond(a, &result.said);
	say_unused(a, &result.said);
	if (a->choices->form == PRINT_TEXT)
		print_answer(a, &result);
	else if (a->choices->form == PRINT_CSV)
		print_csv(&result.front, stdout);
	else
		print_answer_json(a, &result);
	print_free(&result.front);
	arena_free(&arena);
}
