/* pmfit fit: the generic model of one table. */
#include "base/csv.h"
#include "base/output.h"
#include "base/plot_text.h"
#include "base/table.h"
#include "base/terminal.h"
#include "model/model_file.h"
#include "model/schema.h"
#include "options.h"
#include "output/figures.h"
#include "output/report.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A fit that takes longer is announced. */
#define LONG_SECONDS 10
/* Of the fit without penalty that stands beside one with. */
#define FREE_SEEDS 3

#define UNREACHED 1e-4 /* of the cost, by which a scaled search is better */

struct progress {
	size_t *evaluations;
	double best, printed;
};

static void show(void *context, const struct pm_fit_progress *now)
{
	struct progress *progress = context;
	double done = 0, seconds = now->seconds;

	progress->evaluations[now->run] = now->evaluations;
	progress->best = fmin(progress->best, now->objective);
	if (seconds - progress->printed < 0.1)
		return;
	progress->printed = seconds;
	for (size_t i = 0; i < now->run_count; i++)
		done += fmin(1, (double)progress->evaluations[i] / (double)now->limit) /
			(double)now->run_count;
	pm_terminal_progress("%3.0f%%  best %.6g  %.0f s, %.0f s left", 100 * done, progress->best, seconds,
		seconds / done - seconds);
}

static void write_predictions(
	const char *path, const struct pm_fit_model *model, const struct observations *observations)
{
	struct pm_output output;
	struct csv_line line = {0};
	FILE *file = pm_output_create(&output, path, false);

	line.out = file;
	fputs("sample,set,measured,predicted\n", file);
	for (int test = 0; test < 2; test++) {
		const struct pm_fit_problem *problem = test ? &observations->test : &observations->train;
		double *times = malloc((problem->sample_count + 1) * sizeof(*times));

		if (!times || pm_fit_predict(model, problem, times) < 0)
			errx(1, "out of memory");
		for (size_t k = 0; k < problem->sample_count; k++) {
			csv_put_number(&line, (double)(k + 1));
			csv_put(&line, test ? "test" : "fitted");
			csv_put_numbers(&line, (double[]){problem->time[k], times[k]}, 2);
			csv_end(&line);
		}
		free(times);
	}
	pm_output_finish(&output, path);
}

/* What a fit yields, for all forms. */
struct answer {
	const char *path; /* of the table */
	const struct pm_fit_model *model;
	const struct pm_fit_model *freely; /* the same without penalty, or NULL: there was none */
	struct pm_fit_error test;          /* no samples: there were none */
	struct sentences formula, said;
};

/* The model as in its file, with how long it took: files are equal from run to run. */
static cJSON *timed_json(const struct pm_fit_model *model)
{
	cJSON *root = model_file_json(model), *run;
	size_t i = 0;

	cJSON_AddNumberToObject(root, "seconds", model->seconds);
	cJSON_ArrayForEach (run, cJSON_GetObjectItemCaseSensitive(root, "runs"))
		cJSON_AddNumberToObject(run, "seconds", model->runs[i++].seconds);
	return root;
}

static void answer_json(const struct answer *a)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddItemToObject(root, "model", timed_json(a->model));
	cJSON_AddItemToObject(
		root, "test", a->test.sample_count ? model_file_error(&a->test) : cJSON_CreateNull());
	cJSON_AddItemToObject(
		root, "without_penalty", a->freely ? timed_json(a->freely) : cJSON_CreateNull());
	sentences_json(&a->formula, root, "formula");
	sentences_json(&a->said, root, "sentences");
	print_json_end(root, stdout);
}

static void print_formula(const struct sentences *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		print_paragraph(
			arena_format(lines->arena, "%*s%s", i ? 2 : 0, "", lines->items[i]), 6, stdout);
}

static void answer_text(const struct answer *a)
{
	printf("%s: %zu samples to fit, %zu to test, %zu parameters", a->path, a->model->train.sample_count,
		a->test.sample_count, a->model->value_count);
	if (a->model->time_unit)
		printf("; times in %s", a->model->time_unit);
	printf("\n\n");
	print_formula(&a->formula);
	putchar('\n');
	report_values(a->model, stdout);
	putchar('\n');
	report_errors(a->model, &a->test, stdout);
	putchar('\n');
	sentences_text(&a->said, 0, 2, stdout);
}

