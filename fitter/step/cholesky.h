/*
 * The Cholesky factor of a symmetric positive definite matrix, and what is solved with it. Matrices are
 * count x count, row by row; of the factor only the lower half is read.
 *
 * Written here because LAPACKE is no part of Debian's OpenBLAS package, and OpenBLAS's own dpotrf takes its
 * kernel by processor and number of threads: a model would differ in its last digits. The orders here are
 * some hundreds.
 */
#ifndef CHOLESKY_H
#define CHOLESKY_H

#include <stdbool.h>
#include <stddef.h>

/* In place; false where the matrix is not positive definite, and it is spoiled then. */
bool cholesky_factor(double *matrix, size_t count);
/* right = L^-1 right, and right = (L L')^-1 right. */
void cholesky_forward(const double *factor, size_t count, double *right);
void cholesky_solve(const double *factor, size_t count, double *right);
/* The logarithm of the determinant of L L'. */
double cholesky_log_determinant(const double *factor, size_t count);

#endif
