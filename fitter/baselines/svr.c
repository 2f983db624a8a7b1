/* Support vector regression: see svr.h. */
#include "svr.h"
#include "base/parallel.h"
#include "base/random.h"

#include <errno.h>
#include <libsvm/svm.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS 3
#define ROW_STREAM 6000
#define TOLERANCE 1e-3
#define SVR_NOTE ", of some rows"
#define CACHE_MEGABYTES 100

static const double costs[] = {1, 10, 100};
static const double gammas[] = {0.03, 0.1, 0.3, 1}; /* over the number of columns */

#define COSTS (sizeof(costs) / sizeof(*costs))
#define GAMMAS (sizeof(gammas) / sizeof(*gammas))
#define CHOICES (COSTS * GAMMAS)

/* A set as libsvm takes it. */
struct vectors {
	struct svm_problem problem;
	struct svm_node *nodes;
};

static void be_quiet(const char *text)
{
	(void)text;
}

/* Nodes of a row: those that are not 0, and an end. */
static struct svm_node *put_row(const struct feature_matrix *features, size_t row, struct svm_node *nodes)
{
	for (size_t j = 0; j < features->column_count; j++) {
		double value = features->values[row * features->column_count + j];

		if (value != 0)
			*nodes++ = (struct svm_node){(int)j + 1, value};
	}
	*nodes++ = (struct svm_node){-1, 0};
	return nodes;
}

static void vectors_free(struct vectors *vectors)
{
	free(vectors->nodes);
	free(vectors->problem.x);
	free(vectors->problem.y);
	*vectors = (struct vectors){0};
}

static int vectors_init(
	struct vectors *vectors, const struct feature_matrix *features, const size_t *rows, size_t count)
{
	struct svm_node *next;

	vectors->nodes = next = malloc((features->column_count + 1) * (count + 1) * sizeof(*next));
	vectors->problem.x = malloc((count + 1) * sizeof(*vectors->problem.x));
	vectors->problem.y = malloc((count + 1) * sizeof(*vectors->problem.y));
	if (!next || !vectors->problem.x || !vectors->problem.y)
		return -ENOMEM;
	vectors->problem.l = (int)count;
	for (size_t k = 0; k < count; k++) {
		vectors->problem.x[k] = next;
		vectors->problem.y[k] = features->target[rows[k]];
		next = put_row(features, rows[k], next);
	}
	return 0;
}

static struct svm_parameter parameter_of(double cost, double gamma, double epsilon)
{
	return (struct svm_parameter){.svm_type = EPSILON_SVR,
		.kernel_type = RBF,
		.C = cost,
		.gamma = gamma,
		.p = epsilon,
		.eps = TOLERANCE,
		.cache_size = CACHE_MEGABYTES,
		.shrinking = 1};
}

/* Learns from some rows, writes what it says of some rows of (maybe) another set. */
static int learn(const struct feature_matrix *train, const size_t *rows, size_t count,
	const struct svm_parameter *parameter, const struct feature_matrix *asked, const size_t *asked_rows,
	size_t asked_count, double *answers)
{
	struct svm_node *nodes = malloc((train->column_count + 1) * sizeof(*nodes));
	struct vectors vectors = {0};
	struct svm_model *model;
	int status = nodes ? vectors_init(&vectors, train, rows, count) : -ENOMEM;

	if (status == 0 && svm_check_parameter(&vectors.problem, parameter))
		status = -EINVAL;
	if (status == 0) {
		model = svm_train(&vectors.problem, parameter);
		for (size_t k = 0; k < asked_count; k++) {
			put_row(asked, asked_rows ? asked_rows[k] : k, nodes);
			answers[k] = svm_predict(model, nodes);
		}
		svm_free_and_destroy_model(&model);
	}
	vectors_free(&vectors);
	free(nodes);
	return status;
}

/* Some rows, in an order that only depends on the seed; the caller frees them. */
static size_t *draw_rows(size_t row_count, size_t most, uint64_t seed, size_t *count)
{
	size_t *rows = malloc((row_count + 1) * sizeof(*rows));
	struct random random;

	if (!rows)
		return NULL;
	for (size_t k = 0; k < row_count; k++)
		rows[k] = k;
	random_init(&random, seed, ROW_STREAM);
	random_shuffle(&random, rows, row_count);
	*count = row_count < most ? row_count : most;
	return rows;
}

