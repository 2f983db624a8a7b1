/* pmfit path: what lambda does to the parameters and to the error. */
#include "base/plot_text.h"
#include "base/table.h"
#include "base/terminal.h"
#include "fit/lambda_path.h"
#include "model/model_file.h"
#include "options.h"
#include "output/figures.h"
#include "output/sentences.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAMBDAS_MOST 200

enum { LAMBDAS = OPTION_FIRST, FOLDS, PLOT, PLAIN };

static size_t take_lambdas(const char *list, double *lambdas)
{
	char *copy = strdup(list), *rest, *word;
	size_t count = 0;

	for (word = copy ? strtok_r(copy, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
		if (count == LAMBDAS_MOST)
			cmd_usage(&cmd_path, "--lambdas: expected at most %d", LAMBDAS_MOST);
		lambdas[count++] = command_number(&cmd_path, LAMBDAS, word, 0, DBL_MAX);
	}
	free(copy);
	if (count == 0)
		cmd_usage(&cmd_path, "--lambdas: expected numbers");
	return count;
}

static void show(void *context, size_t done, size_t all)
{
	(void)context;
	pm_terminal_progress("%zu of %zu fits", done, all);
	if (done == all)
		pm_terminal_clear();
}

/* A row for each lambda: its errors and, for programs, the parameters. */
static void tabulate_errors(struct print_table *table, const struct lambda_path *path, bool with_test)
{
	const struct print_column columns[] = {
		PRINT_COLUMN("lambda", "lambda", PRINT_FIGURE),
		PRINT_COLUMN(NULL, "fitted MAE", PRINT_FIGURE, .csv_key = "fitted_mae"),
		PRINT_COLUMN(NULL, "R2", PRINT_REAL, .digits = 4, .csv_key = "fitted_r2"),
		PRINT_COLUMN(NULL, "held-out MAE", PRINT_FIGURE, .csv_key = "held_out_mae"),
		PRINT_COLUMN("held_out_error", "+-", PRINT_FIGURE, .digits = 3, .of_previous = true),
		PRINT_COLUMN(NULL, "MAPE %", PRINT_REAL, .digits = 2, .csv_key = "held_out_mape"),
		PRINT_COLUMN(NULL, "R2", PRINT_REAL, .digits = 4, .csv_key = "held_out_r2"),
		PRINT_COLUMN(NULL, with_test ? "test MAE" : NULL, PRINT_FIGURE, .csv_key = "test_mae"),
		PRINT_COLUMN(
			NULL, with_test ? "MAPE %" : NULL, PRINT_REAL, .digits = 2, .csv_key = "test_mape"),
		PRINT_COLUMN(NULL, with_test ? "R2" : NULL, PRINT_REAL, .digits = 4, .csv_key = "test_r2"),
	};
	const size_t errors = sizeof(columns) / sizeof(*columns);
	const struct pm_fit_model *first = path->points[0].model;

	print_columns(table, columns, errors);
	for (size_t v = 0; v < first->value_count; v++)
		print_columns(table,
			&(struct print_column){.type = PRINT_FIGURE, .csv_key = first->values[v].name}, 1);
	for (size_t i = 0; i < path->count; i++) {
		const struct lambda_path_point *point = &path->points[i];
		const struct pm_fit_error *fitted = &point->model->train, *out = &point->held_out,
					  *test = &point->test;

		print_row(table);
		print_numbers(table, 0,
			(double[]){point->lambda, fitted->mae, fitted->r2, out->mae, point->deviation,
				out->mape, out->r2},
			7);
		if (test->sample_count)
			print_numbers(table, 7, (double[]){test->mae, test->mape, test->r2}, 3);
		for (size_t v = 0; v < first->value_count; v++)
			print_number(table, errors + v, point->model->values[v].value);
	}
}

/* A row for each parameter, or for what the data determine of the levels, with a column for each lambda. */
static void tabulate_values(struct print_table *table, const struct lambda_path *path, bool contrasts)
{
	const struct pm_fit_model *first = path->points[0].model;
	const size_t count = contrasts ? first->contrast_count : first->value_count;

	print_column(table, "parameter", "parameter", PRINT_WORD);
	for (size_t i = 0; i < path->count; i++)
		print_columns(table,
			&(struct print_column)PRINT_COLUMN(NULL,
				arena_format(table->arena, "%g", path->points[i].lambda), PRINT_FIGURE,
				.digits = 3),
			1);
	for (size_t v = 0; v < count; v++) {
		print_row(table);
		print_word(table, 0, contrasts ? first->contrasts[v].name : first->values[v].name);
		for (size_t i = 0; i < path->count; i++) {
			const struct pm_fit_model *model = path->points[i].model;

			print_number(
				table, 1 + i, contrasts ? model->contrasts[v].value : model->values[v].value);
		}
	}
}

/* What a path yields, for all forms. */
struct answer {
	const char *name; /* of the table */
	const struct lambda_path *path;
	const struct observations *observations;
	struct print_table errors, values, levels;
	struct sentences said;
};

static void say_best(const struct lambda_path *path, struct sentences *said)
{
	size_t agreeing = 0;

	for (size_t i = 0; i < path->count; i++)
		agreeing += path->points[i].model->runs_agreeing == path->points[i].model->run_count;
	sentences_add(said, "Lowest held-out error: lambda %g.", path->points[path->best].lambda);
	sentences_add(said, "Largest lambda within one standard error of the lowest: %g.",
		path->points[path->simple].lambda);
	sentences_add(said, "At %zu of %zu lambdas all seeds agree.", agreeing, path->count);
}

static void print_values(const struct print_table *table, const char *title)
{
	if (table->row_count)
		print_part(table, PRINT_TEXT, NULL, NULL, title, true, stdout);
}

static void answer_text(const struct answer *a)
{
	printf("%s: %zu samples to fit, %zu to test\n\n", a->name, a->observations->train.sample_count,
		a->observations->test.sample_count);
	print_text(&a->errors, NULL, stdout);
	print_values(&a->values, "Parameters of the fit to all samples, by lambda");
	print_values(&a->levels, "Levels as determined by the data: each minus its column's mean");
	putchar('\n');
	sentences_text(&a->said, 0, 2, stdout);
}

static void print_plots(const struct lambda_path *path, bool plain)
{
	static const enum figure_path order[] = {FIGURE_PATH_R2, FIGURE_PATH_ERROR, FIGURE_PATH_POWERS};
	struct plot_text how = plot_text_for(stdout, plain);
	struct plot plot;

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		putchar('\n');
		figure_path(&plot, path, order[i]);
		plot_text_print(&plot, &how, stdout);
		plot_free(&plot);
	}
}

