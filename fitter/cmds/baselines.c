/* pmfit baselines: other ways to predict, beside the generic model, on the same split. */
#include "base/terminal.h"
#include "baselines/baselines.h"
#include "model/resample.h"
#include "options.h"
#include "output/error_table.h"
#include "output/sentences.h"

#include <float.h>
#include <err.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From here on it takes long enough to say so. */
#define MANY_ROWS 50000
#define PILOT_ROWS 2000

/* What was trained on what, for all forms. */
struct answer {
	const struct baselines *baselines;
	const struct observations *observations;
	const char *path;
	double confidence;
	bool with_test;
	struct arena arena;
};

/* The method of the least mean MAPE on the test rows; NULL where none was tested. */
static const struct baseline *find_best(const struct answer *answer, double *mape)
{
	const struct baseline *best = NULL;

	*mape = HUGE_VAL;
	for (size_t i = 0; i < answer->baselines->count && answer->with_test; i++) {
		const struct baseline *result = &answer->baselines->results[i];
		double mean, deviation;

		if (result->skipped)
			continue;
		baselines_spread(result->test, result->seed_count, offsetof(struct pm_fit_error, mape), &mean,
			&deviation);
		if (mean < *mape) {
			*mape = mean;
			best = result;
		}
	}
	return best;
}

static void say_samples(const struct answer *answer, struct sentences *sentences)
{
	const char *unit = answer->observations->train.time_unit;

	sentences_add(sentences, "%s: %zu samples to fit, %zu to test%s%s", answer->path,
		answer->observations->train.sample_count, answer->observations->test.sample_count,
		unit ? "; times in " : "", unit ? unit : "");
}

static void say_best(const struct answer *answer, struct sentences *sentences)
{
	double mape;
	const struct baseline *best = find_best(answer, &mape);

	if (best)
		sentences_add(sentences, "Lowest test MAPE: %s, %.2f%%.", best->name, mape);
}

static void print_set(struct answer *answer, bool test)
{
	struct print_table table;

	error_table_init(&table, &answer->arena);
	for (size_t i = 0; i < answer->baselines->count; i++)
		error_table_row(&table, &answer->baselines->results[i], test, answer->confidence);
	print_text(&table, NULL, stdout);
	print_free(&table);
}

static void answer_text(struct answer *answer)
{
	struct sentences samples = {.arena = &answer->arena}, best = {.arena = &answer->arena};
	struct print_table methods;

	say_samples(answer, &samples);
	say_best(answer, &best);
	sentences_text(&samples, 0, 2, stdout);
	for (int test = 0; test <= (answer->with_test ? 1 : 0); test++) {
		putchar('\n');
		print_set(answer, test);
	}
	print_init(&methods, &answer->arena);
	error_table_methods(&methods, answer->baselines->results, answer->baselines->count);
	print_part(&methods, PRINT_TEXT, NULL, NULL, NULL, true, stdout);
	print_free(&methods);
	fputs(best.count ? "\n" : "", stdout);
	sentences_text(&best, 0, 2, stdout);
}

static void answer_csv(struct answer *answer)
{
	struct print_table table;

	error_table_init(&table, &answer->arena);
	for (size_t i = 0; i < answer->baselines->count; i++)
		for (int test = 0; test <= (answer->with_test ? 1 : 0); test++)
			if (!answer->baselines->results[i].skipped)
				error_table_row(
					&table, &answer->baselines->results[i], test, answer->confidence);
	print_csv(&table, stdout);
	print_free(&table);
}

static void answer_json(struct answer *answer)
{
	cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "baselines");
	struct sentences sentences = {.arena = &answer->arena};

	for (size_t i = 0; i < answer->baselines->count; i++)
		cJSON_AddItemToArray(array, error_table_json(&answer->baselines->results[i],
						    answer->with_test, true, answer->confidence));
	say_samples(answer, &sentences);
	say_best(answer, &sentences);
	sentences_json(&sentences, root, "sentences");
	print_json_end(root, stdout);
}

static void show(const char *name)
{
	pm_terminal_progress("%s", name);
}

/* About how long the learners will take, from a few of the rows, to which their time is in proportion; but
 * for the support vectors', which learn from so many at most. */
