/*
 * Measured data and published minima: every seed reaches the least cost that long searches of other programs
 * found (differential evolution, L-SHADE, jSO and many starts of robust least squares, with SciPy 1.10).
 *
 *     test_fitdata FOLDER      unless PM_FITDATA names another; exit code 77 if it is not there
 */
#include "../analyzer/check.h"
#include "data/observations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which samples were fitted for the minima below, a bit each, in the order of the files: placements.csv
 * then scalability.csv; of the convolutions those with an optimizer. */
static const char pollux_fitted[] =
	"fe7e97fb3dd953f7f3bdc1eff97ffdc7fa2a3d0da749d3bcdb75bff2cde5a5f7f6dbfde6b571d7ff3ababfed9f84a92e"
	"f2fffefb2d2fe9ea38efcc58633e5ffbf9fac7b6db76f77f77be8f8bb98fefdfb36de937cfee1879cff9da7f6fc9f157"
	"bebf8c78bbc71fb3977cd816ec68eff7efa7eddbfeabb3e9df9a5e216b9c5dfdee6c7be7ff7bceedcf39e69c4fff7654"
	"e5dfcfbdffcf86fffdb5fe6f7f2bdbff97773ddda4fbe3466275b656ab77ab5e7118df9bbd897d5198ce6f7f57";
static const char justus_fitted[] =
	"507343453c9242d0022801d7993e153f5cba2c4585891b7cb9748ad48984a34661e0850485310aeca22240e16020ca1e"
	"820ab5b3080b4044493d3016141a16d2e93185729036033d8b08c682b98a0482aa89c915470400a3c021ce495c80c013"
	"acae3448965418166124c806e521c04307416848a4a961c99f845c00635208e194c25a08cc83e725c810d7a40e52c264"
	"60860236d7f1564078862d800c4852875a4a625b218031a06a0593440900074308b005880b85565182763d3498c99ca3"
	"915ec058f7fe97a8eac4a4dedb8a00182d1e741fd0449b38e4e91010996683128eba655953b624e400a345caba5634ff"
	"d578bd0f6cc020401311001a89693150774c957846d81509386759e355f49e0e382a202dfa00c0a45d26d680d0a0e944"
	"2887488709302b401612026142282681e35ed17f420224345e60";

static const char *folder;

static bool was_fitted(const char *mask, size_t sample)
{
	const char digit[2] = {mask[sample / 4], '\0'};

	return strtol(digit, NULL, 16) >> (3 - sample % 4) & 1;
}

static void read_table(struct csv *csv, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0 || csv_read(csv, path) < 0) {
		printf("%s\n", csv->error);
		exit(1);
	}
	free(path);
}

static double number_at(const struct csv *csv, size_t row, const char *column)
{
	double number;

	if (csv_number(csv->cells[row * csv->column_count + (size_t)csv_find(csv, column)], &number) < 0)
		abort();
	return number;
}

/* Ten seeds; each within `within` of the minimum, and none so far below that it is another problem. */
static void check_minimum(const char *name, const struct pm_fit_problem *problem,
	const struct pm_fit_parameter *parameter, double minimum, double within,
	const struct pm_fit_problem *test, double mape)
{
	struct pm_fit_model *model;
	struct pm_fit_error error = {0};
	const char *bad = pm_fit_check(problem, parameter);
	double worst = 0;

	CHECK(!bad, "%s: %s", name, bad);
	if (bad || pm_fit(problem, parameter, &model) < 0)
		return;
	for (size_t r = 0; r < model->run_count; r++) {
		worst = fmax(worst, model->runs[r].objective);
		CHECK(model->runs[r].objective < minimum * (1 + within), "%s: seed %zu: %.7g, not %.7g", name,
			r, model->runs[r].objective, minimum);
		CHECK(model->runs[r].objective > minimum * 0.995, "%s: seed %zu: %.7g, below %.7g", name, r,
			model->runs[r].objective, minimum);
	}
	if (test) {
		pm_fit_evaluate(model, test, &error);
		CHECK(error.mape < mape * 1.02, "%s: MAPE %.3f%% on the test, not %.3f%%", name, error.mape,
			mape);
	}
	printf("%-32s minimum %-9.7g worst of %zu seeds %-9.7g MAPE of the test %6.2f%%  %.2f s\n", name,
		minimum, model->run_count, worst, error.mape, model->seconds);
	pm_fit_free(model);
}