static void answer_json(const struct answer *a)
{
	const struct lambda_path *path = a->path;
	cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "path");

	cJSON_AddNumberToObject(root, "best", path->points[path->best].lambda);
	cJSON_AddNumberToObject(root, "simple", path->points[path->simple].lambda);
	for (size_t i = 0; i < path->count; i++) {
		const struct lambda_path_point *point = &path->points[i];
		cJSON *object = print_json_row(&a->errors, i);

		cJSON_AddItemToObject(object, "held_out", model_file_error(&point->held_out));
		cJSON_AddItemToObject(object, "test",
			point->test.sample_count ? model_file_error(&point->test) : cJSON_CreateNull());
		cJSON_AddItemToObject(object, "model", model_file_json(point->model));
		cJSON_AddItemToArray(array, object);
	}
	sentences_json(&a->said, root, "sentences");
	print_json_end(root, stdout);
}

static void answer(const struct lambda_path *path, const struct observations *observations, const char *name,
	enum print_form form)
{
	struct arena arena = {0};
	struct answer a = {
		.name = name, .path = path, .observations = observations, .said = {.arena = &arena}};

	print_init(&a.errors, &arena);
	print_init(&a.values, &arena);
	print_init(&a.levels, &arena);
	tabulate_errors(&a.errors, path, observations->test.sample_count > 0);
	tabulate_values(&a.values, path, false);
	tabulate_values(&a.levels, path, true);
	say_best(path, &a.said);
	if (form == PRINT_JSON)
		answer_json(&a);
	else if (form == PRINT_CSV)
		print_csv(&a.errors, stdout);
	else
		answer_text(&a);
	print_free(&a.errors);
	print_free(&a.values);
	print_free(&a.levels);
	arena_free(&arena);
}

