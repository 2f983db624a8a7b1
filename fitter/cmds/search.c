/* pmfit search: which expression predicts best: roles, interactions, structure. */
#include "base/csv.h"
#include "base/table.h"
#include "base/terminal.h"
#include "expression/expression_search.h"
#include "model/expression_model.h"
#include "model/model_file.h"
#include "options.h"
#include "output/report.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIMISM 3 /* power of 1 - c/n by which a held-out error is too small */

enum format { TEXT, CSV, JSON };

struct choices {
	struct options options;
	struct expression_settings settings;
	const char *monotone, *output;
	size_t take; /* 0: the chosen */
	enum format format;
};

struct answer {
	const char *path;
	const struct choices *choices;
	const struct observations *observations;
	struct expression_search search;
	struct expression_terms terms;
	struct pm_fit_error *test;  /* of each result */
	struct pm_fit_model *model; /* of the one taken */
	size_t taken;
	bool on_line; /* progress is on the terminal's last line */
};

static const char *const cost_names[] = {"relative", "absolute", "squared", NULL};
static const char *const cost_heads[] = {"MAPE %", "MAE", "MSE"};

/* A loss as it is printed: percent where it is relative. */
static double shown(const struct answer *a, double loss)
{
	return a->choices->settings.cost == EXPRESSION_RELATIVE ? 100 * loss : loss;
}

static void progress(void *context, const struct expression_progress *p)
{
	struct answer *a = context;

	if (a->choices->options.quiet)
		return;
	pm_terminal_progress("round %zu, %.0f s, %.0f%% of the work: %s %.4g with %zu constants", p->round,
		p->seconds, fmin(100, 100 * p->share), cost_heads[a->choices->settings.cost],
		shown(a, p->loss), p->constants);
	a->on_line = true;
}

static void print_warning(void *context, const char *sentence)
{
	const struct answer *a = context;

	if (!a->choices->options.quiet)
		warnx("%s: %s", a->path, sentence);
}

/* "batch+,gpus-" */
static void set_monotone(struct expression_terms *terms, const char *list)
{
	char *copy = strdup(list), *next = copy, *word;

	if (!copy)
		errx(1, "out of memory");
	while ((word = strsep(&next, ","))) {
		size_t length = strlen(word), found = 0;
		char sign = length ? word[length - 1] : '\0';

		if (length < 2 || (sign != '+' && sign != '-'))
			cmd_usage(&cmd_search, "--monotone %s: expected a column and + or -", word);
		word[length - 1] = '\0';
		for (size_t i = 0; i < terms->number_count; i++)
			if (strcmp(terms->numbers[i].name, word) == 0) {
				terms->numbers[i].monotone = sign == '+' ? 1 : -1;
				found++;
			}
		if (!found)
			cmd_usage(&cmd_search, "--monotone %s: no such numeric column", word);
	}
	free(copy);
}

static char *text_of(const struct answer *a, size_t result)
{
	char *text = expression_text(&a->search.results[result].expression, &a->terms);

	if (!text)
		errx(1, "out of memory");
	return text;
}

static bool has_test(const struct answer *a)
{
	return a->observations->test.sample_count > 0;
}

static void measure_tests(struct answer *a)
{
	const struct pm_fit_problem *test = &a->observations->test;
	double *times = malloc((test->sample_count + 1) * sizeof(*times));
	struct expression_rows rows;

	a->test = calloc(a->search.result_count + 1, sizeof(*a->test));
	if (!times || !a->test)
		errx(1, "out of memory");
	if (has_test(a)) {
		if (expression_rows_init(&rows, &a->terms, test, NULL, test->sample_count) == -ENOMEM)
			errx(1, "out of memory");
		for (size_t i = 0; i < a->search.result_count; i++) {
			expression_times(&a->search.results[i].expression, &rows, times);
			pm_fit_measure(test->time, times, test->sample_count, &a->test[i]);
		}
		expression_rows_free(&rows);
	}
	free(times);
}