static double estimate_learners(
	const struct pm_fit_problem *train, const struct pm_fit_parameter *parameter, const bool *wanted)
{
	struct pm_fit_problem none = *train;
	struct pm_fit_parameter one = *parameter;
	struct baselines pilot;
	struct resample some;
	size_t *rows = malloc(PILOT_ROWS * sizeof(*rows));
	bool learners[64] = {false};
	double seconds = 0;

	if (!rows)
		errx(1, "out of memory");
	for (size_t k = 0; k < PILOT_ROWS; k++)
		rows[k] = k * (train->sample_count / PILOT_ROWS);
	for (size_t i = 0; baselines_names[i]; i++)
		learners[i] = (!wanted || wanted[i]) && strncmp(baselines_names[i], "svr", 3) != 0 &&
			      strncmp(baselines_names[i], "model", 5) != 0;
	none.sample_count = 0;
	one.run_count = 1;
	if (resample_init(&some, train, rows, PILOT_ROWS) < 0 ||
		baselines_run(&pilot, &some.problem, &none, &one, learners, NULL) < 0)
		errx(1, "out of memory, or interrupted");
	for (size_t i = 0; i < pilot.count; i++)
		seconds += pilot.results[i].seconds * (double)train->sample_count / PILOT_ROWS *
			   (double)(pilot.results[i].is_random ? parameter->run_count : 1);
	baselines_free(&pilot);
	resample_free(&some);
	free(rows);
	return seconds;
}

static void announce(
	const struct pm_fit_problem *train, const struct pm_fit_parameter *parameter, const bool *wanted)
{
	double seconds;
	bool support = false;

	if (train->sample_count < MANY_ROWS)
		return;
	seconds = estimate_learners(train, parameter, wanted);
	for (size_t i = 0; baselines_names[i]; i++) {
		if (wanted && !wanted[i])
			continue;
		support |= strncmp(baselines_names[i], "svr", 3) == 0;
		if (strncmp(baselines_names[i], "model", 5) == 0)
			seconds += pm_fit_estimate(train, parameter);
	}
	warnx("%zu rows: estimated run time about %.0f s%s; --only and --seeds shorten it",
		train->sample_count, seconds, support ? ", excluding support vectors" : "");
}

static bool *take_names(char *argument)
{
	size_t count = 0;
	char *rest = argument, *word;
	bool *wanted;

	while (baselines_names[count])
		count++;
	wanted = calloc(count, sizeof(*wanted));
	if (!wanted)
		errx(1, "out of memory");
	while ((word = strtok_r(rest, ",", &rest))) {
		size_t i = 0;

		while (i < count && strcmp(baselines_names[i], word) != 0)
			i++;
		if (i == count)
			cmd_usage(&cmd_baselines, "--only %s: unknown method", word);
		wanted[i] = true;
	}
	return wanted;
}

enum { ONLY = OPTION_FIRST, CONFIDENCE };

static int run_baselines(int argument_count, char **arguments)
{
	struct observations observations;
	struct baselines baselines;
	struct options options;
	struct answer answer;
	bool csv = false, *wanted = NULL, terminal;
	int option, status;

	options_init(&options);
	while ((option = command_option(&cmd_baselines, argument_count, arguments)) != -1)
		if (option == ONLY) {
			free(wanted);
			wanted = take_names(optarg);
		} else if (option == CONFIDENCE) {
			options.parameter.confidence =
				command_number(&cmd_baselines, option, optarg, 0, DBL_MAX);
			if (!(options.parameter.confidence > 0 && options.parameter.confidence < 1))
				cmd_usage(&cmd_baselines,
					"--confidence %s: expected a number between 0 and 1", optarg);
		} else if (option == 'c')
			csv = true;
		else if (!options_take(&cmd_baselines, &options, option, optarg))
			command_unhandled(&cmd_baselines, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_baselines, "expected one table");
	options_end(&cmd_baselines, &options);
	options_read_table(&options, arguments[optind], &observations);
	options.parameter.stop = options_catch_interrupt();
	if (!options.quiet)
		announce(&observations.train, &options.parameter, wanted);
	terminal = !options.quiet;
	status = baselines_run(&baselines, &observations.train, &observations.test, &options.parameter,
		wanted, terminal ? show : NULL);
	if (terminal)
		pm_terminal_clear();
	if (status < 0)
		errx(1, "%s", status == -EINTR ? "interrupted" : strerror(-status));
	answer = (struct answer){.baselines = &baselines,
		.observations = &observations,
		.path = arguments[optind],
		.confidence = options.parameter.confidence,
		.with_test = observations.test.sample_count > 0};
	if (options.json)
		answer_json(&answer);
	else if (csv)
		answer_csv(&answer);
	else
		answer_text(&answer);
	arena_free(&answer.arena);
	free(wanted);
	baselines_free(&baselines);
	observations_free(&observations);
	options_free(&options);
	return 0;
}

