/* Free combinations of parameters: see identifiability.h. */
#include "identifiability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS 60
/* Of the Jacobian with columns of length 1: a singular value below this is zero, a share of a free
 * combination below that is none. J'J is known to about 1e-16, its root to 1e-8. */
#define ZERO_VALUE 1e-6
#define NO_SHARE 1e-3

/* Eigenvalues on the diagonal, eigenvectors in the columns of `vectors`, by Jacobi's rotations. */
static void diagonalise(double *a, double *vectors, size_t size)
{
	for (size_t i = 0; i < size; i++)
		for (size_t j = 0; j < size; j++)
			vectors[i * size + j] = i == j;
	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		double rest = 0;

		for (size_t p = 0; p < size; p++)
			for (size_t q = p + 1; q < size; q++) {
				double apq = a[p * size + q], theta, t, c, s;

				rest += apq * apq;
				if (fabs(apq) < 1e-300)
					continue;
				theta = (a[q * size + q] - a[p * size + p]) / (2 * apq);
				t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
				c = 1 / sqrt(t * t + 1);
				s = t * c;
				for (size_t k = 0; k < size; k++) {
					double x = a[k * size + p], y = a[k * size + q];

					a[k * size + p] = c * x - s * y;
					a[k * size + q] = s * x + c * y;
				}
				for (size_t k = 0; k < size; k++) {
					double x = a[p * size + k], y = a[q * size + k];

					a[p * size + k] = c * x - s * y;
					a[q * size + k] = s * x + c * y;
				}
				for (size_t k = 0; k < size; k++) {
					double x = vectors[k * size + p], y = vectors[k * size + q];

					vectors[k * size + p] = c * x - s * y;
					vectors[k * size + q] = s * x + c * y;
				}
			}
		if (rest < 1e-30)
			break;
	}
}

/* J'J, both triangles, then columns of length 1; a parameter that moves nothing has a zero column. */
static void make_matrix(struct cost *cost, const double *x, double *matrix, double *lengths)
{
	size_t size = cost->space->count, rows;
	double weights[KERNEL_CHUNK];

	for (size_t k = 0; k < KERNEL_CHUNK; k++)
		weights[k] = 1;
	memset(matrix, 0, size * size * sizeof(*matrix));
	cost_linearise(cost, x);
	for (size_t first = 0; (rows = cost_chunk(cost, x, first, false)) > 0; first += rows)
		cost->kernel->gram(cost->jacobian, weights, rows, size, matrix);
	for (size_t i = 0; i < size; i++)
		lengths[i] = sqrt(matrix[i * size + i]);
	for (size_t i = 0; i < size; i++)
		for (size_t j = i; j < size; j++) {
			double scale = lengths[i] * lengths[j];

			matrix[i * size + j] = scale > 0 ? matrix[i * size + j] / scale : 0;
			matrix[j * size + i] = matrix[i * size + j];
		}
}

size_t identifiability_rank(struct cost *cost, const double *x, bool *undetermined)
{
	size_t size = cost->space->count, rank = 0;
	double *matrix = malloc((2 * size * size + size) * sizeof(*matrix)), *vectors, *lengths;

	if (!matrix)
		return 0;
	vectors = matrix + size * size;
	lengths = vectors + size * size;
	make_matrix(cost, x, matrix, lengths);
	diagonalise(matrix, vectors, size);
	memset(undetermined, 0, size * sizeof(*undetermined));
	for (size_t j = 0; j < size; j++) {
		if (matrix[j * size + j] > ZERO_VALUE * ZERO_VALUE) {
			rank++;
			continue;
		}
		for (size_t i = 0; i < size; i++)
			undetermined[i] |= fabs(vectors[i * size + j]) > NO_SHARE;
	}
	free(matrix);
	return rank;
}