static void print_front(const struct answer *a)
{
	printf("  %9s %10s %8s", "constants", "held-out", "+-");
	if (has_test(a))
		printf(" %10s %8s", "test MAPE", "test R2");
	printf("   formula (held-out: %s)\n", cost_heads[a->choices->settings.cost]);
	for (size_t i = 0; i < a->search.result_count; i++) {
		const struct expression_result *r = &a->search.results[i];
		char *text = text_of(a, i);

		printf("%c %9zu %10.4g %8.2g", i == a->taken ? '*' : ' ', r->expression.constant_count,
			shown(a, r->held_out), shown(a, r->error));
		if (has_test(a))
			printf(" %9.4g%% %8.4f", a->test[i].mape, a->test[i].r2);
		printf("   %s\n", text);
		free(text);
	}
}

static void print_why(const struct answer *a)
{
	const struct expression_result *best = &a->search.results[a->search.best],
				       *taken = &a->search.results[a->taken];

	if (a->taken != a->search.chosen)
		printf("Requested by --take; the default selection has %zu constants.\n",
			a->search.results[a->search.chosen].expression.constant_count);
	else if (a->taken == a->search.best)
		printf("Selected: the best on held-out rows; no formula with fewer constants is within its "
		       "standard error (%.3g).\n",
			shown(a, best->error));
	else if (taken->excess > best->error)
		printf("Selected: the best has %zu constants; this one is worse by %.3g, less than one "
		       "millionth of the time.\n",
			best->expression.constant_count, shown(a, taken->excess));
	else
		printf("Selected: the best has %zu constants; this one is worse by %.3g, within the best's "
		       "standard error (%.3g); none with fewer constants is.\n",
			best->expression.constant_count, shown(a, taken->excess), shown(a, best->error));
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
static double expected_error(const struct answer *a, const struct expression_result *r)
{
	double share = (double)chosen_numbers(&r->expression) / (double)a->observations->train.sample_count;

	return share < 1 ? r->held_out / pow(1 - share, OPTIMISM) : NAN;
}

static void print_expected(const struct answer *a)
{
	const struct expression_result *taken = &a->search.results[a->taken];
	double expected = expected_error(a, taken);
	size_t numbers = chosen_numbers(&taken->expression), rows = a->observations->train.sample_count;

	if (isfinite(expected))
		printf("Expected on new rows: %s %.4g (held-out %.4g; %zu constants and chosen powers from %zu rows).\n",
			cost_heads[a->choices->settings.cost], shown(a, expected), shown(a, taken->held_out),
			numbers, rows);
	else
		printf("Expected on new rows: - (%zu constants and chosen powers from %zu rows).\n", numbers,
			rows);
}

static void print_absent(const struct answer *a)
{
	const char *gap = "Unused columns: ";

	for (size_t i = 0; i < a->model->column_count; i++)
		if (a->model->columns[i].role == PM_FIT_IGNORED &&
			a->observations->train.columns[i].role != PM_FIT_IGNORED) {
			printf("%s%s", gap, a->model->columns[i].name);
			gap = ", ";
		}
	if (*gap == ',')
		printf(".\n");
}

static void answer_text(const struct answer *a)
{
	const struct expression_result *taken = &a->search.results[a->taken];
	char *text = text_of(a, a->taken);

	printf("%s: %zu samples to fit, %zu to test", a->path, a->observations->train.sample_count,
		a->observations->test.sample_count);
	if (a->observations->train.time_unit)
		printf("; times in %s", a->observations->train.time_unit);
	printf("\n%zu fits of formulas in %zu rounds, %.1f s; %s.\n\n", a->search.candidates,
		a->search.rounds, a->search.seconds,
		a->search.interrupted ? "interrupted"
		: a->search.complete  ? "no change improves the result"
				      : "the work budget is spent");
	print_front(a);
	printf("\ntime = %s\n", text);
	expression_print_groups(stdout, &taken->expression, &a->terms);
	printf("\n");
	print_why(a);
	print_expected(a);
	print_absent(a);
	putchar('\n');
	report_error_table((const struct report_error[]){{"fitted", a->model->train, NULL},
				   {"test", a->test[a->taken], NULL}},
		has_test(a) ? 2 : 1, stdout);
	free(text);
}

static void answer_csv(const struct answer *a)
{
	struct csv_line line = {.out = stdout};

	puts("constants,taken,held_out,held_out_error,excess,excess_error,fitted,test_mape,test_mae,test_rmse,"
	     "test_r2,formula");
	for (size_t i = 0; i < a->search.result_count; i++) {
		const struct expression_result *r = &a->search.results[i];
		char *text = text_of(a, i);

		csv_put_number(&line, (double)r->expression.constant_count);
		csv_put_number(&line, i == a->taken);
		csv_put_numbers(&line,
			(double[]){shown(a, r->held_out), shown(a, r->error), shown(a, r->excess),
				shown(a, r->excess_error), shown(a, r->fitted)},
			5);
		for (int k = 0; k < 4; k++)
			csv_put_number(&line, has_test(a) ? (double[]){a->test[i].mape, a->test[i].mae,
								    a->test[i].rmse, a->test[i].r2}[k]
							  : NAN);
		csv_put(&line, text);
		csv_end(&line);
		free(text);
	}
}

static void answer_json(const struct answer *a)
{
	cJSON *root = cJSON_CreateObject(), *array;

	cJSON_AddStringToObject(root, "cost", cost_names[a->choices->settings.cost]);
	cJSON_AddNumberToObject(root, "samples_fitted", (double)a->observations->train.sample_count);
	cJSON_AddNumberToObject(root, "samples_tested", (double)a->observations->test.sample_count);
	cJSON_AddNumberToObject(root, "fits", (double)a->search.candidates);
	cJSON_AddNumberToObject(root, "rounds", (double)a->search.rounds);
	cJSON_AddNumberToObject(root, "seconds", a->search.seconds);
	cJSON_AddBoolToObject(root, "complete", a->search.complete);
	cJSON_AddBoolToObject(root, "interrupted", a->search.interrupted);
	array = cJSON_AddArrayToObject(root, "front");
	for (size_t i = 0; i < a->search.result_count; i++) {
		const struct expression_result *r = &a->search.results[i];
		cJSON *object = cJSON_CreateObject();
		char *text = text_of(a, i);

		cJSON_AddNumberToObject(object, "constants", (double)r->expression.constant_count);
		cJSON_AddBoolToObject(object, "chosen", i == a->search.chosen);
		cJSON_AddBoolToObject(object, "taken", i == a->taken);
		cJSON_AddStringToObject(object, "formula", text);
		cJSON_AddItemToObject(object, "held_out", model_file_number(r->held_out));
		cJSON_AddItemToObject(object, "held_out_error", model_file_number(r->error));
		cJSON_AddItemToObject(object, "expected", model_file_number(expected_error(a, r)));
		cJSON_AddItemToObject(object, "excess", model_file_number(r->excess));
		cJSON_AddItemToObject(object, "excess_error", model_file_number(r->excess_error));
		cJSON_AddItemToObject(object, "fitted", model_file_number(r->fitted));
		cJSON_AddItemToObject(
			object, "test", has_test(a) ? model_file_error(&a->test[i]) : cJSON_CreateNull());
		cJSON_AddItemToArray(array, object);
		free(text);
	}
	cJSON_AddItemToObject(root, "model", model_file_json(a->model));
	print_json_end(root, stdout);
}

enum { COST = OPTION_FIRST, CONSTANTS, MONOTONE, FOLDS, WORK, SECONDS, TAKE };

/* Those of the shared options that say what the columns mean, and the search's own. */
static void take_options(int argument_count, char **arguments, struct choices *c)
{
	struct expression_settings *s = &c->settings;
	int option;

	while ((option = command_option(&cmd_search, argument_count, arguments)) != -1) {
		if (options_take(&cmd_search, &c->options, option, optarg))
			continue;
		switch (option) {
		case COST:
			s->cost = (enum expression_cost)command_word(&cmd_search, option, optarg, cost_names);
			break;
		case CONSTANTS:
			s->constants = command_count(&cmd_search, option, optarg, 1, 40);
			break;
		case FOLDS:
			s->folds = command_count(&cmd_search, option, optarg, 2, ULONG_MAX);
			break;
		case WORK:
			s->work = 1e9 * command_number(&cmd_search, option, optarg, 0, DBL_MAX);
			break;
		case SECONDS:
			s->seconds = command_number(&cmd_search, option, optarg, 0, DBL_MAX);
			break;
		case TAKE:
			c->take = command_count(&cmd_search, option, optarg, 1, ULONG_MAX);
			break;
		case MONOTONE:
			c->monotone = optarg;
			break;
		case 'o':
			c->output = optarg;
			break;
		case 'c':
			c->format = CSV;
			break;
		default:
			command_unhandled(&cmd_search, option);
		}
	}
	options_end(&cmd_search, &c->options);
	if (c->options.json)
		c->format = JSON;
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_search, "expected one table");
}

