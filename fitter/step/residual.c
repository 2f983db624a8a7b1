/* The residual's Gaussian process: see residual.h. */
#include "residual.h"
#include "base/memory.h"
#include "cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONG_REACH 8
#define CHOICE_ROWS 240 /* that choose the shape: the work is in proportion to their cube */
#define FLOOR 1e-6      /* least variance: noise-free tables have a factor too */

static double regime(const struct form_point *p)
{
	return p->gpus <= 1 ? 0 : p->nodes <= 1 ? 1 : 2;
}

/* The two covariances without their sizes. */
static void likeness(const struct form_point *a, const struct form_point *b, double *across, double *distance)
{
	double d[4] = {fabs(log2(a->batch / b->batch)), fabs(log2(a->gpus / b->gpus)),
		fabs(log2(a->nodes / b->nodes)), fabs(regime(a) - regime(b))};

	*across = *distance = 0;
	for (size_t j = 0; j < 4; j++) {
		*across += exp(-d[j] / LONG_REACH);
		*distance += d[j];
	}
}

static double covariance(const struct residual_shape *shape, double across, double distance)
{
	return shape->across * across + shape->local * exp(-distance / shape->reach);
}

/* The matrix of a shape from likenesses; both count x count. */
static void fill(double *matrix, const struct residual_shape *shape, const double *across,
	const double *distance, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j <= i; j++)
			matrix[i * count + j] =
				covariance(shape, across[i * count + j], distance[i * count + j]) +
				(i == j ? 1 : 0);
}

/* Fills the lower halves. */
static void measure(const struct form_point *points, size_t count, double *across, double *distance)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j <= i; j++)
			likeness(&points[i], &points[j], &across[i * count + j], &distance[i * count + j]);
}

/* s^2, from logs = L y. */
static double variance_of(const double *factor, const double *logs, size_t count, double *work)
{
	double sum = 0;

	memcpy(work, logs, count * sizeof(*work));
	cholesky_forward(factor, count, work);
	for (size_t i = 0; i < count; i++)
		sum += work[i] * work[i];
	return fmax(sum / (double)count, FLOOR);
}

/* Every so manyth point, at most `most`, so that all are from the whole table. */
static size_t thin(const struct form_point *points, const double *logs, size_t count, size_t most,
	struct form_point *some, double *their_logs)
{
	size_t step = count ? (count + most - 1) / most : 1, kept = 0;

	for (size_t k = 0; k < count; k += step) {
		some[kept] = points[k];
		their_logs[kept++] = logs[k];
	}
	return kept;
}

struct residual_shape residual_choose(const struct form_point *points, const double *logs, size_t count)
{
	static const double acrosses[] = {0, 0.3, 3, 30}, locals[] = {0.3, 3, 30}, reaches[] = {0.5, 2, 8};
	struct arena arena = {0};
	struct form_point *some = arena_alloc(&arena, count + 1, sizeof(*some));
	double *kept = arena_alloc(&arena, count + 1, sizeof(*kept)), best = HUGE_VAL;
	size_t n = thin(points, logs, count, CHOICE_ROWS, some, kept);
	double *across = arena_alloc(&arena, n * n + 1, sizeof(double));
	double *distance = arena_alloc(&arena, n * n + 1, sizeof(double));
	double *matrix = arena_alloc(&arena, n * n + 1, sizeof(double));
	double *work = arena_alloc(&arena, n + 1, sizeof(double));
	struct residual_shape chosen = {0.3, 0.3, 2};

	measure(some, n, across, distance);
	for (size_t shape = 0; shape < 36 && n; shape++) {
		struct residual_shape s = {acrosses[shape / 9], locals[shape / 3 % 3], reaches[shape % 3]};
		double loss;

		fill(matrix, &s, across, distance, n);
		if (!cholesky_factor(matrix, n))
			continue;
		loss = (double)n * log(variance_of(matrix, kept, n, work)) +
		       cholesky_log_determinant(matrix, n);
		if (loss < best) {
			best = loss;
			chosen = s;
		}
	}
	arena_free(&arena);
	return chosen;
}

void residual_fit(struct residual *residual, const struct residual_shape *shape,
	const struct form_point *points, const double *logs, size_t count)
{
	struct form_point *some = mem_alloc(count + 1, sizeof(*some));
	double *kept = mem_alloc(count + 1, sizeof(*kept)), *across, *distance;
	size_t n = thin(points, logs, count, RESIDUAL_MOST, some, kept);

	across = mem_alloc(n * n + 1, sizeof(double));
	distance = mem_alloc(n * n + 1, sizeof(double));
	*residual = (struct residual){*shape, FLOOR, n, some, mem_alloc(n * n + 1, sizeof(double)),
		mem_alloc(n + 1, sizeof(double))};
	measure(some, n, across, distance);
	fill(residual->factor, shape, across, distance, n);
	if (cholesky_factor(residual->factor, n)) {
		residual->variance = variance_of(residual->factor, kept, n, residual->weights);
		memcpy(residual->weights, kept, n * sizeof(double));
		cholesky_solve(residual->factor, n, residual->weights);
	} else {
		residual->count = 0; /* nothing is carried over */
	}
	free(kept);
	free(across);
	free(distance);
}

void residual_free(struct residual *residual)
{
	free(residual->points);
	free(residual->factor);
	free(residual->weights);
	*residual = (struct residual){0};
}

double residual_at(const struct residual *residual, const struct form_point *point, double *variance)
{
	double *near = mem_alloc(residual->count + 1, sizeof(double)), mean = 0, known = 0, across, distance;

	for (size_t k = 0; k < residual->count; k++) {
		likeness(point, &residual->points[k], &across, &distance);
		near[k] = covariance(&residual->shape, across, distance);
		mean += near[k] * residual->weights[k];
	}
	cholesky_forward(residual->factor, residual->count, near);
	for (size_t k = 0; k < residual->count; k++)
		known += near[k] * near[k];
	free(near);
	likeness(point, point, &across, &distance);
	*variance = residual->variance * fmax(covariance(&residual->shape, across, distance) + 1 - known, 1);
	return mean;
}
