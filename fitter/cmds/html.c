/* pmfit html: pictures of a model: one HTML file. */
#include "options.h"
#include "base/output.h"
#include "base/terminal.h"
#include "html_step.h"
#include "output/html_page.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_FOLDS 5
#define PATH_SEEDS 2

/* What belongs to a model while its report is made. */
struct source {
	struct pm_fit_model *model;
	struct observations observations;
	double *predicted[2];
	struct lambda_path path;
	struct baselines baselines;
	bool has_data;
};

struct choices {
	const char *output;
	char **tables;
	size_t table_count;
	bool force, path, baselines;
};

static void show_path(void *context, size_t done, size_t all)
{
	(void)context;
	pm_terminal_progress("%zu of %zu fits", done, all);
	if (done == all)
		pm_terminal_clear();
}

static void show_baseline(const char *name)
{
	pm_terminal_progress("%s", name);
}

static void run_path(struct source *source, struct options *options, const char *table)
{
	static const double lambdas[] = {0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1};
	struct pm_fit_parameter parameter = options->parameter;
	int status;

	parameter.run_count = parameter.run_count < PATH_SEEDS ? parameter.run_count : PATH_SEEDS;
	parameter.stop = options_catch_interrupt();
	status = lambda_path_run(&source->path, &source->observations.train, &source->observations.test,
		&parameter, lambdas, sizeof(lambdas) / sizeof(*lambdas), 1, PATH_FOLDS,
		!options->quiet ? show_path : NULL, NULL);
	if (status == -EINVAL)
		errx(1, "%s: --path: too few samples for the parameters, or all samples are identical",
			table);
	if (status < 0 || source->path.interrupted)
		errx(1, "%s", status < 0 ? strerror(-status) : "interrupted");
}

static void run_baselines(struct source *source, struct options *options)
{
	bool terminal = !options->quiet;
	int status;

	options->parameter.stop = options_catch_interrupt();
	status = baselines_run(&source->baselines, &source->observations.train, &source->observations.test,
		&options->parameter, NULL, terminal ? show_baseline : NULL);
	if (terminal)
		pm_terminal_clear();
	if (status < 0)
		errx(1, "%s", status == -EINTR ? "interrupted" : strerror(-status));
}

/* The roles are the model's, whatever a description or the model before says. */
static void take_roles(struct options *options, const struct pm_fit_model *model)
{
	while (options->description.role_count)
		free(options->description.roles[--options->description.role_count].column);
	for (size_t i = 0; i < model->column_count; i++)
		if (description_role(&options->description, model->columns[i].name, model->columns[i].role) <
			0)
			errx(1, "out of memory");
	if (!options->description.time && !(options->description.time = strdup("time")))
		errx(1, "out of memory");
}

static void read_table(
	struct source *source, struct options *options, const char *table, const char *model_path)
{
	const char *bad;
	struct csv csv;

	take_roles(options, source->model);
	if (csv_read(&csv, table) < 0)
		errx(1, "%s", csv.error);
	if (observations_init(&source->observations, &csv, &options->description) < 0)
		errx(1, "%s", source->observations.error);
	csv_free(&csv);
	if (source->observations.skipped && !options->quiet)
		warnx("%s: %zu rows skipped: missing values or a time that is not positive", table,
			source->observations.skipped);
	for (int s = 0; s < 2; s++) {
		const struct pm_fit_problem *problem =
			s ? &source->observations.test : &source->observations.train;

		bad = pm_fit_check_predict(source->model, problem);
		if (bad && problem->sample_count)
			errx(1, "%s: %s: %s", table, model_path, bad);
	}
	source->has_data = true;
}

static void add_set(struct html_model *to, struct source *source, int s)
{
	const struct pm_fit_problem *problem = s ? &source->observations.test : &source->observations.train;

	if (problem->sample_count == 0)
		return;
	source->predicted[s] = malloc(problem->sample_count * sizeof(double));
	if (!source->predicted[s] || pm_fit_predict(source->model, problem, source->predicted[s]) < 0)
		errx(1, "out of memory");
	pm_fit_measure(
		problem->time, source->predicted[s], problem->sample_count, s ? &to->test : &to->fitted);
	to->subject.sets[to->subject.set_count++] =
		(struct figure_set){.name = s                                        ? "test"
					    : source->observations.test.sample_count ? "fitted"
										     : "samples",
			.problem = problem,
			.measured = problem->time,
			.predicted = source->predicted[s]};
}

static void check_fit(struct source *source, struct options *options, const char *table)
{
	const char *bad = pm_fit_check(&source->observations.train, &options->parameter);

	if (bad)
		errx(1, "%s: %s", table, bad);
}

static void prepare(struct html_model *to, struct source *source, struct options *options,
	const struct choices *choices, size_t index, const char *path)
{
	const char *table = choices->table_count == 0   ? NULL
			    : choices->table_count == 1 ? choices->tables[0]
							: choices->tables[index];
	const char *bad = pm_fit_load(path, &source->model);

	if (bad)
		errx(1, "%s", bad);
	*to = (struct html_model){.subject = {.name = path, .model = source->model}};
	if (source->model->expression && (choices->path || choices->baselines))
		errx(1,
			"%s: --path and --baselines fit the generic model, but this is a formula of 'pmfit "
			"search'",
			path);
	if (!table)
		return;
	read_table(source, options, table, path);
	add_set(to, source, 0);
	add_set(to, source, 1);
	if (choices->path || choices->baselines)
		check_fit(source, options, table);
	if (choices->path) {
		run_path(source, options, table);
		to->path = &source->path;
	}
	if (choices->baselines) {
		run_baselines(source, options);
		to->baselines = &source->baselines;
	}
}