static void search(struct answer *a)
{
	const struct pm_fit_problem *train = &a->observations->train;
	const char *bad = expression_terms_init(&a->terms, train, print_warning, a);
	int status;

	if (bad)
		errx(1, "%s: %s", a->path, bad);
	if (a->choices->monotone)
		set_monotone(&a->terms, a->choices->monotone);
	if (train->sample_count < 2 * a->choices->settings.folds)
		errx(1, "%s: too few samples (%zu) for %zu folds", a->path, train->sample_count,
			a->choices->settings.folds);
	status = expression_search(&a->search, &a->terms, train, &a->choices->settings);
	if (a->on_line)
		pm_terminal_clear();
	if (status == -EDOM)
		errx(1, "%s: a time does not exceed its offset", a->path);
	if (status < 0 || a->search.result_count == 0)
		errx(1, "%s: %s", a->path,
			status < 0 ? strerror(-status) : "interrupted before a first result");
	a->taken = a->search.chosen;
	for (size_t i = 0; a->choices->take && i < a->search.result_count; i++)
		if (a->search.results[i].expression.constant_count <= a->choices->take)
			a->taken = i;
}

static int run(int argument_count, char **arguments)
{
	struct choices choices = {0};
	struct observations observations;
	struct answer answer = {.choices = &choices, .observations = &observations};
	int status;

	options_init(&choices.options);
	expression_defaults(&choices.settings);
	take_options(argument_count, arguments, &choices);
	answer.path = arguments[optind];
	choices.options.parameter.power_lower = 0; /* zeros are no hindrance here */
	options_read_table(&choices.options, answer.path, &observations);
	choices.settings.seed = choices.options.parameter.seed;
	choices.settings.thread_count = choices.options.parameter.thread_count;
	choices.settings.stop = options_catch_interrupt();
	choices.settings.progress = progress;
	choices.settings.context = &answer;
	search(&answer);
	measure_tests(&answer);
	status = expression_model(&answer.model, &answer.search.results[answer.taken].expression,
		&answer.terms, &observations.train);
	if (status == 0 && choices.output)
		status = pm_fit_save(answer.model, choices.output);
	if (status < 0)
		errx(1, "%s: %s", choices.output ? choices.output : answer.path, strerror(-status));
	if (choices.format == TEXT)
		answer_text(&answer);
	else if (choices.format == CSV)
		answer_csv(&answer);
	else
		answer_json(&answer);
	status = answer.search.interrupted && !(choices.settings.seconds > 0);
	pm_fit_free(answer.model);
	free(answer.test);
	expression_search_free(&answer.search);
	observations_free(&observations);
	options_free(&choices.options);
	return status;
}

