/* pmfit compare: several data sets or frameworks side by side. */
#include "compare.h"
#include "base/terminal.h"
#include "output/comparison_print.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAMBDA 0.001
#define RESAMPLES 200

static void show(const char *what)
{
	pm_terminal_progress("%s", what);
}

static void take_names(struct comparison *c, const char *list)
{
	char *names = strdup(list), *rest = names, *word;
	size_t count = 0;

	while (baselines_names[count])
		count++;
	free(c->wanted);
	c->wanted = calloc(count + 1, sizeof(*c->wanted));
	if (!names || !c->wanted)
		errx(1, "out of memory");
	while ((word = strtok_r(rest, ",", &rest))) {
		size_t i = 0;

		while (i < count && strcmp(baselines_names[i], word) != 0)
			i++;
		if (i < count && strncmp(word, "model", 5) == 0)
			cmd_usage(&cmd_compare, "--only %s: the model is always included", word);
		if (i < count)
			c->wanted[i] = true;
		else if (strcmp(word, "none") != 0)
			cmd_usage(&cmd_compare, "--only %s: unknown method", word);
	}
	free(names);
}

/* What --lambda and --penalty mean here. */
static void take_lambda(struct comparison *c, const struct pm_fit_parameter *p)
{
	c->is_bound_shown = p->lambda_coefficients > 0 || p->lambda_powers > 0;
	c->lambda = c->is_bound_shown ? p->lambda_coefficients : LAMBDA;
	c->is_l1 = p->penalty == PM_FIT_L1;
	c->confidence = p->confidence;
}

enum { BOOTSTRAP = OPTION_FIRST, CONFIDENCE, ONLY };

static int run_compare(int argument_count, char **arguments)
{
	struct comparison comparison = {0};
	struct options options;
	bool csv = false, terminal;
	int option;

	options_init(&options);
	options.parameter.bootstrap = RESAMPLES;
	take_names(&comparison, "svr,forest,forest-log,boost-plain,boost");
	while ((option = command_option(&cmd_compare, argument_count, arguments)) != -1)
		if (option == BOOTSTRAP)
			options.parameter.bootstrap =
				command_count(&cmd_compare, option, optarg, 0, ULONG_MAX);
		else if (option == CONFIDENCE)
			options.parameter.confidence =
				command_number(&cmd_compare, option, optarg, 0, DBL_MAX);
		else if (option == ONLY)
			take_names(&comparison, optarg);
		else if (option == 'c')
			csv = true;
		else if (!options_take(&cmd_compare, &options, option, optarg))
			command_unhandled(&cmd_compare, option);
	if (optind == argument_count)
		cmd_usage(&cmd_compare, "expected tables or model files");
	options_end(&cmd_compare, &options);
	if (!(options.parameter.confidence > 0 && options.parameter.confidence < 1))
		cmd_usage(&cmd_compare, "--confidence %g: expected a number between 0 and 1",
			options.parameter.confidence);
	take_lambda(&comparison, &options.parameter);
	options.parameter.stop = options_catch_interrupt();
	terminal = !options.quiet;
	cmd_compare_sets(&comparison, &options, arguments + optind, (size_t)(argument_count - optind));
	comparison_run(&comparison, &options.parameter, terminal ? show : NULL);
	if (terminal)
		pm_terminal_clear();
	comparison_print(&comparison, options.json ? PRINT_JSON : csv ? PRINT_CSV : PRINT_TEXT, stdout);
	comparison_free(&comparison);
	free(comparison.wanted);
	options_free(&options);
	return 0;
}

static const struct option_row rows[] = {
	{NULL, 0, NULL, "Selection and output:"},
	{"bootstrap", BOOTSTRAP, "N", "resamples for intervals and differences, default 200"},
	{"confidence", CONFIDENCE, "X", "confidence level of all intervals, default 0.95"},
	{"only", ONLY, "LIST",
		"other methods, with commas between (names: 'pmfit baselines --help'), default "
		"svr, forest, forest-log, boost-plain and boost; none: no other method"},
	{"csv", 'c', NULL, "CSV output: table, set, name, figure, value, mean, sd, low, high"},
	{"json", 'j', NULL, "JSON output, with all models and the sentences of the text"},
	{"quiet", 'q', NULL, "no progress and no warnings about the data"},
	{0},
};

const struct command cmd_compare = {
	.name = "compare",
	.summary = "compare several data sets or frameworks",
	.usage = "[OPTION]... SET...",
	.about = "A SET is [NAME=]FILE[,DESCRIPTION]: a table of runs (CSV; - is standard input) with the "
		 "columns that the options name, or its own description on top of them; or a model file "
		 "(a name in .json, 'pmfit fit -o'). NAME is the file's without its folder and suffix by "
		 "default. Fits the generic model of 'pmfit fit' to each table, with and without a "
		 "penalty, trains other methods on the same rows, and prints\n"
		 "\n"
		 "  parameters\tas in Table 4.3: each with mean and standard deviation over the seeds "
		 "(search noise) and a bootstrap interval (data uncertainty); undetermined parameters are "
		 "marked, and the levels follow in a parametrisation that is determined\n"
		 "  errors\tas in Table 4.4: of each method, on fitted and test rows\n"
		 "  scaling\tas in Table 4.5: extrinsic powers and C, with an interpretation\n"
		 "  differences\tparameters that differ significantly between two sets: the bootstrap "
		 "interval of the difference excludes 0\n"
		 "  lambda\thow much the penalty changes the powers\n"
		 "\n"
		 "A model file provides the parameters and the errors on its fitted rows; differences "
		 "need bootstrap values in it (pmfit fit --bootstrap 200).\n",
	.options = OPTION_TABLES(options_columns, options_fit, rows),
	.after = "With --lambda the parameters shown are those with that penalty; without it those of the "
		 "fit without penalty, and the other fit has L2 with lambda 0.001.\n"
		 "\n"
		 "Examples:\n"
		 "  pmfit compare -d lenet.txt mxnet.csv tensorflow.csv\n"
		 "  pmfit compare old=2023.csv,old.txt new=2024.csv,new.txt --only none\n"
		 "  pmfit compare before.json after.json\n"
		 "\n"
		 "Exit status: 0 success, 1 failure or interrupted, 2 usage error.\n",
	.run = run_compare,
};
