/* The linear baseline: see linear.h. */
#include "linear.h"
#include "base/least_squares.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void predict(
	const struct feature_matrix *matrix, const double *coefficients, double constant, double *times)
{
	for (size_t k = 0; k < matrix->row_count; k++) {
		times[k] = constant;
		for (size_t j = 0; j < matrix->column_count; j++)
			times[k] += coefficients[j] * matrix->values[k * matrix->column_count + j];
	}
}

int linear_learn(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	double *coefficients = calloc(train->column_count + 1, sizeof(*coefficients)), constant;
	size_t rank;

	(void)seed;
	(void)thread_count;
	if (!coefficients)
		return -ENOMEM;
	rank = least_squares(
		train->values, train->target, train->row_count, train->column_count, coefficients, &constant);
	predict(train, coefficients, constant, train_times);
	predict(test, coefficients, constant, test_times);
	snprintf(note, note_size, "%zu coefficients", rank);
	free(coefficients);
	return 0;
}