static const struct option_row rows[] = {
	{NULL, 0, NULL, "How to search:"},
	{"cost", COST, "relative|absolute|squared",
		"error measure: relative to the measured time (default; the mean is MAPE), in the time's "
		"unit, or squared"},
	{"constants", CONSTANTS, "N", "maximum number of constants, default 12"},
	{"monotone", MONOTONE, "LIST",
		"monotone columns: gpus- (the time never grows with it), batch+ (the time never falls "
		"with it)"},
	{"folds", FOLDS, "N", "folds of the cross-validation, default 5"},
	{"work", WORK, "X",
		"work budget in units of 10^9 operations, default 100; the result depends on it, not on "
		"the machine"},
	{"seconds", SECONDS, "X",
		"stop after this time with the best so far; the result then depends on the machine"},
	{"seed", OPTION_SEED, "N",
		"random seed for rows and folds, default 1. The result does not depend on --threads"},
	{"threads", OPTION_THREADS, "N", "default: one per processor"},
	{NULL, 0, NULL, "Output:"},
	{"output", 'o', "FILE", "write the selected formula as a model for 'pmfit predict'"},
	{"take", TAKE, "N", "use the formula with N constants instead of the selected one"},
	{"csv", 'c', NULL, "CSV output: the table"},
	{"json", 'j', NULL, "JSON output, complete"},
	{"quiet", 'q', NULL, "no progress, no warnings"},
	{0},
};