static int run_path(int argument_count, char **arguments)
{
	double lambdas[LAMBDAS_MOST] = {0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1}, ratio = 1;
	struct observations observations;
	struct options options;
	struct lambda_path path;
	size_t count = 8, folds = 5;
	bool csv = false, plot = false, plain = false;
	int option, status;

	options_init(&options);
	options.parameter.run_count = 2;
	while ((option = command_option(&cmd_path, argument_count, arguments)) != -1)
		if (option == LAMBDAS)
			count = take_lambdas(optarg, lambdas);
		else if (option == FOLDS)
			folds = command_count(&cmd_path, option, optarg, 2, ULONG_MAX);
		else if (option == 'c')
			csv = true;
		else if (option == PLOT)
			plot = true;
		else if (option == PLAIN)
			plain = true;
		else if (!options_take(&cmd_path, &options, option, optarg))
			command_unhandled(&cmd_path, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_path, "expected one table");
	if (options.lambda_powers_given)
		ratio = options.parameter.lambda_powers;
	options_end(&cmd_path, &options);
	options_read_table(&options, arguments[optind], &observations);
	options.parameter.stop = options_catch_interrupt();
	status = lambda_path_run(&path, &observations.train, &observations.test, &options.parameter, lambdas,
		count, ratio, folds, !options.quiet ? show : NULL, NULL);
	if (status == -EINVAL)
		errx(1,
			"%s: with one of %zu folds held out, too few samples for the parameters, or all "
			"samples are identical",
			arguments[optind], folds);
	if (status < 0)
		errx(1, "%s", strerror(-status));
	if (path.interrupted)
		errx(1, "interrupted");
	answer(&path, &observations, arguments[optind],
		options.json ? PRINT_JSON
		: csv        ? PRINT_CSV
			     : PRINT_TEXT);
	if (plot && !csv && !options.json)
		print_plots(&path, plain);
	lambda_path_free(&path);
	observations_free(&observations);
	options_free(&options);
	return 0;
}

static const struct option_row rows[] = {
	{"lambdas", LAMBDAS, "LIST",
		"numbers with commas between, default 0 and 0.0001, 0.0003, 0.001 and so on to 0.1"},
	{"folds", FOLDS, "N",
		"folds of the cross-validation; runs of one configuration are in one fold; default 5"},
	{0},
};

static const struct option_row rows2[] = {
	{NULL, 0, NULL, "Output:"},
	{"json", 'j', NULL, "JSON output, with the model at each lambda and the sentences of the text"},
	{"csv", 'c', NULL, "CSV output, one row per lambda: errors, then parameters"},
	{"plot", PLOT, NULL, "plots in the terminal: R2, error and powers over lambda"},
	{"plain", PLAIN, NULL,
		"ASCII plots; default without UTF-8 in LC_ALL, LC_CTYPE or LANG. NO_COLOR disables "
		"colours"},
	{"quiet", 'q', NULL, "no progress and no warnings about the data"},
	{0},
};

const struct command cmd_path = {
	.name = "path",
	.summary = "regularisation paths and cross-validation over lambda",
	.usage = "[OPTION]... TABLE.csv",
	.about = "Fits the generic model (see 'pmfit fit --help') at several lambdas: to all samples, for "
		 "the path of each parameter, and with cross-validation, for the error on held-out "
		 "samples. Reports the lambda with the lowest held-out error, and the largest lambda "
		 "within one standard error of it.\n",
	.options = OPTION_TABLES(rows, options_columns, options_fit, rows2),
	.after = "--lambda is ignored; --lambda-powers X is the ratio of the powers' lambda to the "
		 "coefficients' lambda (default 1; 0: powers are not penalised).\n"
		 "\n"
		 "Example:\n"
		 "  pmfit path -d lenet.txt --lambdas 0,0.001,0.01 runs.csv\n"
		 "\n"
		 "Exit status: 0 success, 1 failure or interrupted, 2 usage error.\n",
	.run = run_path,
};
