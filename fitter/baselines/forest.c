/* Random forests: see forest.h. */
#include "forest.h"
#include "base/parallel.h"
#include "tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Apart from the streams of other purposes. */
#define STREAM 5000

struct forest {
	size_t tree_count;
	struct tree *trees;
};

struct grower {
	const struct feature_matrix *train;
	struct tree_columns *columns;
	struct forest *forest;
	bool bootstrap;
	uint64_t seed;
	bool failed;
};

static void grow_tree(void *context, size_t index)
{
	struct grower *grower = context;
	size_t count = grower->train->row_count, *rows = malloc((count + 1) * sizeof(*rows));
	struct random random;

	random_init(&random, grower->seed, STREAM + index);
	for (size_t k = 0; rows && k < count; k++)
		rows[k] = grower->bootstrap ? random_below(&random, count) : k;
	if (!rows || tree_grow(&grower->forest->trees[index], grower->columns, grower->train->target, rows,
			     count, TREE_ANY_DEPTH, &random) < 0)
		__atomic_store_n(&grower->failed, true, __ATOMIC_RELAXED);
	free(rows);
}

int forest_grow(struct forest **forest, const struct feature_matrix *train, size_t tree_count, int bootstrap,
	uint64_t seed, size_t thread_count)
{
	struct grower grower = {.train = train, .seed = seed, .bootstrap = bootstrap != 0};

	*forest = NULL;
	grower.forest = calloc(1, sizeof(*grower.forest));
	if (grower.forest)
		grower.forest->trees = calloc(tree_count + 1, sizeof(*grower.forest->trees));
	grower.failed =
		!grower.forest || !grower.forest->trees || tree_columns_init(&grower.columns, train) < 0;
	if (!grower.failed) {
		grower.forest->tree_count = tree_count;
		parallel_each(tree_count, thread_count, grow_tree, &grower);
	}
	tree_columns_free(grower.columns);
	if (grower.failed) {
		forest_free(grower.forest);
		return -ENOMEM;
	}
	*forest = grower.forest;
	return 0;
}

void forest_free(struct forest *forest)
{
	if (!forest)
		return;
	for (size_t i = 0; i < forest->tree_count; i++)
		tree_free(&forest->trees[i]);
	free(forest->trees);
	free(forest);
}

double forest_predict(const struct forest *forest, const double *row)
{
	double sum = 0;

	for (size_t i = 0; i < forest->tree_count; i++)
		sum += tree_predict(&forest->trees[i], row);
	return sum / (double)forest->tree_count;
}

int forest_learn(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	struct forest *forest;
	int status = forest_grow(&forest, train, FOREST_TREES, 1, seed, thread_count);

	if (status < 0)
		return status;
	for (size_t k = 0; k < train->row_count; k++)
		train_times[k] = forest_predict(forest, train->values + k * train->column_count);
	for (size_t k = 0; k < test->row_count; k++)
		test_times[k] = forest_predict(forest, test->values + k * test->column_count);
	snprintf(note, note_size, "%d trees", FOREST_TREES);
	forest_free(forest);
	return 0;
}
