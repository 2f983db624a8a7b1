/* pmfit path: what lambda does to the parameters and to the error. */
#include "base/csv.h"
#include "base/plot_text.h"
#include "base/table.h"
#include "base/terminal.h"
#include "fit/lambda_path.h"
#include "model/model_file.h"
#include "options.h"
#include "output/figures.h"
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

static void print_errors(const struct lambda_path *path, bool with_test)
{
	printf("  %10s %10s %10s %9s %9s %9s %9s", "lambda", "fitted MAE", "held out", "+-", "MAPE", "R2",
		"R2 fitted");
	printf(with_test ? " %10s %9s %9s\n" : "\n", "test MAE", "MAPE", "R2");
	for (size_t i = 0; i < path->count; i++) {
		const struct lambda_path_point *point = &path->points[i];

		printf("  %10g %10.5g %10.5g %9.3g %8.2f%% %9.4f %9.4f", point->lambda,
			point->model->train.mae, point->held_out.mae, point->deviation, point->held_out.mape,
			point->held_out.r2, point->model->train.r2);
		if (with_test)
			printf(" %10.5g %8.2f%% %9.4f", point->test.mae, point->test.mape, point->test.r2);
		putchar('\n');
	}
}

static void print_values(const struct lambda_path *path)
{
	const struct pm_fit_model *first = path->points[0].model;

	printf("  %-20s", "parameter");
	for (size_t i = 0; i < path->count; i++)
		printf(" %9g", path->points[i].lambda);
	putchar('\n');
	for (size_t v = 0; v < first->value_count; v++) {
		printf("  %-20s", first->values[v].name);
		for (size_t i = 0; i < path->count; i++)
			printf(" %9.3g", path->points[i].model->values[v].value);
		putchar('\n');
	}
	if (first->contrast_count)
		printf("\nLevels as determined by the data: each minus its column's mean\n");
	for (size_t v = 0; v < first->contrast_count; v++) {
		printf("  %-20s", first->contrasts[v].name);
		for (size_t i = 0; i < path->count; i++)
			printf(" %9.3g", path->points[i].model->contrasts[v].value);
		putchar('\n');
	}
}

static void answer_text(
	const struct lambda_path *path, const struct observations *observations, const char *name)
{
	size_t agreeing = 0;

	printf("%s: %zu samples to fit, %zu to test\n\n", name, observations->train.sample_count,
		observations->test.sample_count);
	print_errors(path, observations->test.sample_count > 0);
	printf("\nParameters of the fit to all samples, by lambda\n");
	print_values(path);
	for (size_t i = 0; i < path->count; i++)
		agreeing += path->points[i].model->runs_agreeing == path->points[i].model->run_count;
	printf("\n"
	       "Lowest held-out error: lambda %g. Largest lambda within one standard error of it: %g.\n"
	       "  At %zu of %zu lambdas all seeds agree.\n",
		path->points[path->best].lambda, path->points[path->simple].lambda, agreeing, path->count);
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

static void answer_csv(const struct lambda_path *path)
{
	const struct pm_fit_model *first = path->points[0].model;

	struct csv_line line = {.out = stdout};

	fputs("lambda,fitted_mae,fitted_r2,held_out_mae,held_out_error,held_out_mape,held_out_r2,test_mae,test_mape,"
	      "test_r2",
		stdout);
	line.begun = true;
	for (size_t v = 0; v < first->value_count; v++)
		csv_put(&line, first->values[v].name);
	csv_end(&line);
	for (size_t i = 0; i < path->count; i++) {
		const struct lambda_path_point *point = &path->points[i];
		bool tested = point->test.sample_count > 0;

		csv_put_numbers(&line,
			(double[]){point->lambda, point->model->train.mae, point->model->train.r2,
				point->held_out.mae, point->deviation, point->held_out.mape,
				point->held_out.r2, tested ? point->test.mae : NAN,
				tested ? point->test.mape : NAN, tested ? point->test.r2 : NAN},
			10);
		for (size_t v = 0; v < first->value_count; v++)
			csv_put_number(&line, point->model->values[v].value);
		csv_end(&line);
	}
}

static void answer_json(const struct lambda_path *path)
{
	cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "path");

	cJSON_AddNumberToObject(root, "best", path->points[path->best].lambda);
	cJSON_AddNumberToObject(root, "simple", path->points[path->simple].lambda);
	for (size_t i = 0; i < path->count; i++) {
		const struct lambda_path_point *point = &path->points[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddNumberToObject(object, "lambda", point->lambda);
		cJSON_AddItemToObject(object, "held_out", model_file_error(&point->held_out));
		cJSON_AddItemToObject(object, "held_out_error", model_file_number(point->deviation));
		cJSON_AddItemToObject(object, "test",
			point->test.sample_count ? model_file_error(&point->test) : cJSON_CreateNull());
		cJSON_AddItemToObject(object, "model", model_file_json(point->model));
		cJSON_AddItemToArray(array, object);
	}
	print_json_end(root, stdout);
}

static int run(int argument_count, char **arguments)
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
	if (options.json)
		answer_json(&path);
	else if (csv)
		answer_csv(&path);
	else
		answer_text(&path, &observations, arguments[optind]);
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
	{"folds", FOLDS, "N", "default 5"},
	{0},
};

static const struct option_row rows2[] = {
	{NULL, 0, NULL, "Output:"},
	{"json", 'j', NULL, "JSON output, with the model at each lambda"},
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
	.run = run,
};
