/* Gradient boosting: see boost.h. */
#include "boost.h"
#include "base/parallel.h"
#include "base/random.h"
#include "tree.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Apart from the streams of other purposes. */
#define STREAM 5500
#define ROW_STREAM 5600

#define FOLDS 3
#define CHOICE_ROWS 1500 /* of these at most, drawn at random, it is chosen by */
#define STEP 50          /* trees between two looks at the error */
#define STEPS 10
#define RATE 0.1
#define SHARE 0.5

static const size_t depths[] = {2, 4, 6};

#define DEPTHS (sizeof(depths) / sizeof(*depths))
#define CHOICES (2 * DEPTHS) /* times, then logarithms */

static double mean_of(const double *numbers, size_t count)
{
	double mean = 0;

	for (size_t k = 0; k < count; k++)
		mean += numbers[k] / (double)count;
	return mean;
}

/* What the sums say of a set so far, a tree added. */
static void add_tree(
	const struct tree *tree, double rate, const struct feature_matrix *features, double *sums)
{
	for (size_t k = 0; k < features->row_count; k++)
		sums[k] += rate * tree_predict(tree, features->values + k * features->column_count);
}

static void start(double *sums, size_t count, double mean)
{
	for (size_t k = 0; k < count; k++)
		sums[k] = mean;
}

int boost_run(const struct feature_matrix *train, const struct feature_matrix *test,
	const struct boost_parameter *parameter, uint64_t seed, size_t step, double *train_times,
	double *test_times)
{
	size_t count = train->row_count, seen = (size_t)ceil(parameter->share * (double)count);
	double *left = malloc((count + 1) * sizeof(*left)), *sums = malloc((count + 1) * sizeof(*sums));
	double *asked = malloc((test->row_count + 1) * sizeof(*asked));
	size_t *rows = malloc((count + 1) * sizeof(*rows));
	struct tree_columns *columns = NULL;
	struct random random;
	int status = left && sums && asked && rows ? tree_columns_init(&columns, train) : -ENOMEM;

	if (status < 0)
		goto out;
	random_init(&random, seed, STREAM);
	for (size_t k = 0; k < count; k++)
		rows[k] = k;
	start(sums, count, mean_of(train->target, count));
	start(asked, test->row_count, mean_of(train->target, count));
	for (size_t t = 0; t < parameter->tree_count && status == 0; t++) {
		struct tree tree;

		for (size_t k = 0; k < count; k++)
			left[k] = train->target[k] - sums[k];
		if (seen < count)
			random_shuffle(&random, rows, count);
		status = tree_grow(&tree, columns, left, rows, seen, parameter->depth, &random);
		if (status == 0) {
			add_tree(&tree, parameter->rate, train, sums);
			add_tree(&tree, parameter->rate, test, asked);
		}
		tree_free(&tree);
		if (test_times && (t + 1) % step == 0)
			memcpy(test_times + t / step * test->row_count, asked,
				test->row_count * sizeof(*asked));
	}
	if (train_times)
		memcpy(train_times, sums, count * sizeof(*sums));
out:
	tree_columns_free(columns);
	free(left);
	free(sums);
	free(asked);
	free(rows);
	return status;
}

int boost_learn_plain(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	static const struct boost_parameter usual = {100, 3, 0.1, 1};

	(void)thread_count;
	snprintf(note, note_size, "%zu trees, depth %zu", usual.tree_count, usual.depth);
	return boost_run(train, test, &usual, seed, usual.tree_count, train_times, test_times);
}

/* Some rows of a set, copied; feature_matrix_free. `time` is not there. 0 or -ENOMEM. */
static int take_rows(
	struct feature_matrix *some, const struct feature_matrix *features, const size_t *rows, size_t count)
{
	size_t width = features->column_count;

	*some = (struct feature_matrix){.row_count = count,
		.column_count = width,
		.values = malloc((count * width + 1) * sizeof(double)),
		.target = malloc((count + 1) * sizeof(double))};
	if (!some->values || !some->target)
		return -ENOMEM;
	for (size_t k = 0; k < count; k++) {
		memcpy(some->values + k * width, features->values + rows[k] * width, width * sizeof(double));
		some->target[k] = features->target[rows[k]];
	}
	return 0;
}

struct choosing {
	const struct feature_matrix *train;
	size_t *rows;
	size_t count;
	uint64_t seed;
	double errors[CHOICES][FOLDS][STEPS]; /* sums of |time - answer| over the fold */
	int failed;
};

