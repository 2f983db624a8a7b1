/* Non-negative least squares: see nnls.h. */
#include "nnls.h"
#include "cholesky.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct active_set {
	const double *gram, *right;
	size_t count;
	bool free[NNLS_COLUMNS]; /* may differ from 0 */
};

/* The unconstrained minimum over the free columns; others are 0. False where their matrix is singular. */
static bool solve_free(const struct active_set *set, double *x)
{
	double matrix[NNLS_COLUMNS * NNLS_COLUMNS], right[NNLS_COLUMNS];
	size_t columns[NNLS_COLUMNS], count = 0;

	for (size_t j = 0; j < set->count; j++)
		if (set->free[j])
			columns[count++] = j;
	for (size_t i = 0; i < count; i++) {
		right[i] = set->right[columns[i]];
		for (size_t j = 0; j < count; j++)
			matrix[i * count + j] = set->gram[columns[i] * set->count + columns[j]];
	}
	memset(x, 0, set->count * sizeof(*x));
	if (!cholesky_factor(matrix, count))
		return false;
	cholesky_solve(matrix, count, right);
	for (size_t i = 0; i < count; i++)
		x[columns[i]] = right[i];
	return true;
}

/* The column of 0 whose growth lowers the sum fastest, or `count`. */
static size_t steepest(const struct active_set *set, const double *x)
{
	double most = 0;
	size_t best = set->count;

	for (size_t j = 0; j < set->count; j++) {
		double slope = set->right[j];

		for (size_t i = 0; i < set->count; i++)
			slope -= set->gram[j * set->count + i] * x[i];
		if (!set->free[j] && slope > most + 1e-12 * fabs(set->right[j])) {
			most = slope;
			best = j;
		}
	}
	return best;
}

/* From x towards `target` until a free coefficient is 0, which is free no more; false: reached. */
static bool step_to(struct active_set *set, double *x, const double *target)
{
	double share = 1;
	size_t first = set->count;

	for (size_t j = 0; j < set->count; j++)
		if (set->free[j] && target[j] <= 0 && x[j] / (x[j] - target[j]) < share) {
			share = x[j] / (x[j] - target[j]);
			first = j;
		}
	for (size_t j = 0; j < set->count; j++)
		x[j] += share * (target[j] - x[j]);
	if (first == set->count)
		return false;
	for (size_t j = 0; j < set->count; j++)
		if (set->free[j] && (j == first || x[j] <= 0)) {
			set->free[j] = false;
			x[j] = 0;
		}
	return true;
}

void nnls_solve(const double *gram, const double *right, size_t count, double *x)
{
	struct active_set set = {gram, right, count, {false}};
	double target[NNLS_COLUMNS];

	memset(x, 0, count * sizeof(*x));
	for (size_t round = 0; round < 3 * count; round++) {
		size_t j = steepest(&set, x);

		if (j == count)
			return;
		set.free[j] = true;
		do {
			if (!solve_free(&set, target)) {
				set.free[j] = false;
				return;
			}
			/* What has just been freed may go the wrong way by rounding: then it stays at 0. */
			if (x[j] <= 0 && set.free[j] && target[j] <= 0) {
				set.free[j] = false;
				return;
			}
		} while (step_to(&set, x, target));
	}
}