/* Pictures of the model beside its samples. */
static void print_plots(const struct pm_fit_model *model, const struct observations *observations, bool plain)
{
	struct plot_text how = plot_text_for(stdout, plain);
	struct subject subject = {.model = model};
	double *predicted[2] = {NULL};
	struct plot plot;

	for (int test = 0; test < 2; test++) {
		const struct pm_fit_problem *problem = test ? &observations->test : &observations->train;

		if (problem->sample_count == 0)
			continue;
		predicted[test] = malloc(problem->sample_count * sizeof(double));
		if (!predicted[test] || pm_fit_predict(model, problem, predicted[test]) < 0)
			errx(1, "out of memory");
		subject.sets[subject.set_count++] = (struct figure_set){.name = test ? "test" : "fitted",
			.problem = problem,
			.measured = problem->time,
			.predicted = predicted[test]};
	}
	putchar('\n');
	figure_predicted(&plot, &subject);
	plot_text_print(&plot, &how, stdout);
	plot_free(&plot);
	for (size_t c = 0; c < model->column_count; c++)
		if (model->columns[c].role == PM_FIT_EXTRINSIC && figure_scaling(&plot, &subject, c, NULL)) {
			putchar('\n');
			plot_text_print(&plot, &how, stdout);
			plot_free(&plot);
		}
	free(predicted[0]);
	free(predicted[1]);
}

/* The same without penalty: what lambda has done to the powers, which are what a reader draws conclusions
 * from. */
static struct pm_fit_model *fit_freely(const struct options *options, const struct observations *observations)
{
	struct pm_fit_parameter parameter = options->parameter;
	struct pm_fit_model *model = NULL;

	if (parameter.lambda_coefficients == 0 && parameter.lambda_powers == 0)
		return NULL;
	parameter.lambda_coefficients = parameter.lambda_powers = 0;
	parameter.bootstrap = 0;
	parameter.progress = NULL;
	parameter.run_count = parameter.run_count < FREE_SEEDS ? parameter.run_count : FREE_SEEDS;
	if (pm_fit(&observations->train, &parameter, &model) < 0)
		return NULL;
	return model;
}

static struct pm_fit_model *fit(struct options *options, const struct observations *observations)
{
	struct pm_fit_parameter *parameter = &options->parameter;
	struct progress progress = {.best = HUGE_VAL};
	struct pm_fit_model *model;
	double estimate = pm_fit_estimate(&observations->train, parameter);
	int status;

	if (estimate > LONG_SECONDS && !options->quiet)
		warnx("estimated run time about %.0f s; fewer --seeds or --evaluations shorten it", estimate);
	parameter->stop = options_catch_interrupt();
	if (!options->quiet) {
		progress.evaluations = calloc(parameter->run_count, sizeof(*progress.evaluations));
		parameter->progress = progress.evaluations ? show : NULL;
		parameter->context = &progress;
	}
	status = pm_fit(&observations->train, parameter, &model);
	if (parameter->progress)
		pm_terminal_clear();
	free(progress.evaluations);
	if (status < 0)
		errx(1, "%s", strerror(-status));
	return model;
}

/*
 * Unscaled, columns of 1e-6 beside columns of 100 leave the search in a place that all of its seeds may agree
 * on. One seed in scaled units, with the same bounds' numbers, tells how much of the cost that is.
 */
static void check_unscaled(const struct options *options, const struct observations *observations,
	const struct pm_fit_model *model, struct sentences *said)
{
	struct pm_fit_parameter parameter = options->parameter;
	struct pm_fit_model *scaled = NULL;
	double cost = model->runs[model->best_run].objective, other;

	if (parameter.scale != PM_FIT_SCALE_NONE || parameter.lambda_coefficients > 0 ||
		parameter.lambda_powers > 0 || model->interrupted)
		return;
	parameter.scale = PM_FIT_SCALE_ALL;
	parameter.run_count = 1;
	parameter.bootstrap = 0;
	parameter.progress = NULL;
	if (pm_fit(&observations->train, &parameter, &scaled) < 0)
		return;
	other = scaled->runs[scaled->best_run].objective;
	if (other < cost * (1 - UNREACHED))
		sentences_add(said,
			"Unscaled, the search has not reached the minimum: with --scale all one seed reaches %.6g, "
			"%.3g%% less. More --evaluations (now %zu a seed) come nearer.",
			other, 100 * (1 - other / cost), model->runs[model->best_run].evaluations);
	else
		sentences_add(said,
			"Unscaled, the search has reached what one seed with --scale all reaches (%.6g).",
			other);
	pm_fit_free(scaled);
}

static void answer(const struct options *options, const struct observations *observations,
	const struct pm_fit_model *model, const struct pm_fit_model *freely, const char *path)
{
	struct arena arena = {0};
	struct answer a = {.path = path,
		.model = model,
		.freely = freely,
		.formula = {.arena = &arena},
		.said = {.arena = &arena}};

	if (observations->test.sample_count && pm_fit_evaluate(model, &observations->test, &a.test) < 0)
		errx(1, "out of memory");
	report_formula(model, &a.formula);
	report_remarks(model, &a.said);
	if (freely)
		report_shift(model, freely, &a.said);
	check_unscaled(options, observations, model, &a.said);
	if (options->json)
		answer_json(&a);
	else
		answer_text(&a);
	arena_free(&arena);
}

