/*
 * One regression tree: see tree.h. Columns hold few distinct values as a rule, so each value is replaced by
 * its number among them; a node's best cut is then found from one sum per distinct value instead of a sort.
 */
#include "tree.h"
#include "base/statistics.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* One column: the distinct values, ascending, and the number of each row's among them. */
struct coded {
	size_t count;
	double *distinct;
	uint32_t *codes;
};

struct tree_columns {
	size_t row_count, column_count;
	struct coded *coded;
};

struct pair {
	uint32_t code;
	double value;
};

/* Of one tree, while it grows. */
struct branch {
	const struct tree_columns *columns;
	const double *target;
	struct tree *tree;
	struct random *random;
	size_t depth_most;
	size_t *rows, *spare;
	double *sums;
	size_t *counts;
	struct pair *pairs;
};

struct cut {
	size_t column;
	uint32_t code, next; /* the values on both sides */
	double gain;
};

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

static int code_column(struct coded *coded, const struct feature_matrix *train, size_t column)
{
	size_t rows = train->row_count;

	coded->distinct = malloc((rows + 1) * sizeof(*coded->distinct));
	coded->codes = malloc((rows + 1) * sizeof(*coded->codes));
	if (!coded->distinct || !coded->codes)
		return -ENOMEM;
	for (size_t k = 0; k < rows; k++)
		coded->distinct[k] = train->values[k * train->column_count + column];
	statistics_sort(coded->distinct, rows);
	for (size_t k = 0; k < rows; k++)
		if (coded->count == 0 || coded->distinct[k] > coded->distinct[coded->count - 1])
			coded->distinct[coded->count++] = coded->distinct[k];
	for (size_t k = 0; k < rows; k++)
		coded->codes[k] = code_of(coded, train->values[k * train->column_count + column]);
	return 0;
}

/* A cut after `code`: `sum` and `count` are of the rows up to it. What it gains is the squared sums over
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
	const struct coded *coded = &b->columns->coded[column];
	size_t count = 0;
	double sum = 0, whole = 0;
	uint32_t last = 0;

	memset(b->sums, 0, coded->count * sizeof(*b->sums));
	memset(b->counts, 0, coded->count * sizeof(*b->counts));
	for (size_t i = begin; i < end; i++) {
		double value = b->target[b->rows[i]] - mean;

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
	const struct coded *coded = &b->columns->coded[column];
	size_t count = end - begin;
	double sum = 0, whole = 0;

	for (size_t i = 0; i < count; i++) {
		b->pairs[i] =
			(struct pair){coded->codes[b->rows[begin + i]], b->target[b->rows[begin + i]] - mean};
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
	size_t columns = b->columns->column_count, first = random_below(b->random, columns);
	struct cut best = {0};

	for (size_t i = 0; i < columns; i++) {
		size_t column = (first + i) % columns;

		if (b->columns->coded[column].count <= 4 * (end - begin))
			cut_by_sums(b, &best, column, begin, end, mean);
		else
			cut_by_order(b, &best, column, begin, end, mean);
	}
	return best;
}

/* Rows up to the cut come first, in the order they had. */
static size_t divide(struct branch *b, const struct cut *cut, size_t begin, size_t end)
{
	const uint32_t *codes = b->columns->coded[cut->column].codes;
	size_t low = begin, high = 0;

	for (size_t i = begin; i < end; i++)
		if (codes[b->rows[i]] <= cut->code)
			b->rows[low++] = b->rows[i];
		else
			b->spare[high++] = b->rows[i];
	memcpy(b->rows + low, b->spare, high * sizeof(*b->rows));
	return low;
}

/* The mean of the rows' targets; `alike` if they are all the same. */
static double mean_of(const struct branch *b, size_t begin, size_t end, bool *alike)
{
	double sum = 0;

	*alike = true;
	for (size_t i = begin; i < end; i++) {
		double value = b->target[b->rows[i]];

		sum += value;
		*alike &= value == b->target[b->rows[begin]];
	}
	return sum / (double)(end - begin);
}

