/*
 * A random forest: regression trees, each grown on a bootstrap sample until its leaves hold one sample or
 * equal times, averaged. As the usual ones by default are: 100 trees, every column a candidate at each node.
 */
#ifndef FOREST_H
#define FOREST_H

#include "feature_matrix.h"

#define FOREST_TREES 100

/* The grown trees; the caller frees *forest. 0 or -ENOMEM. A tree's random numbers are its own, so threads do
 * not change it. */
struct forest;
int forest_grow(struct forest **forest, const struct feature_matrix *train, size_t tree_count, int bootstrap,
	uint64_t seed, size_t thread_count);
void forest_free(struct forest *forest);
/* The mean of the trees for one row of as many columns as it was grown on. */
double forest_predict(const struct forest *forest, const double *row);

feature_matrix_learner forest_learn;

#endif
