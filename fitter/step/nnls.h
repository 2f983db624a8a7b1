/*
 * Least squares with coefficients that are not negative, by the active set method of Lawson and Hanson
 * (Solving Least Squares Problems, 1974, chapter 23), on the normal equations: a handful of columns, of which
 * the caller makes the matrix positive definite by a ridge.
 */
#ifndef NNLS_H
#define NNLS_H

#include <stddef.h>

#define NNLS_COLUMNS 16 /* at most */

/* Minimises x' gram x / 2 - right' x over x >= 0; gram is count x count. */
void nnls_solve(const double *gram, const double *right, size_t count, double *x);

#endif