static int grow_nodes(struct branch *b, size_t row_count)
{
	/* a stack of its own: a tree can be as deep as it has samples */
	struct task {
		size_t node, begin, end, depth;
	} *stack = malloc((row_count + 1) * sizeof(*stack));
	size_t waiting = 0;

	if (!stack)
		return -ENOMEM;
	b->tree->count = 1;
	stack[waiting++] = (struct task){0, 0, row_count, 0};
	while (waiting) {
		struct task task = stack[--waiting];
		struct tree_node *node = &b->tree->nodes[task.node];
		bool alike;
		struct cut cut;
		size_t middle;

		*node = (struct tree_node){.value = mean_of(b, task.begin, task.end, &alike)};
		if (alike || task.depth == b->depth_most)
			continue;
		cut = best_cut(b, task.begin, task.end, node->value);
		if (!(cut.gain > 0))
			continue;
		middle = divide(b, &cut, task.begin, task.end);
		node->column = (uint32_t)cut.column;
		node->cut = (b->columns->coded[cut.column].distinct[cut.code] +
				    b->columns->coded[cut.column].distinct[cut.next]) /
			    2;
		node->lower = (uint32_t)b->tree->count;
		b->tree->count += 2;
		stack[waiting++] = (struct task){node->lower + 1, middle, task.end, task.depth + 1};
		stack[waiting++] = (struct task){node->lower, task.begin, middle, task.depth + 1};
	}
	free(stack);
	return 0;
}

int tree_grow(struct tree *tree, const struct tree_columns *columns, const double *target, const size_t *rows,
	size_t row_count, size_t depth_most, struct random *random)
{
	struct branch b = {.columns = columns,
		.target = target,
		.tree = tree,
		.random = random,
		.depth_most = depth_most};
	size_t widest = row_count + 1;
	int status = -ENOMEM;

	/* sums are asked for where a column has at most four values for each row of the node */
	for (size_t i = 0; i < columns->column_count; i++)
		if (columns->coded[i].count > widest)
			widest = columns->coded[i].count;
	b.rows = malloc((row_count + 1) * sizeof(*b.rows));
	b.spare = malloc((row_count + 1) * sizeof(*b.spare));
	b.sums = malloc(widest * sizeof(*b.sums));
	b.counts = malloc(widest * sizeof(*b.counts));
	b.pairs = malloc((row_count + 1) * sizeof(*b.pairs));
	*tree = (struct tree){.nodes = malloc((2 * row_count + 1) * sizeof(*tree->nodes))};
	if (b.rows && b.spare && b.sums && b.counts && b.pairs && tree->nodes) {
		memcpy(b.rows, rows, row_count * sizeof(*rows));
		status = grow_nodes(&b, row_count);
	}
	free(b.rows);
	free(b.spare);
	free(b.sums);
	free(b.counts);
	free(b.pairs);
	return status;
}

void tree_free(struct tree *tree)
{
	free(tree->nodes);
	*tree = (struct tree){0};
}

double tree_predict(const struct tree *tree, const double *row)
{
	const struct tree_node *node = tree->nodes;

	while (node->lower)
		node = &tree->nodes[node->lower + (row[node->column] > node->cut)];
	return node->value;
}

int tree_columns_init(struct tree_columns **columns, const struct feature_matrix *features)
{
	struct tree_columns *made = calloc(1, sizeof(*made));
	int status = 0;

	*columns = NULL;
	if (!made || features->row_count > UINT32_MAX / 2) {
		free(made);
		return -ENOMEM;
	}
	*made = (struct tree_columns){features->row_count, features->column_count,
		calloc(features->column_count + 1, sizeof(*made->coded))};
	if (!made->coded)
		status = -ENOMEM;
	for (size_t i = 0; i < made->column_count && status == 0; i++)
		status = code_column(&made->coded[i], features, i);
	if (status < 0)
		tree_columns_free(made);
	else
		*columns = made;
	return status;
}

void tree_columns_free(struct tree_columns *columns)
{
	if (!columns)
		return;
	for (size_t i = 0; columns->coded && i < columns->column_count; i++) {
		free(columns->coded[i].distinct);
		free(columns->coded[i].codes);
	}
	free(columns->coded);
	free(columns);
}
