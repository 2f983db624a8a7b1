/*
 * What a black box sees of a problem: a matrix with a column for each number and one of zeros and ones for
 * each level, and the times less what is known of them (offsets).
 */
#ifndef FEATURE_MATRIX_H
#define FEATURE_MATRIX_H

#include "pm_fit.h"

struct feature_matrix {
	size_t row_count, column_count;
	double *values; /* row_count x column_count, row by row */
	double *target; /* in the time's unit, without the offsets, which are in `offset` */
	double *offset;
	const double *time; /* the problem's */
};

/* 0 or -ENOMEM; feature_matrix_free in either case. The problem stays as long as these do. */
int feature_matrix_init(struct feature_matrix *features, const struct pm_fit_problem *problem);
void feature_matrix_free(struct feature_matrix *features);
/* Of its own memory, but for `time`. 0 or -ENOMEM; feature_matrix_free in either case. */
int feature_matrix_copy(struct feature_matrix *copy, const struct feature_matrix *features);
/* Columns that are positive in both sets become their logarithms in both. */
void feature_matrix_log_columns(struct feature_matrix *train, struct feature_matrix *test);
/* The target becomes its logarithm; -EDOM, and nothing is changed, where it is not always positive. */
int feature_matrix_log_target(struct feature_matrix *features);

/*
 * A way to predict: learns from `train` and writes what it says of both sets, offsets not added. What it
 * answers depends on the seed (if on anything) and never on the number of threads. `note` gets a few words
 * on what it chose. 0 or -errno.
 */
typedef int feature_matrix_learner(const struct feature_matrix *train, const struct feature_matrix *test,
	uint64_t seed, size_t thread_count, double *train_times, double *test_times, char *note,
	size_t note_size);

#endif