static void release(struct source *source)
{
	pm_fit_free(source->model);
	free(source->predicted[0]);
	free(source->predicted[1]);
	lambda_path_free(&source->path);
	baselines_free(&source->baselines);
	if (source->has_data)
		observations_free(&source->observations);
}

enum { DATA = OPTION_FIRST, PATH, BASELINES, FORCE };

static void take_options(
	int argument_count, char **arguments, struct options *options, struct choices *choices)
{
	int option;

	while ((option = command_option(&cmd_html, argument_count, arguments)) != -1)
		if (option == DATA)
			choices->tables[choices->table_count++] = optarg;
		else if (option == PATH)
			choices->path = true;
		else if (option == BASELINES)
			choices->baselines = true;
		else if (option == 'o')
			choices->output = optarg;
		else if (option == FORCE)
			choices->force = true;
		else if (option == 'j')
			cmd_usage(&cmd_html, "--json: this command writes HTML only");
		else if (!options_take(&cmd_html, options, option, optarg))
			command_unhandled(&cmd_html, option);
	options_end(&cmd_html, options);
	if (optind >= argument_count)
		cmd_usage(&cmd_html, "expected a model");
	if (choices->table_count > 1 && choices->table_count != (size_t)(argument_count - optind))
		cmd_usage(&cmd_html, "--data: expected one table, or one per model");
	if ((choices->path || choices->baselines) && !choices->table_count)
		cmd_usage(&cmd_html, "--path and --baselines require --data");
}

/* The file while it is written. */
struct page {
	const struct choices *choices;
	struct pm_output output;
	FILE *out;
};

static FILE *page_open(void *context)
{
	struct page *page = context;

	page->out = strcmp(page->choices->output, "-") == 0
			    ? stdout
			    : pm_output_create(&page->output, page->choices->output, !page->choices->force);
	return page->out;
}

static FILE *page_open_step(void *context)
{
	const struct page *page = context;

	if (page->choices->path || page->choices->baselines)
		errx(1, "--path and --baselines fit the generic model, but this is a model of 'pmfit step'");
	return page_open(context);
}

static void page_finish(struct page *page)
{
	if (page->out == stdout)
		return;
	pm_output_finish(&page->output, page->choices->output);
	printf("%s\n", page->choices->output);
}

static void write_models(struct page *page, struct options *options, char **paths, size_t count)
{
	struct html_model *models = calloc(count, sizeof(*models));
	struct source *sources = calloc(count, sizeof(*sources));

	if (!models || !sources)
		errx(1, "out of memory");
	for (size_t m = 0; m < count; m++)
		prepare(&models[m], &sources[m], options, page->choices, m, paths[m]);
	html_write(models, count, page_open(page));
	page_finish(page);
	for (size_t m = 0; m < count; m++)
		release(&sources[m]);
	free(models);
	free(sources);
}

static int run_html(int argument_count, char **arguments)
{
	struct choices choices = {.output = "report.html"};
	struct page page = {.choices = &choices};
	struct options options;
	size_t count;

	choices.tables = calloc((size_t)argument_count + 1, sizeof(*choices.tables));
	options_init(&options);
	if (!choices.tables)
		errx(1, "out of memory");
	take_options(argument_count, arguments, &options, &choices);
	count = (size_t)(argument_count - optind);
	if (!html_step_models(
		    arguments + optind, count, choices.tables, choices.table_count, page_open_step, &page))
		write_models(&page, &options, arguments + optind, count);
	else
		page_finish(&page);
	free(choices.tables);
	options_free(&options);
	return 0;
}

static const struct option_row rows[] = {
	{"data", DATA, "TABLE",
		"measured runs, a CSV file with a header; one for all models, or repeated, one per model "
		"in order. Without it there are no measured points"},
	{"path", PATH, NULL,
		"also fit at several lambdas and plot the paths of parameters and errors (takes as long "
		"as 'pmfit path')"},
	{"baselines", BASELINES, NULL, "also include the table of 'pmfit baselines', on the same split"},
	{"output", 'o', "FILE", "default report.html; - is standard output"},
	{"force", FORCE, NULL, "overwrite FILE"},
	{0},
};

static const struct option_row rows2[] = {
	{"quiet", 'q', NULL, "no progress and no warnings about the data"},
	{0},
};

const struct command cmd_html = {
	.name = "html",
	.summary = "HTML report of a model",
	.usage = "[OPTION]... MODEL.json...",
	.about =
		"Writes one self-contained file without scripts or network access: the formula, the "
		"errors and warnings; predicted against measured; residuals over the prediction and over "
		"each column; time over each numeric column with the measured points, with extrapolation "
		"shaded; parameters with bootstrap intervals and seeds; and the options below. Hovering "
		"over a plot shows its values; colours follow the browser's light or dark mode. Several "
		"models are first compared with each other. MODEL is a file written by 'pmfit fit -o' or "
		"'pmfit search -o', or by 'pmfit step -o': of steps the page has predictions of configurations that "
		"were left out, by chance and by column, their residuals, and compute and exchange; --data adds "
		"measured rows.\n",
	.options = OPTION_TABLES(rows, options_columns, options_fit, rows2),
	.after = "Column roles are those of the model. The time is --time or that of a description, else "
		 "the column `time`. Use the split of the fit. Points that nearly coincide are merged, "
		 "which the plot states, to keep files small. --path and --baselines fit like 'pmfit "
		 "path' and 'pmfit baselines', with the options above.\n"
		 "\n"
		 "Examples:\n"
		 "  pmfit html model.json\n"
		 "  pmfit html --data runs.csv -d lenet.txt --path --baselines model.json\n"
		 "  pmfit html --data a.csv --data b.csv -d lenet.txt a.json b.json\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.data = true,
	.run = run_html,
};