static void check_synthetic(const char *set, double free_minimum, double penalised_minimum, double mape)
{
	static const char *const lines[] = {"time time s", "intrinsic filters kernel pool lr stride dropout",
		"categorical padding activation dataset optimizer", "extrinsic batch gpus",
		"split split train"};
	struct description description;
	struct observations observations;
	struct pm_fit_parameter parameter;
	struct csv csv;
	char name[64], path[64];

	snprintf(path, sizeof(path), "thesis-synth/%s.csv", set);
	read_table(&csv, path);
	description_init(&description);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		description_line(&description, lines[i]);
	if (observations_init(&observations, &csv, &description) < 0)
		CHECK(0, "%s", observations.error);
	pm_fit_defaults(&parameter);
	snprintf(name, sizeof(name), "%s, lambda 0", set);
	check_minimum(name, &observations.train, &parameter, free_minimum, 1e-3, &observations.test, mape);
	if (penalised_minimum > 0) {
		parameter.penalty = PM_FIT_L2;
		parameter.lambda_coefficients = parameter.lambda_powers = 0.001;
		snprintf(name, sizeof(name), "%s, L2 0.001", set);
		check_minimum(name, &observations.train, &parameter, penalised_minimum, 1e-4, NULL, 0);
	}
	observations_free(&observations);
	description_free(&description);
	csv_free(&csv);
}

/* Columns that are filled sample by sample, and divided into those to fit and those to test. */
#define MOST_COLUMNS 12
#define MOST_SAMPLES 3000

struct table {
	double cells[MOST_COLUMNS][MOST_SAMPLES], time[MOST_SAMPLES];
	struct pm_fit_column columns[MOST_COLUMNS];
	struct pm_fit_problem problem;
};

static struct table fitted, tested;

static void add_column(const char *name, enum pm_fit_role role, size_t level_count)
{
	static const char *const levels[] = {"0", "1", "2", "3", "4", "5", "6"};
	struct table *tables[] = {&fitted, &tested};

	for (size_t t = 0; t < 2; t++) {
		size_t at = tables[t]->problem.column_count++;

		tables[t]->columns[at] =
			(struct pm_fit_column){name, role, tables[t]->cells[at], level_count, levels};
	}
}

static void begin_tables(void)
{
	fitted.problem = (struct pm_fit_problem){0, 0, fitted.columns, fitted.time, "ms"};
	tested.problem = (struct pm_fit_problem){0, 0, tested.columns, tested.time, "ms"};
}

static void check_pollux(void)
{
	static const char *const files[] = {
		"pollux/cifar10/placements.csv", "pollux/cifar10/scalability.csv"};
	struct pm_fit_parameter parameter;
	size_t sample = 0;

	begin_tables();
	add_column("local_bsz", PM_FIT_INTRINSIC, 0);
	add_column("gpus", PM_FIT_INTRINSIC, 0);
	add_column("several nodes", PM_FIT_CATEGORICAL, 2);
	add_column("nodes", PM_FIT_EXTRINSIC, 0);
	for (size_t f = 0; f < 2; f++) {
		struct csv csv;

		read_table(&csv, files[f]);
		for (size_t row = 0; row < csv.row_count; row++, sample++) {
			struct table *table = was_fitted(pollux_fitted, sample) ? &fitted : &tested;
			size_t k = table->problem.sample_count++;
			double nodes = 0, gpus = 0;

			if (f == 0) {
				/* a digit for each node: its GPUs */
				const char *digits = csv.cells[row * csv.column_count];

				for (; *digits; digits++, nodes++)
					gpus += *digits - '0';
			} else {
				nodes = number_at(&csv, row, "num_nodes");
				gpus = number_at(&csv, row, "num_replicas");
			}
			table->cells[0][k] = number_at(&csv, row, "local_bsz");
			table->cells[1][k] = gpus;
			table->cells[2][k] = nodes > 1;
			table->cells[3][k] = nodes;
			table->time[k] = 1000 * number_at(&csv, row, "step_time");
		}
		csv_free(&csv);
	}
	pm_fit_defaults(&parameter);
	check_minimum("pollux cifar10, lambda 0", &fitted.problem, &parameter, 17.1905, 1e-3, &tested.problem,
		7.42);
}