/* A set in the units that it is learnt in. */
struct scaled {
	struct feature_matrix train, test;
	bool is_log;
	double mean, deviation; /* of the target */
};

static void scaled_free(struct scaled *scaled)
{
	feature_matrix_free(&scaled->train);
	feature_matrix_free(&scaled->test);
}

static void moments(const double *numbers, size_t count, size_t stride, double *mean, double *deviation)
{
	double square = 0;

	*mean = 0;
	for (size_t k = 0; k < count; k++)
		*mean += numbers[k * stride] / (double)count;
	for (size_t k = 0; k < count; k++)
		square += (numbers[k * stride] - *mean) * (numbers[k * stride] - *mean) / (double)count;
	*deviation = square > 0 ? sqrt(square) : 1;
}

static void standardise(struct feature_matrix *features, size_t column, double mean, double deviation)
{
	for (size_t k = 0; k < features->row_count; k++) {
		double *value = &features->values[k * features->column_count + column];

		*value = (*value - mean) / deviation;
	}
}

static int scaled_init(struct scaled *scaled, const struct feature_matrix *train,
	const struct feature_matrix *test, bool is_log)
{
	double mean, deviation;
	int status = feature_matrix_copy(&scaled->train, train);

	if (feature_matrix_copy(&scaled->test, test) < 0 || status < 0)
		return -ENOMEM;
	scaled->is_log = is_log;
	feature_matrix_log_columns(&scaled->train, &scaled->test);
	if (is_log && (status = feature_matrix_log_target(&scaled->train)) < 0)
		return status;
	for (size_t j = 0; j < train->column_count; j++) {
		moments(scaled->train.values + j, train->row_count, train->column_count, &mean, &deviation);
		standardise(&scaled->train, j, mean, deviation);
		standardise(&scaled->test, j, mean, deviation);
	}
	moments(scaled->train.target, train->row_count, 1, &scaled->mean, &scaled->deviation);
	for (size_t k = 0; k < train->row_count; k++)
		scaled->train.target[k] = (scaled->train.target[k] - scaled->mean) / scaled->deviation;
	return 0;
}

static double time_of(const struct scaled *scaled, double answer)
{
	double time = answer * scaled->deviation + scaled->mean;

	return scaled->is_log ? exp(time) : time;
}

struct grid {
	const struct feature_matrix *train; /* not scaled */
	const struct scaled *scaled;        /* two: times and logarithms; the second may be missing */
	const size_t *rows;
	size_t count;
	double errors[2 * CHOICES][FOLDS];
	int failed;
};

static struct svm_parameter grid_parameter(size_t choice, size_t column_count)
{
	return parameter_of(
		costs[choice / GAMMAS % COSTS], gammas[choice % GAMMAS] / (double)column_count, 0.03);
}

static void try_choice(void *context, size_t index)
{
	struct grid *grid = context;
	size_t choice = index / FOLDS, fold = index % FOLDS, in = 0, out = 0;
	const struct scaled *scaled = &grid->scaled[choice / CHOICES];
	struct svm_parameter parameter = grid_parameter(choice, grid->train->column_count);
	size_t *rows = malloc((2 * grid->count + 1) * sizeof(*rows)),
	       *held = rows ? rows + grid->count : NULL;
	double *answers = malloc((grid->count + 1) * sizeof(*answers)), error = 0;

	for (size_t k = 0; rows && k < grid->count; k++)
		if (k % FOLDS == fold)
			held[out++] = grid->rows[k];
		else
			rows[in++] = grid->rows[k];
	if (!rows || !answers ||
		learn(&scaled->train, rows, in, &parameter, &scaled->train, held, out, answers) < 0)
		__atomic_store_n(&grid->failed, 1, __ATOMIC_RELAXED);
	else
		for (size_t k = 0; k < out; k++)
			error += fabs(time_of(scaled, answers[k]) - grid->train->target[held[k]]);
	grid->errors[choice][fold] = error;
	free(rows);
	free(answers);
}

