/* pmfit baselines: other ways to predict, beside the generic model, on the same split. */
#include "baselines.h"
#include "model_file.h"
#include "options.h"

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const help[] = {
	"pmfit baselines: the generic model beside other ways to predict\n"
	"\n"
	"usage: pmfit baselines [OPTION]... TABLE.csv\n"
	"\n"
	"Lets each of these learn from the rows to be fitted, and measures it on them and\n"
	"on the others (the split is that of 'fit'):\n"
	"\n"
	"  median       the median time for every row: what any other has to beat\n"
	"  linear       linear regression, least squares\n"
	"  power-law    the same of log time over the logarithms of the positive columns\n"
	"  svr-plain    support vector regression (libsvm, radial basis) without any\n"
	"               scaling or choice: C 1, epsilon 0.1, gamma one over the number of\n"
	"               columns times the variance of all cells\n"
	"  svr          the same with logarithms of positive columns, mean 0 and deviation\n"
	"               1; C, gamma and time or log time by three-fold cross-validation over\n"
	"               a grid of 24, of 800 rows at most; it learns from 10000 at most\n"
	"  forest       random forest: 100 trees on bootstrap samples, squared error\n"
	"  forest-log   the same of log time: relative errors count, as in MAPE\n"
	"  pmnf         the performance model normal form: a constant and up to five\n"
	"               products of x^i*log2(x)^j; it has no place for categories\n"
	"  model-l2     the generic model with L2 and lambda 0.001, as published\n"
	"  model        the generic model without regularisation\n"
	"\n"
	"The black boxes see one column of zeros and ones for each level, and learn the time\n"
	"less its offsets. Forests and models are run for each seed: the table has means,\n"
	"and standard deviations behind +-. Of a model they are what the search left\n"
	"undecided; 0 where all seeds end in one minimum. TABLE is a CSV file with a header,\n"
	"or - for standard input.\n"
	"\n",
	options_help_columns, options_help_fit,
	"  (penalties are ignored: the two models have their own)\n"
	"\n"
	"What to run and write:\n"
	"  --only LIST              of the names above, separated by commas\n"
	"  -c, --csv                as CSV: method, set, then each figure with its deviation\n"
	"  -j, --json               as JSON, each seed by itself\n"
	"  -q, --quiet              no progress, no warnings about the data\n"
	"\n"
	"MAPE is in percent of the measured time; MAE and RMSE are in the time's unit, MSE\n"
	"in its square.\n"
	"\n"
	"Examples:\n"
	"  pmfit baselines -d lenet.txt runs.csv\n"
	"  pmfit baselines -d lenet.txt --only forest,model --seeds 3 --csv runs.csv\n"
	"\n"
	"Exit status: 0 done, 1 could not or was interrupted, 2 wrong usage.\n",
	NULL};

static const struct figure {
	const char *name, *head;
	size_t offset;
	int width, digits;
} figures[] = {
	{"mape", "MAPE %", offsetof(struct pm_fit_error, mape), 8, 4},
	{"mae", "MAE", offsetof(struct pm_fit_error, mae), 8, 4},
	{"mse", "MSE", offsetof(struct pm_fit_error, mse), 8, 4},
	{"rmse", "RMSE", offsetof(struct pm_fit_error, rmse), 8, 4},
	{"r2", "R2", offsetof(struct pm_fit_error, r2), 7, 4},
};

#define FIGURES (sizeof(figures) / sizeof(*figures))

static void print_set(const struct baselines *baselines, bool test)
{
	printf("  %-11s", test ? "test" : "fitted");
	for (size_t f = 0; f < FIGURES; f++)
		printf(" %*s %-7s", figures[f].width, figures[f].head, "   +-");
	printf("%8s\n", test ? "" : "seconds");
	for (size_t i = 0; i < baselines->count; i++) {
		const struct baseline *result = &baselines->results[i];
		double mean, deviation;

		printf("  %-11s", result->name);
		for (size_t f = 0; f < FIGURES && !result->skipped; f++) {
			baselines_spread(test ? result->test : result->train, result->seed_count,
				figures[f].offset, &mean, &deviation);
			printf(" %*.*g", figures[f].width, figures[f].digits, mean);
			if (result->seed_count > 1)
				printf(" %-7.2g", deviation);
			else
				printf(" %-7s", "");
		}
		if (result->skipped)
			printf(" left out: %s", result->note);
		else if (!test)
			printf("%8.2f", result->seconds);
		putchar('\n');
	}
	putchar('\n');
}

static void print_text(
	const struct baselines *baselines, const struct observations *observations, const char *path)
{
	const struct baseline *best = NULL;
	bool with_test = observations->test.sample_count > 0;
	double least = HUGE_VAL;

	printf("%s: %zu samples to fit, %zu to test", path, observations->train.sample_count,
		observations->test.sample_count);
	if (observations->train.time_unit)
		printf("; times in %s", observations->train.time_unit);
	printf("\n\n");
	print_set(baselines, false);
	if (with_test)
		print_set(baselines, true);
	for (size_t i = 0; i < baselines->count; i++) {
		const struct baseline *result = &baselines->results[i];
		double mean, deviation;

		printf("  %-11s %s", result->name, result->what);
		if (!result->skipped && *result->note)
			printf(" (%s)", result->note);
		putchar('\n');
		if (result->skipped || !with_test)
			continue;
		baselines_spread(result->test, result->seed_count, offsetof(struct pm_fit_error, mape), &mean,
			&deviation);
		if (mean < least) {
			least = mean;
			best = result;
		}
	}
	if (best)
		printf("\nLeast MAPE on the test: %s, %.2f%%.\n", best->name, least);
}