/* The sizes as summands, as published, or as factors. */
static void check_convolutions(
	enum pm_fit_role sizes, const char *name, double minimum, double within, double mape)
{
	static const char *const numbers[] = {
		"batchsize", "kernelsize", "matsize", "channels_in", "channels_out", "strides"};
	static const char *const words[] = {"padding", "activation_fct", "optimizer"};
	struct pm_fit_parameter parameter;
	struct csv csv;
	size_t sample = 0;

	begin_tables();
	for (size_t i = 0; i < 6; i++)
		add_column(numbers[i], i == 0 ? PM_FIT_EXTRINSIC : i == 1 ? PM_FIT_INTRINSIC : sizes, 0);
	add_column("padding", PM_FIT_CATEGORICAL, 2);
	add_column("activation", PM_FIT_CATEGORICAL, 4);
	add_column("optimizer", PM_FIT_CATEGORICAL, 6);
	add_column("bias", PM_FIT_CATEGORICAL, 2);
	read_table(&csv, "justus/1080ti-0-benchmark_convolution__20180924.derived.csv");
	for (size_t row = 0; row < csv.row_count; row++) {
		struct table *table;
		size_t k;

		if (number_at(&csv, row, "optimizer") == 0)
			continue;
		table = was_fitted(justus_fitted, sample++) ? &fitted : &tested;
		k = table->problem.sample_count++;
		for (size_t i = 0; i < 6; i++)
			table->cells[i][k] = number_at(&csv, row, numbers[i]);
		for (size_t i = 0; i < 3; i++)
			table->cells[6 + i][k] = number_at(&csv, row, words[i]) - (i == 2);
		table->cells[9][k] =
			strcmp(csv.cells[row * csv.column_count + (size_t)csv_find(&csv, "use_bias")],
				"True") == 0;
		table->time[k] = number_at(&csv, row, "timeUsed_median");
	}
	csv_free(&csv);
	pm_fit_defaults(&parameter);
	check_minimum(
		name, &fitted.problem, &parameter, minimum, within, mape > 0 ? &tested.problem : NULL, mape);
}

int main(int argument_count, char **arguments)
{
	folder = getenv("PM_FITDATA");
	if (!folder)
		folder = argument_count > 1 ? arguments[1] : "";
	if (access(folder, R_OK) != 0) {
		printf("no measured data in '%s': PM_FITDATA says where they are\n", folder);
		return 77;
	}
	check_synthetic("mxnet", 0.22870, 0.340838, 4.03);
	check_synthetic("tensorflow", 0.78246, 0.951237, 3.99);
	check_synthetic("pytorch-dropout05", 1.54110, 2.894691, 4.17);
	check_synthetic("pytorch", 50.7561, 52.176248, 4.5);
	check_pollux();
	check_convolutions(PM_FIT_EXTRINSIC, "justus, sizes as factors", 2.83276, 1e-3, 20.8);
	check_convolutions(PM_FIT_INTRINSIC, "justus, sizes as summands", 7.443507, 1e-3, 0);
	return check_end();
}
