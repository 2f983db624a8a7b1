/*
 * What a black box sees of a problem: a matrix with a column for each number and one of zeros and ones for
 * each level, and the times less what is known of them (offsets).
 */
#ifndef FEATURE_MATRIX_H
#define FEATURE_MATRIX_H

#include "pm_fit.h"

struct features {
	size_t row_count, column_count;
	double *values; /* row_count x column_count, row by row */
	double *target; /* in the time's unit, without the offsets, which are in `offset` */
	double *offset;
	const double *time; /* the problem's */
};

/* 0 or -ENOMEM; features_free in either case. The problem stays as long as these do. */
int features_init(struct features *features, const struct pm_fit_problem *problem);
void features_free(struct features *features);
/* Of its own memory, but for `time`. 0 or -ENOMEM; features_free in either case. */
int features_copy(struct features *copy, const struct features *features);
/* Columns that are positive in both sets become their logarithms in both. */
void features_log_columns(struct features *train, struct features *test);
/* The target becomes its logarithm; -EDOM, and nothing is changed, where it is not always positive. */
int features_log_target(struct features *features);

/*
 * A way to predict: learns from `train` and writes what it says of both sets, offsets not added. What it
 * answers depends on the seed (if on anything) and never on the number of threads. `note` gets a few words
 * on what it chose. 0 or -errno.
 */
typedef int features_learner(const struct features *train, const struct features *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size);

#endif