/* One fold is held out of the choice's rows; the error on it after each STEP trees. */
static void try_choice(void *context, size_t index)
{
	struct choosing *c = context;
	size_t choice = index / FOLDS, fold = index % FOLDS, in = 0, out = 0;
	struct boost_parameter parameter = {STEP * STEPS, depths[choice % DEPTHS], RATE, SHARE};
	size_t *rows = malloc((2 * c->count + 1) * sizeof(*rows)), *held = rows ? rows + c->count : NULL;
	double *answers = malloc((STEPS * c->count + 1) * sizeof(*answers));
	struct feature_matrix known = {0}, asked = {0};
	bool is_log = choice >= DEPTHS, failed = !rows || !answers;

	for (size_t k = 0; !failed && k < c->count; k++)
		if (k % FOLDS == fold)
			held[out++] = c->rows[k];
		else
			rows[in++] = c->rows[k];
	failed = failed || take_rows(&known, c->train, rows, in) < 0 ||
		 take_rows(&asked, c->train, held, out) < 0;
	if (!failed && is_log)
		failed = feature_matrix_log_target(&known) < 0;
	if (failed || boost_run(&known, &asked, &parameter, c->seed, STEP, NULL, answers) < 0)
		__atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
	else
		for (size_t s = 0; s < STEPS; s++)
			for (size_t k = 0; k < out; k++) {
				double answer = answers[s * out + k];

				c->errors[choice][fold][s] +=
					fabs((is_log ? exp(answer) : answer) - asked.target[k]);
			}
	feature_matrix_free(&known);
	feature_matrix_free(&asked);
	free(rows);
	free(answers);
}

/* The first of the choices with the least error, and the number of trees that had it. */
static size_t choose(const struct choosing *c, size_t choices, size_t *tree_count)
{
	double least = HUGE_VAL;
	size_t best = 0;

	for (size_t choice = 0; choice < choices; choice++)
		for (size_t s = 0; s < STEPS; s++) {
			double error = 0;

			for (size_t fold = 0; fold < FOLDS; fold++)
				error += c->errors[choice][fold][s];
			if (error < least) {
				least = error;
				best = choice;
				*tree_count = (s + 1) * STEP;
			}
		}
	return best;
}

static bool is_positive(const struct feature_matrix *features)
{
	for (size_t k = 0; k < features->row_count; k++)
		if (!(features->target[k] > 0))
			return false;
	return true;
}

static int learn_chosen(const struct feature_matrix *train, const struct feature_matrix *test,
	const struct boost_parameter *parameter, bool is_log, uint64_t seed, double *train_times,
	double *test_times)
{
	struct feature_matrix known;
	int status = feature_matrix_copy(&known, train);

	if (status == 0 && is_log)
		status = feature_matrix_log_target(&known);
	if (status == 0)
		status = boost_run(
			&known, test, parameter, seed, parameter->tree_count, train_times, test_times);
	for (size_t k = 0; k < train->row_count && status == 0 && is_log; k++)
		train_times[k] = exp(train_times[k]);
	for (size_t k = 0; k < test->row_count && status == 0 && is_log; k++)
		test_times[k] = exp(test_times[k]);
	feature_matrix_free(&known);
	return status;
}

int boost_learn(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	struct boost_parameter parameter = {STEP, depths[0], RATE, SHARE};
	struct choosing c = {.train = train,
		.rows = malloc((train->row_count + 1) * sizeof(*c.rows)),
		.count = train->row_count < CHOICE_ROWS ? train->row_count : CHOICE_ROWS,
		.seed = seed};
	/* what an offset exceeds has no logarithm */
	size_t choices = is_positive(train) ? CHOICES : DEPTHS, choice = 0;
	struct random random;

	if (!c.rows)
		return -ENOMEM;
	for (size_t k = 0; k < train->row_count; k++)
		c.rows[k] = k;
	random_init(&random, seed, ROW_STREAM);
	random_shuffle(&random, c.rows, train->row_count);
	if (c.count >= 2 * FOLDS)
		parallel_each(choices * FOLDS, thread_count, try_choice, &c);
	if (c.count >= 2 * FOLDS && !c.failed)
		choice = choose(&c, choices, &parameter.tree_count);
	free(c.rows);
	if (c.failed)
		return -ENOMEM;
	parameter.depth = depths[choice % DEPTHS];
	snprintf(note, note_size, "%zu trees, depth %zu, %s", parameter.tree_count, parameter.depth,
		choice >= DEPTHS ? "log time" : "time");
	return learn_chosen(train, test, &parameter, choice >= DEPTHS, seed, train_times, test_times);
}