const struct command cmd_search = {
	.name = "search",
	.summary = "find the expression that predicts best: roles, interactions, structure",
	.usage = "[OPTION]... TABLE.csv",
	.about = "The other commands fit one fixed form, with column roles from the description. This one "
		 "searches for the form: which columns matter, whether each adds or multiplies, and where "
		 "maxima, overheads and interactions are. It builds formulas of\n"
		 "\n"
		 "  c * x^p * ...\ta coefficient and powers; a power may be fixed at a common number (2, "
		 "-1, 0.5), which does not count as a constant\n"
		 "  f[column], x^q[column]\ta factor, or a power, by group of levels\n"
		 "  f[x] of a count x\tone factor for 1, another for larger values (gpus, nodes)\n"
		 "  log2(x)\tof counts only: for others it would depend on the unit\n"
		 "  a + b, max(a, b)\tsummands, overheads, saturation, rooflines\n"
		 "  (a^g + b^g)^(1/g)\tbetween the two: overlapping parts\n"
		 "  1/(1/a + 1/b)\tsmooth minimum of two parts\n"
		 "\n"
		 "in which everything is positive, and fits the constants of each. The search starts from "
		 "the roles of the description, a constant, and the power law of all columns. For each "
		 "number of constants it applies all changes to the best formulas until none improves or "
		 "the work budget is spent. The table shows the Pareto front of constants and held-out "
		 "error. It selects the formula with the fewest constants within one standard error of "
		 "the best. The test rows of the split are not used; their errors are computed "
		 "afterwards.\n"
		 "\n"
		 "Each level of a column belongs to a group; a factor by n groups counts as n - 1 "
		 "constants, a power by n groups as n. Columns with negative numbers or more than 40 "
		 "levels are excluded; for a column with zeros, 1 + x replaces x.\n",
	.options = OPTION_TABLES(options_columns, rows),
	.after = "Ctrl-C ends the search with the best so far.\n"
		 "\n"
		 "Examples:\n"
		 "  pmfit search -d conv.txt -o conv.json conv.csv\n"
		 "  pmfit search -d lenet.txt --monotone gpus-,filters+ --constants 8 runs.csv\n"
		 "\n"
		 "Exit status: 0 success, 1 failure or interrupted, 2 usage error.\n",
	.run = run,
};
