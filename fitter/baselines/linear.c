/* Linear least squares by Gram-Schmidt, which sees dependent columns as it meets them: see linear.h. */
#include "linear.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column of which less than this part is new is a combination of those before it. */
#define DEPENDENT 1e-9

static double dot(const double *a, const double *b, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += a[i] * b[i];
	return sum;
}

static void subtract(double *from, const double *what, double times, size_t count)
{
	for (size_t i = 0; i < count; i++)
		from[i] -= times * what[i];
}

struct solver {
	size_t row_count, column_count, rank;
	double *basis;    /* rank columns of row_count, orthonormal */
	double *triangle; /* column_count x rank: column j = sum of triangle[j][i] * basis i */
	double *means;
	double *rest;   /* of the target */
	size_t *chosen; /* the column of each of the basis */
};

/* Takes what is new of a column into the basis. Twice, since once leaves rounding errors behind. */
static void take_column(struct solver *s, const double *values, size_t column)
{
	double *next = s->basis + s->rank * s->row_count, *r = s->triangle + column * s->column_count;
	double whole, size;

	for (size_t k = 0; k < s->row_count; k++)
		next[k] = values[k * s->column_count + column];
	for (size_t k = 0; k < s->row_count; k++)
		s->means[column] += next[k] / (double)s->row_count;
	whole = sqrt(dot(next, next, s->row_count));
	for (size_t k = 0; k < s->row_count; k++)
		next[k] -= s->means[column];
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < s->rank; i++) {
			double part = dot(s->basis + i * s->row_count, next, s->row_count);

			r[i] += part;
			subtract(next, s->basis + i * s->row_count, part, s->row_count);
		}
	size = sqrt(dot(next, next, s->row_count));
	if (!(size > DEPENDENT * whole) || s->rank + 1 >= s->row_count)
		return;
	for (size_t k = 0; k < s->row_count; k++)
		next[k] /= size;
	r[s->rank] = size;
	s->chosen[s->rank++] = column;
}

static void solve(struct solver *s, double *coefficients)
{
	double *parts = s->rest + s->row_count;

	for (size_t i = 0; i < s->rank; i++) {
		parts[i] = dot(s->basis + i * s->row_count, s->rest, s->row_count);
		subtract(s->rest, s->basis + i * s->row_count, parts[i], s->row_count);
	}
	memset(coefficients, 0, s->column_count * sizeof(*coefficients));
	for (size_t i = s->rank; i-- > 0;) {
		double value = parts[i];

		for (size_t j = i + 1; j < s->rank; j++)
			value -= s->triangle[s->chosen[j] * s->column_count + i] * coefficients[s->chosen[j]];
		coefficients[s->chosen[i]] = value / s->triangle[s->chosen[i] * s->column_count + i];
	}
}

int linear_solve(const double *values, const double *target, size_t row_count, size_t column_count,
	double *coefficients, double *constant)
{
	struct solver s = {.row_count = row_count, .column_count = column_count};
	int status = -ENOMEM;
	double mean = 0;

	s.basis = calloc((column_count + 1) * row_count + 1, sizeof(*s.basis));
	s.triangle = calloc(column_count * column_count + 1, sizeof(*s.triangle));
	s.means = calloc(column_count + 1, sizeof(*s.means));
	s.rest = calloc(row_count + column_count + 1, sizeof(*s.rest));
	s.chosen = calloc(column_count + 1, sizeof(*s.chosen));
	if (!s.basis || !s.triangle || !s.means || !s.rest || !s.chosen)
		goto out;
	for (size_t k = 0; k < row_count; k++)
		mean += target[k] / (double)row_count;
	for (size_t k = 0; k < row_count; k++)
		s.rest[k] = target[k] - mean;
	for (size_t column = 0; column < column_count; column++)
		take_column(&s, values, column);
	solve(&s, coefficients);
	*constant = mean - dot(s.means, coefficients, column_count);
	status = (int)s.rank + 1;
out:
	free(s.basis);
	free(s.triangle);
	free(s.means);
	free(s.rest);
	free(s.chosen);
	return status;
}

int linear_learn(const struct feature_matrix *train, const struct feature_matrix *test, uint64_t seed,
	size_t thread_count, double *train_times, double *test_times, char *note, size_t note_size)
{
	double *coefficients = calloc(train->column_count + 1, sizeof(*coefficients)), constant;
	int rank;

	(void)seed;
	(void)thread_count;
	if (!coefficients)
		return -ENOMEM;
	rank = linear_solve(
		train->values, train->target, train->row_count, train->column_count, coefficients, &constant);
	for (size_t k = 0; k < train->row_count && rank > 0; k++)
		train_times[k] = constant + dot(coefficients, train->values + k * train->column_count,
						    train->column_count);
	for (size_t k = 0; k < test->row_count && rank > 0; k++)
		test_times[k] = constant +
				dot(coefficients, test->values + k * test->column_count, test->column_count);
	snprintf(note, note_size, "%d coefficients", rank);
	free(coefficients);
	return rank < 0 ? rank : 0;
}