enum { PREDICTIONS = OPTION_FIRST, BOOTSTRAP, CONFIDENCE, PLOT, PLAIN, SCHEMA };

static int run_fit(int argument_count, char **arguments)
{
	const char *model_path = NULL, *predictions_path = NULL;
	struct observations observations;
	struct pm_fit_model *model, *freely;
	struct options options;
	bool plot = false, plain = false;
	int option, status;

	options_init(&options);
	while ((option = command_option(&cmd_fit, argument_count, arguments)) != -1)
		if (option == 'o')
			model_path = optarg;
		else if (option == PREDICTIONS)
			predictions_path = optarg;
		else if (option == BOOTSTRAP)
			options.parameter.bootstrap = command_count(&cmd_fit, option, optarg, 0, ULONG_MAX);
		else if (option == CONFIDENCE) {
			options.parameter.confidence = command_number(&cmd_fit, option, optarg, 0, DBL_MAX);
			if (!(options.parameter.confidence > 0 && options.parameter.confidence < 1))
				cmd_usage(&cmd_fit, "--confidence %s: expected a number between 0 and 1",
					optarg);
		} else if (option == PLOT)
			plot = true;
		else if (option == PLAIN)
			plain = true;
		else if (option == SCHEMA) {
			print_json_end(schema_json(), stdout);
			return 0;
		} else if (!options_take(&cmd_fit, &options, option, optarg))
			command_unhandled(&cmd_fit, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_fit, "expected one table");
	options_end(&cmd_fit, &options);
	options_read_table(&options, arguments[optind], &observations);
	model = fit(&options, &observations);
	freely = fit_freely(&options, &observations);
	answer(&options, &observations, model, freely, arguments[optind]);
	if (plot && !options.json)
		print_plots(model, &observations, plain);
	if (model_path && (status = pm_fit_save(model, model_path)) < 0)
		errx(1, "%s: %s", model_path, strerror(-status));
	if (predictions_path)
		write_predictions(predictions_path, model, &observations);
	status = model->interrupted;
	pm_fit_free(model);
	pm_fit_free(freely);
	observations_free(&observations);
	options_free(&options);
	return status;
}

static const struct option_row rows[] = {
	{"bootstrap", BOOTSTRAP, "N", "bootstrap intervals from N resamples of the rows"},
	{"confidence", CONFIDENCE, "X", "confidence level of the intervals, default 0.95"},
	{NULL, 0, NULL, "Output:"},
	{"json", 'j', NULL,
		"JSON output: the model, its errors, the formula's lines and the sentences of the text"},
	{"model", 'o', "FILE", "write the model for other commands (JSON)"},
	{"schema", SCHEMA, NULL, "print the JSON Schema of model files and exit"},
	{"predictions", PREDICTIONS, "FILE",
		"write CSV: sample (index within its set), set, measured, predicted"},
	{"plot", PLOT, NULL,
		"plots in the terminal: predicted against measured, time over each extrinsic column"},
	{"plain", PLAIN, NULL,
		"ASCII plots; default without UTF-8 in LC_ALL, LC_CTYPE or LANG. NO_COLOR disables "
		"colours"},
	{"quiet", 'q', NULL, "no progress and no warnings about the data"},
	{0},
};

const struct command cmd_fit = {
	.name = "fit",
	.summary = "fit the generic model to a table of runs",
	.usage = "[OPTION]... TABLE.csv",
	.about = "Fits\n"
		 "\n"
		 "    t(I, E) = (sum_i a_i*I_i^p_i + a coefficient for each categorical level)\n"
		 "              * prod_j E_j^q_j + C\n"
		 "\n"
		 "to the rows of a table, minimising the mean absolute error plus lambda times the "
		 "penalty, once for each of ten seeds. Prints the formula, each parameter (best, mean and "
		 "standard deviation over the seeds: search noise, not data uncertainty), the errors and "
		 "warnings; with a lambda, also how much it changes the powers. TABLE is a CSV file with "
		 "a header, or - for standard input. Ctrl-C prints the best so far.\n",
	.options = OPTION_TABLES(options_columns, options_fit, rows),
	.after = "Examples:\n"
		 "  pmfit fit --time time,s --intrinsic filters,kernel --categorical padding \\\n"
		 "          --extrinsic batch,gpus --split split runs.csv\n"
		 "  pmfit fit -d lenet.txt --lambda 0.001 --bootstrap 200 -o lenet.json runs.csv\n"
		 "\n"
		 "The published settings are --lambda 0.001 --scale none --method de. Without "
		 "regularisation that search does not reach the minimum; the default does.\n"
		 "\n"
		 "Exit status: 0 success, 1 failure or interrupted, 2 usage error.\n",
	.run = run_fit,
};
