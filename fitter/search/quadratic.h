/* The least value of a quadratic function in a box: what weighted least squares with bounds comes down to. */
#ifndef QUADRATIC_H
#define QUADRATIC_H

#include <stddef.h>

/*
 * Finds x that makes x'Ax/2 - b'x least with lower <= x <= upper. A is size x size, positive semidefinite, of
 * which only the upper triangle by rows is read. x is where the search begins, too: what is at a bound there
 * is tried at the bound first. `work` has room for size * (size + 3) numbers.
 *
 * Where A is singular the answer is one of many: the one near where the search began. LAPACKE has no bounds.
 */
void quadratic_solve(const double *matrix, const double *vector, const double *lower, const double *upper,
	size_t size, double *x, double *work);

#define QUADRATIC_WORK(size) ((size) * ((size) + 3))

#endif