static void print_csv(const struct baselines *baselines, bool with_test)
{
	printf("method,set,seeds");
	for (size_t f = 0; f < FIGURES; f++)
		printf(",%s,%s_sd", figures[f].name, figures[f].name);
	printf(",seconds\n");
	for (size_t i = 0; i < baselines->count; i++)
		for (int test = 0; test <= (with_test ? 1 : 0); test++) {
			const struct baseline *result = &baselines->results[i];

			if (result->skipped)
				continue;
			printf("%s,%s,%zu", result->name, test ? "test" : "fitted", result->seed_count);
			for (size_t f = 0; f < FIGURES; f++) {
				double mean, deviation;

				baselines_spread(test ? result->test : result->train, result->seed_count,
					figures[f].offset, &mean, &deviation);
				printf(",%.9g,%.4g", mean, deviation);
			}
			printf(",%.3f\n", result->seconds);
		}
}

static cJSON *json_set(const struct pm_fit_error *errors, size_t count)
{
	cJSON *set = cJSON_CreateObject(), *array;

	for (size_t f = 0; f < FIGURES; f++) {
		cJSON *object = cJSON_AddObjectToObject(set, figures[f].name);
		double mean, deviation;

		baselines_spread(errors, count, figures[f].offset, &mean, &deviation);
		cJSON_AddItemToObject(object, "mean", model_file_number(mean));
		cJSON_AddItemToObject(object, "sd", model_file_number(deviation));
	}
	array = cJSON_AddArrayToObject(set, "seeds");
	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(array, model_file_error(&errors[i]));
	return set;
}

static void print_json(const struct baselines *baselines, bool with_test)
{
	cJSON *root = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(root, "baselines");

	for (size_t i = 0; i < baselines->count; i++) {
		const struct baseline *result = &baselines->results[i];
		cJSON *object = cJSON_CreateObject();

		cJSON_AddStringToObject(object, "method", result->name);
		cJSON_AddBoolToObject(object, "skipped", result->skipped);
		cJSON_AddStringToObject(object, "note", result->note);
		cJSON_AddNumberToObject(object, "seconds", result->seconds);
		if (!result->skipped)
			cJSON_AddItemToObject(object, "train", json_set(result->train, result->seed_count));
		if (!result->skipped && with_test)
			cJSON_AddItemToObject(object, "test", json_set(result->test, result->seed_count));
		cJSON_AddItemToArray(array, object);
	}
	cmd_print_json(root);
}

static void show(const char *name)
{
	fprintf(stderr, "\r%s\033[K", name);
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
		errx(1, "no memory");
	while ((word = strtok_r(rest, ",", &rest))) {
		size_t i = 0;

		while (i < count && strcmp(baselines_names[i], word) != 0)
			i++;
		if (i == count)
			cmd_usage(&cmd_baselines, "--only %s: there is no such method", word);
		wanted[i] = true;
	}
	return wanted;
}

static int run(int argument_count, char **arguments)
{
	enum { ONLY = OPTION_OWN };
	static const struct option long_options[] = {
		OPTIONS_LONG, {"only", required_argument, NULL, ONLY}, {"csv", no_argument, NULL, 'c'}, {0}};
	struct observations observations;
	struct baselines baselines;
	struct options options;
	bool csv = false, *wanted = NULL, terminal;
	int option, status;

	options_init(&options);
	while ((option = getopt_long(argument_count, arguments, "c" OPTIONS_SHORT, long_options, NULL)) != -1)
		if (option == ONLY) {
			free(wanted);
			wanted = take_names(optarg);
		} else if (option == 'c')
			csv = true;
		else if (!options_take(&cmd_baselines, &options, option, optarg))
			cmd_usage(&cmd_baselines, "wrong option");
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_baselines, "expected one table");
	options_end(&cmd_baselines, &options);
	options_observe(&options, arguments[optind], &observations);
	options.parameter.stop = options_catch_interrupt();
	terminal = isatty(STDERR_FILENO) && !options.quiet;
	status = baselines_run(&baselines, &observations.train, &observations.test, &options.parameter,
		wanted, terminal ? show : NULL);
	if (terminal)
		fprintf(stderr, "\r\033[K");
	if (status < 0)
		errx(1, "%s", status == -EINTR ? "interrupted" : strerror(-status));
	if (options.json)
		print_json(&baselines, observations.test.sample_count > 0);
	else if (csv)
		print_csv(&baselines, observations.test.sample_count > 0);
	else
		print_text(&baselines, &observations, arguments[optind]);
	free(wanted);
	baselines_free(&baselines);
	observations_free(&observations);
	options_free(&options);
	return 0;
}

const struct command cmd_baselines = {.name = "baselines",
	.summary = "the model beside regression, forest, support vectors",
	.help = help,
	.run = run};
