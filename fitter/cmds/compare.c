/* pmfit compare: several data sets or frameworks side by side. */
#include "compare.h"
#include "base/csv.h"
#include "base/table.h"
#include "base/terminal.h"
#include "model/enum_names.h"
#include "model/model_file.h"
#include "output/comparison_text.h"
#include "output/error_table.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAMBDA 0.001
#define RESAMPLES 200

static void put_row(
	const char *table, const char *set, const char *name, const char *figure, const double numbers[5])
{
	struct csv_line line = {.out = stdout};

	csv_put(&line, table);
	csv_put(&line, set);
	csv_put(&line, name);
	csv_put(&line, figure);
	csv_put_numbers(&line, numbers, 5);
	csv_end(&line);
}

static void put_errors(const struct comparison *c, const struct comparison_set *set)
{
	const struct baseline *row;

	for (size_t i = 0; (row = comparison_row(set, i)); i++)
		for (size_t f = 0; f < 2 * BASELINES_FIGURES && !row->skipped; f++) {
			const struct baselines_figure *figure = &baselines_figures[f % BASELINES_FIGURES];
			struct error_spread spread;
			char name[32];

			if (f >= BASELINES_FIGURES && !set->observations.test.sample_count)
				continue;
			snprintf(name, sizeof(name), "%s %s", f < BASELINES_FIGURES ? "fitted" : "test",
				figure->key);
			spread = error_spread(f < BASELINES_FIGURES ? row->train : row->test, row->seed_count,
				figure->offset, c->confidence);
			put_row("errors", set->name, row->name, name,
				(double[]){NAN, spread.mean, spread.sd, spread.low, spread.high});
		}
	for (size_t f = 0; f < BASELINES_FIGURES && !set->free; f++) {
		char name[32];

		snprintf(name, sizeof(name), "fitted %s", baselines_figures[f].key);
		put_row("errors", set->name, "model", name,
			(double[]){*(const double *)((const char *)&set->shown->train +
						     baselines_figures[f].offset),
				NAN, NAN, NAN, NAN});
	}
}

static void answer_csv(const struct comparison *c)
{
	printf("table,set,name,figure,value,mean,sd,low,high\n");
	for (size_t s = 0; s < c->count; s++) {
		const struct comparison_set *set = &c->sets[s];

		for (size_t i = 0; i < set->shown->value_count; i++) {
			const struct pm_fit_value *v = &set->shown->values[i];

			put_row("parameters", set->name, v->name, enum_names_kinds[v->kind],
				(double[]){v->value, v->mean, v->sd, v->low, v->high});
		}
		for (size_t i = 0; i < set->shown->contrast_count; i++) {
			const struct pm_fit_contrast *v = &set->shown->contrasts[i];

			put_row("parameters", set->name, v->name, "contrast",
				(double[]){v->value, v->mean, v->sd, v->low, v->high});
		}
		put_errors(c, set);
	}
	for (size_t p = 0; p < c->pair_count; p++)
		for (size_t i = 0; i < c->pairs[p].count; i++) {
			const struct difference *row = &c->pairs[p].rows[i];
			char figure[256];

			snprintf(figure, sizeof(figure), "minus %s", c->sets[c->pairs[p].first].name);
			put_row("differences", c->sets[c->pairs[p].second].name, row->name, figure,
				(double[]){row->second - row->first, NAN, NAN, row->low, row->high});
		}
}

static cJSON *json_set(const struct comparison *c, const struct comparison_set *set)
{
	cJSON *object = cJSON_CreateObject(), *methods = cJSON_CreateArray();
	const struct baseline *row;

	cJSON_AddStringToObject(object, "name", set->name);
	cJSON_AddStringToObject(object, "path", set->path);
	cJSON_AddItemToObject(object, "typical_time", model_file_number(set->typical));
	cJSON_AddItemToObject(object, "model", model_file_json(set->shown));
	if (set->free)
		cJSON_AddItemToObject(object, c->is_bound_shown ? "without_penalty" : "with_penalty",
			model_file_json(c->is_bound_shown ? set->free : set->bound));
	cJSON_AddItemToObject(object, "methods", methods);
	for (size_t i = 0; (row = comparison_row(set, i)); i++)
		cJSON_AddItemToArray(methods,
			error_table_json(row, set->observations.test.sample_count > 0, false, c->confidence));
	return object;
}

static void answer_json(const struct comparison *c)
{
	cJSON *root = cJSON_CreateObject(), *sets = cJSON_AddArrayToObject(root, "sets"), *differences;

	for (size_t s = 0; s < c->count; s++)
		cJSON_AddItemToArray(sets, json_set(c, &c->sets[s]));
	differences = cJSON_AddArrayToObject(root, "differences");
	for (size_t p = 0; p < c->pair_count; p++)
		for (size_t i = 0; i < c->pairs[p].count; i++) {
			const struct difference *row = &c->pairs[p].rows[i];
			cJSON *object = cJSON_CreateObject();

			cJSON_AddStringToObject(object, "name", row->name);
			cJSON_AddBoolToObject(object, "contrast", row->is_contrast);
			cJSON_AddStringToObject(object, "first", c->sets[c->pairs[p].first].name);
			cJSON_AddStringToObject(object, "second", c->sets[c->pairs[p].second].name);
			cJSON_AddNumberToObject(object, "difference", row->second - row->first);
			cJSON_AddNumberToObject(object, "low", row->low);
			cJSON_AddNumberToObject(object, "high", row->high);
			cJSON_AddBoolToObject(object, "clear", row->is_clear);
			cJSON_AddItemToArray(differences, object);
		}
	cJSON_AddNumberToObject(root, "lambda", c->lambda);
	cJSON_AddNumberToObject(root, "confidence", c->confidence);
	print_json_end(root, stdout);
}

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

static int run(int argument_count, char **arguments)
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
	if (options.json)
		answer_json(&comparison);
	else if (csv)
		answer_csv(&comparison);
	else
		comparison_text(&comparison);
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
	{"json", 'j', NULL, "JSON output, with all models"},
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
	.run = run,
};
