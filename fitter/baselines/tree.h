/*
 * A regression tree by least squares, cut in two at each node where most of the squared error goes: what
 * forests average and boosting adds up.
 */
#ifndef TREE_H
#define TREE_H

#include "base/random.h"
#include "feature_matrix.h"

#define TREE_ANY_DEPTH SIZE_MAX

struct tree_node {
	uint32_t column;
	uint32_t lower;    /* the node for values up to `cut`, the other after it; 0: this is a leaf */
	double cut, value; /* value: the mean of its samples */
};

struct tree {
	struct tree_node *nodes;
	size_t count;
};

/* The columns of a set prepared for growing any number of trees; threads may share it. 0 or -ENOMEM, and then
 * *columns is NULL. The features may go afterwards. */
struct tree_columns;
int tree_columns_init(struct tree_columns **columns, const struct feature_matrix *features);
void tree_columns_free(struct tree_columns *columns);

/*
 * Grows a tree that says `target` (one number for each row of the set) from these rows, at least one, in
 * which a row may occur more than once; its leaves hold one row or equal targets, or lie `depth_most` cuts
 * deep. Where cuts are equally good the random numbers choose the column. 0 or -ENOMEM; tree_free in either
 * case.
 */
int tree_grow(struct tree *tree, const struct tree_columns *columns, const double *target, const size_t *rows,
	size_t row_count, size_t depth_most, struct random *random);
void tree_free(struct tree *tree);

/* For one row of as many columns as the set's. */
double tree_predict(const struct tree *tree, const double *row);

#endif