static const struct option_row rows[] = {
	{NULL, 0, NULL, "Selection and output:"},
	{"only", ONLY, "LIST", "comma-separated names from the list above"},
	{"confidence", CONFIDENCE, "X", "of the intervals over seeds, default 0.95"},
	{"csv", 'c', NULL,
		"CSV output: method, set, then each figure with its deviation and the limits of its "
		"interval"},
	{"json", 'j', NULL, "JSON output, with the results of each seed and the sentences of the text"},
	{"quiet", 'q', NULL, "no progress and no warnings about the data"},
	{0},
};

const struct command cmd_baselines = {
	.name = "baselines",
	.summary = "compare the model with regression, trees, support vectors",
	.usage = "[OPTION]... TABLE.csv",
	.about = "Trains each of these methods on the fitted rows and evaluates it on them and on the "
		 "test rows (same split as 'fit'):\n"
		 "\n"
		 "  median\tthe median time for every row: what any other has to beat\n"
		 "  linear\tlinear regression, least squares\n"
		 "  power-law\tthe same of log time over the logarithms of the positive columns\n"
		 "  svr-plain\tsupport vector regression (libsvm, radial basis) without any scaling or "
		 "choice: C 1, epsilon 0.1, gamma one over the number of columns times the variance of "
		 "all cells\n"
		 "  svr\tthe same with logarithms of positive columns, mean 0 and deviation 1; C, gamma "
		 "and time or log time by three-fold cross-validation over a grid of 24, of 800 rows at "
		 "most; it learns from 10000 at most\n"
		 "  forest\trandom forest: 100 trees on bootstrap samples, squared error\n"
		 "  forest-log\tthe same on log time: minimises relative errors, as in MAPE\n"
		 "  boost-plain\tgradient boosting with common defaults: 100 trees, 3 cuts deep, rate "
		 "0.1, squared error\n"
		 "  boost\tthe same with half of the rows for each tree; depth (2, 4, 6), number of trees "
		 "(50 to 500) and time or log time by three-fold cross-validation, of 1500 rows at most\n"
		 "  pmnf\tthe performance model normal form: a constant and up to five products of "
		 "x^i*log2(x)^j; numeric columns only\n"
		 "  model-l2\tthe generic model with L2 and lambda 0.001, as published\n"
		 "  model\tthe generic model without regularisation\n"
		 "\n"
		 "Categorical columns are one-hot encoded for the black boxes, which learn the time minus "
		 "its offsets. Forests, boost and models are run for each seed: the table shows means, "
		 "and standard deviations after +-. For a model the deviation is the noise of the search; "
		 "0 where all seeds reach the same minimum. CSV and JSON also contain the confidence "
		 "interval of the mean over seeds (Student's t). TABLE is a CSV file with a header, or - "
		 "for standard input.\n",
	.options = OPTION_TABLES(options_columns, options_fit, rows),
	.after = "Penalties are ignored: the two models have their own.\n"
		 "\n"
		 "MAPE is in percent of the measured time; MAE and RMSE are in the time's unit, MSE in "
		 "its square.\n"
		 "\n"
		 "Examples:\n"
		 "  pmfit baselines -d lenet.txt runs.csv\n"
		 "  pmfit baselines -d lenet.txt --only forest,model --seeds 3 --csv runs.csv\n"
		 "\n"
		 "Exit status: 0 success, 1 failure or interrupted, 2 usage error.\n",
	.run = run_baselines,
};
