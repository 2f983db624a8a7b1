/* pmfit search: which expression predicts best: roles, interactions, structure. */
#include "base/terminal.h"
#include "model/expression_model.h"
#include "search.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void progress(void *context, const struct expression_progress *p)
{
	struct search_answer *a = context;

	if (a->choices->options.quiet)
		return;
	pm_terminal_progress("round %zu, %.0f s, %.0f%% of the work: %s %.4g with %zu constants", p->round,
		p->seconds, fmin(100, 100 * p->share), search_cost_heads[a->choices->settings.cost],
		search_shown(a, p->loss), p->constants);
	a->on_line = true;
}

static void print_warning(void *context, const char *sentence)
{
	const struct search_answer *a = context;

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

static void measure_tests(struct search_answer *a)
{
	const struct pm_fit_problem *test = &a->observations->test;
	double *times = malloc((test->sample_count + 1) * sizeof(*times));
	struct expression_rows rows;

	a->test = calloc(a->search.result_count + 1, sizeof(*a->test));
	if (!times || !a->test)
		errx(1, "out of memory");
	if (search_has_test(a)) {
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

enum { COST = OPTION_FIRST, CONSTANTS, MONOTONE, FOLDS, WORK, SECONDS, TAKE };

/* Those of the shared options that say what the columns mean, and the search's own. */
static void take_options(int argument_count, char **arguments, struct search_choices *c)
{
	struct expression_settings *s = &c->settings;
	int option;

	while ((option = command_option(&cmd_search, argument_count, arguments)) != -1) {
		if (options_take(&cmd_search, &c->options, option, optarg))
			continue;
		switch (option) {
		case COST:
			s->cost = (enum expression_cost)command_word(
				&cmd_search, option, optarg, search_cost_names);
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
			c->form = PRINT_CSV;
			break;
		default:
			command_unhandled(&cmd_search, option);
		}
	}
	options_end(&cmd_search, &c->options);
	if (c->options.json)
		c->form = PRINT_JSON;
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_search, "expected one table");
}

static void search(struct search_answer *a)
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

static int run_search(int argument_count, char **arguments)
{
	struct search_choices choices = {0};
	struct observations observations;
	struct search_answer answer = {.choices = &choices, .observations = &observations};
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
	search_print(&answer);
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
	{"json", 'j', NULL,
		"JSON output, complete, with the sentences of the text; errors in cost_unit, as in the table"},
	{"quiet", 'q', NULL, "no progress, no warnings"},
	{0},
};

const struct command cmd_search = {
	.name = "search",
	.summary = "the expression that predicts best: roles, interactions, structure",
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
	.run = run_search,
};
