/* The Cholesky factor: see cholesky.h. Row by row, so that all that is read lies side by side. */
#include "cholesky.h"

#include <math.h>

/* Eight sums, which the compiler keeps in vector registers; the order of additions is fixed. */
static double dot(const double *a, const double *b, size_t count)
{
	double sums[8] = {0};
	double rest = 0;
	size_t k = 0;

	for (; k + 8 <= count; k += 8)
		for (size_t lane = 0; lane < 8; lane++)
			sums[lane] += a[k + lane] * b[k + lane];
	for (; k < count; k++)
		rest += a[k] * b[k];
	for (size_t lane = 0; lane < 8; lane++)
		rest += sums[lane];
	return rest;
}

bool cholesky_factor(double *matrix, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double *row = matrix + i * count, square;

		for (size_t j = 0; j < i; j++)
			row[j] = (row[j] - dot(row, matrix + j * count, j)) / matrix[j * count + j];
		square = row[i] - dot(row, row, i);
		if (!(square > 0))
			return false;
		row[i] = sqrt(square);
	}
	return true;
}

void cholesky_forward(const double *factor, size_t count, double *right)
{
	for (size_t i = 0; i < count; i++)
		right[i] = (right[i] - dot(factor + i * count, right, i)) / factor[i * count + i];
}

void cholesky_solve(const double *factor, size_t count, double *right)
{
	cholesky_forward(factor, count, right);
	for (size_t i = count; i-- > 0;) {
		right[i] /= factor[i * count + i];
		for (size_t j = 0; j < i; j++)
			right[j] -= factor[i * count + j] * right[i];
	}
}

double cholesky_log_determinant(const double *factor, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += 2 * log(factor[i * count + i]);
	return sum;
}