/* The first of the choices with the least error. */
static size_t choose(const struct grid *grid, size_t count)
{
	double least = HUGE_VAL;
	size_t best = 0;

	for (size_t choice = 0; choice < count; choice++) {
		double error = 0;

		for (size_t fold = 0; fold < FOLDS; fold++)
			error += grid->errors[choice][fold];
		if (error < least) {
			least = error;
			best = choice;
		}
	}
	return best;
}

static int answer(const struct feature_matrix *train, const struct feature_matrix *test,
	const struct scaled *scaled, const struct svm_parameter *parameter, const size_t *rows, size_t count,
	double *train_times, double *test_times)
{
	/* both sets at once, so that it is learnt once */
	struct feature_matrix all = {.column_count = train->column_count};
	double *answers;
	size_t cells = train->row_count * train->column_count;
	int status = -ENOMEM;

	all.row_count = train->row_count + test->row_count;
	all.values = malloc((all.row_count * all.column_count + 1) * sizeof(double));
	answers = malloc((all.row_count + 1) * sizeof(double));
	if (all.values && answers) {
		memcpy(all.values, scaled->train.values, cells * sizeof(double));
		memcpy(all.values + cells, scaled->test.values,
			test->row_count * test->column_count * sizeof(double));
		status = learn(&scaled->train, rows, count, parameter, &all, NULL, all.row_count, answers);
	}
	for (size_t k = 0; k < all.row_count && status == 0; k++)
		*(k < train->row_count ? &train_times[k] : &test_times[k - train->row_count]) =
			time_of(scaled, answers[k]);
	free(all.values);
	free(answers);
	return status;
}

int svr_learn(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	struct scaled scaled[2] = {0};
	struct grid grid = {.train = train, .scaled = scaled};
	size_t count = 0, choice, choices = CHOICES;
	size_t *rows = draw_rows(train->row_count, SVR_ROWS, seed, &count);
	struct svm_parameter parameter;
	int status = rows ? scaled_init(&scaled[0], train, test, false) : -ENOMEM, logs;

	if (status < 0)
		goto out;
	logs = scaled_init(&scaled[1], train, test, true);
	if (logs == 0)
		choices = 2 * CHOICES;
	grid.rows = rows;
	grid.count = count < SVR_GRID_ROWS ? count : SVR_GRID_ROWS;
	svm_set_print_string_function(be_quiet);
	parallel_each(choices * FOLDS, thread_count, try_choice, &grid);
	status = grid.failed ? -ENOMEM : 0;
	if (status < 0)
		goto out;
	choice = choose(&grid, choices);
	parameter = grid_parameter(choice, train->column_count);
	status = answer(
		train, test, &scaled[choice / CHOICES], &parameter, rows, count, train_times, test_times);
	snprintf(note, note_size, "C %g, gamma %.2g, %s%s", parameter.C, parameter.gamma,
		choice / CHOICES ? "log time" : "time", count < train->row_count ? SVR_NOTE : "");
out:
	scaled_free(&scaled[0]);
	scaled_free(&scaled[1]);
	free(rows);
	return status;
}

int svr_learn_plain(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	struct scaled plain = {.train = *train, .test = *test, .deviation = 1};
	size_t count = 0, *rows = draw_rows(train->row_count, SVR_ROWS, seed, &count);
	double mean, deviation;
	struct svm_parameter parameter;
	int status;

	(void)thread_count;
	if (!rows)
		return -ENOMEM;
	moments(train->values, train->row_count * train->column_count, 1, &mean, &deviation);
	parameter = parameter_of(1, 1 / ((double)train->column_count * deviation * deviation), 0.1);
	svm_set_print_string_function(be_quiet);
	status = answer(train, test, &plain, &parameter, rows, count, train_times, test_times);
	snprintf(note, note_size, "C 1, gamma %.2g%s", parameter.gamma,
		count < train->row_count ? SVR_NOTE : "");
	free(rows);
	return status;
}
