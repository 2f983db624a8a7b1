/*
 * Trees: see forest.h. Columns hold few distinct values as a rule, so each value is replaced by its number
 * among them; a node's best cut is then found from one sum per distinct value instead of a sort.
 */
#include "forest.h"
#include "random.h"
#include "tasks.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Apart from the streams of other purposes. */
#define STREAM 5000

struct node {
	uint32_t column;
	uint32_t lower;    /* the node for values up to `cut`, the other behind it; 0: this is a leaf */
	double cut, value; /* value: the mean of its samples */
};

struct tree {
	struct node *nodes;
	size_t count;
};

struct forest {
	size_t tree_count, column_count;
	struct tree *trees;
};

/* One column: the distinct values, ascending, and the number of each row's among them. */
struct coded {
	size_t count;
	double *distinct;
	uint32_t *codes;
};

struct grower {
	const struct features *train;
	struct coded *columns;
	struct forest *forest;
	bool bootstrap;
	uint64_t seed;
	bool failed;
};

/* Of one tree, while it grows. */
struct branch {
	struct grower *grower;
	struct tree *tree;
	struct random random;
	size_t *rows, *spare;
	double *sums;
	size_t *counts;
	struct pair {
		uint32_t code;
		double value;
	} * pairs;
};

struct cut {
	size_t column;
	uint32_t code, next; /* the values on both sides */
	double gain;
};

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static uint32_t code_of(const struct coded *column, double value)
{
	size_t low = 0, high = column->count;

	while (low + 1 < high) {
		size_t middle = (low + high) / 2;

		if (column->distinct[middle] <= value)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

static int code_column(struct coded *coded, const struct features *train, size_t column)
{
	size_t rows = train->row_count;

	coded->distinct = malloc((rows + 1) * sizeof(*coded->distinct));
	coded->codes = malloc((rows + 1) * sizeof(*coded->codes));
	if (!coded->distinct || !coded->codes)
		return -ENOMEM;
	for (size_t k = 0; k < rows; k++)
		coded->distinct[k] = train->values[k * train->column_count + column];
	qsort(coded->distinct, rows, sizeof(*coded->distinct), compare_numbers);
	for (size_t k = 0; k < rows; k++)
		if (coded->count == 0 || coded->distinct[k] > coded->distinct[coded->count - 1])
			coded->distinct[coded->count++] = coded->distinct[k];
	for (size_t k = 0; k < rows; k++)
		coded->codes[k] = code_of(coded, train->values[k * train->column_count + column]);
	return 0;
}

/* A cut behind `code`: `sum` and `count` are of the rows up to it. What it gains is the squared sums over
 * the counts, the rest being the same for each cut. */
static void consider(struct cut *best, size_t column, uint32_t code, uint32_t next, double sum, size_t count,
	double whole, size_t all)
{
	double rest = whole - sum, n = (double)count, m = (double)(all - count);
	double gain = sum * sum / n + rest * rest / m - whole * whole / (double)all;

	if (gain > best->gain)
		*best = (struct cut){column, code, next, gain};
}

/* Times are taken less the node's mean: else the gain of a small cut drowns in rounding. */
static void cut_by_sums(
	struct branch *b, struct cut *best, size_t column, size_t begin, size_t end, double mean)
{
	const struct coded *coded = &b->grower->columns[column];
	size_t count = 0;
	double sum = 0, whole = 0;
	uint32_t last = 0;

	memset(b->sums, 0, coded->count * sizeof(*b->sums));
	memset(b->counts, 0, coded->count * sizeof(*b->counts));
	for (size_t i = begin; i < end; i++) {
		double value = b->grower->train->target[b->rows[i]] - mean;

		b->sums[coded->codes[b->rows[i]]] += value;
		b->counts[coded->codes[b->rows[i]]]++;
		whole += value;
	}
	for (uint32_t code = 0; code < coded->count; code++) {
		if (!b->counts[code])
			continue;
		if (count)
			consider(best, column, last, code, sum, count, whole, end - begin);
		sum += b->sums[code];
		count += b->counts[code];
		last = code;
	}
}

static void cut_by_order(
	struct branch *b, struct cut *best, size_t column, size_t begin, size_t end, double mean)
{
	const struct coded *coded = &b->grower->columns[column];
	size_t count = end - begin;
	double sum = 0, whole = 0;

	for (size_t i = 0; i < count; i++) {
		b->pairs[i] = (struct pair){coded->codes[b->rows[begin + i]],
			b->grower->train->target[b->rows[begin + i]] - mean};
		whole += b->pairs[i].value;
	}
	qsort(b->pairs, count, sizeof(*b->pairs), compare_pairs);
	for (size_t i = 1; i < count; i++) {
		sum += b->pairs[i - 1].value;
		if (b->pairs[i].code != b->pairs[i - 1].code)
			consider(best, column, b->pairs[i - 1].code, b->pairs[i].code, sum, i, whole, count);
	}
}

/* The cut that leaves the least squared error; of equal ones that of the column met first, and where they
 * begin is drawn. */
static struct cut best_cut(struct branch *b, size_t begin, size_t end, double mean)
{
	size_t columns = b->grower->train->column_count, first = random_below(&b->random, columns);
	struct cut best = {0};

	for (size_t i = 0; i < columns; i++) {
		size_t column = (first + i) % columns;

		if (b->grower->columns[column].count <= 4 * (end - begin))
			cut_by_sums(b, &best, column, begin, end, mean);
		else
			cut_by_order(b, &best, column, begin, end, mean);
	}
	return best;
}

/* Rows up to the cut come first, in the order they had. */
static size_t divide(struct branch *b, const struct cut *cut, size_t begin, size_t end)
{
	const uint32_t *codes = b->grower->columns[cut->column].codes;
	size_t low = begin, high = 0;

	for (size_t i = begin; i < end; i++)
		if (codes[b->rows[i]] <= cut->code)
			b->rows[low++] = b->rows[i];
		else
			b->spare[high++] = b->rows[i];
	memcpy(b->rows + low, b->spare, high * sizeof(*b->rows));
	return low;
}

static void grow_node(struct branch *b, size_t at, size_t begin, size_t end)
{
	/* a stack of its own: a tree can be as deep as it has samples */
	struct task {
		size_t node, begin, end;
	} *stack = malloc((end - begin + 1) * sizeof(*stack));
	size_t depth = 0;

	if (!stack) {
		__atomic_store_n(&b->grower->failed, true, __ATOMIC_RELAXED);
		return;
	}
	stack[depth++] = (struct task){at, begin, end};
	while (depth) {
		struct task task = stack[--depth];
		struct node *node = &b->tree->nodes[task.node];
		double sum = 0, count = (double)(task.end - task.begin);
		bool alike = true;
		struct cut cut;
		size_t middle;

		for (size_t i = task.begin; i < task.end; i++) {
			double value = b->grower->train->target[b->rows[i]];

			sum += value;
			alike &= value == b->grower->train->target[b->rows[task.begin]];
		}
		*node = (struct node){.value = sum / count};
		if (alike)
			continue;
		cut = best_cut(b, task.begin, task.end, node->value);
		if (!(cut.gain > 0))
			continue;
		middle = divide(b, &cut, task.begin, task.end);
		node->column = (uint32_t)cut.column;
		node->cut = (b->grower->columns[cut.column].distinct[cut.code] +
				    b->grower->columns[cut.column].distinct[cut.next]) /
			    2;
		node->lower = (uint32_t)b->tree->count;
		b->tree->count += 2;
		stack[depth++] = (struct task){node->lower + 1, middle, task.end};
		stack[depth++] = (struct task){node->lower, task.begin, middle};
	}
	free(stack);
}

static void grow_tree(void *context, size_t index)
{
	struct grower *grower = context;
	size_t rows = grower->train->row_count;
	struct tree *tree = &grower->forest->trees[index];
	struct branch b = {.grower = grower, .tree = tree};

	random_init(&b.random, grower->seed, STREAM + index);
	b.rows = malloc(rows * sizeof(*b.rows));
	b.spare = malloc(rows * sizeof(*b.spare));
	b.sums = malloc(rows * sizeof(*b.sums));
	b.counts = malloc(rows * sizeof(*b.counts));
	b.pairs = malloc(rows * sizeof(*b.pairs));
	tree->nodes = malloc(2 * rows * sizeof(*tree->nodes));
	tree->count = 1;
	if (b.rows && b.spare && b.sums && b.counts && b.pairs && tree->nodes) {
		for (size_t k = 0; k < rows; k++)
			b.rows[k] = grower->bootstrap ? random_below(&b.random, rows) : k;
		grow_node(&b, 0, 0, rows);
	} else {
		__atomic_store_n(&grower->failed, true, __ATOMIC_RELAXED);
	}
	free(b.rows);
	free(b.spare);
	free(b.sums);
	free(b.counts);
	free(b.pairs);
}

int forest_grow(struct forest **forest, const struct features *train, size_t tree_count, int bootstrap,
	uint64_t seed, size_t thread_count)
{
	struct grower grower = {.train = train, .seed = seed, .bootstrap = bootstrap != 0};

	*forest = NULL;
	if (train->row_count > UINT32_MAX / 2)
		return -ENOMEM;
	grower.columns = calloc(train->column_count + 1, sizeof(*grower.columns));
	grower.forest = calloc(1, sizeof(*grower.forest));
	if (grower.forest)
		grower.forest->trees = calloc(tree_count + 1, sizeof(*grower.forest->trees));
	grower.failed = !grower.columns || !grower.forest || !grower.forest->trees;
	for (size_t i = 0; i < train->column_count && !grower.failed; i++)
		grower.failed = code_column(&grower.columns[i], train, i) < 0;
	if (!grower.failed) {
		grower.forest->tree_count = tree_count;
		grower.forest->column_count = train->column_count;
		tasks_run(tree_count, thread_count, grow_tree, &grower);
	}
	for (size_t i = 0; grower.columns && i < train->column_count; i++) {
		free(grower.columns[i].distinct);
		free(grower.columns[i].codes);
	}
	free(grower.columns);
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
		free(forest->trees[i].nodes);
	free(forest->trees);
	free(forest);
}

double forest_predict(const struct forest *forest, const double *row)
{
	double sum = 0;

	for (size_t i = 0; i < forest->tree_count; i++) {
		const struct node *nodes = forest->trees[i].nodes, *node = nodes;

		while (node->lower)
			node = &nodes[node->lower + (row[node->column] > node->cut)];
		sum += node->value;
	}
	return sum / (double)forest->tree_count;
}

int forest_learn(const struct features *train, const struct features *test, uint64_t seed,
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
