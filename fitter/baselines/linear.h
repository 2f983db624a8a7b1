/*
 * Linear least squares. Columns that follow from those before them (the last level of a category, a constant)
 * are left out, so that there is always one answer.
 */
#ifndef LINEAR_H
#define LINEAR_H

#include "feature_matrix.h"

/*
 * Fits target = constant + row . coefficients over a row_count x column_count matrix. Writes column_count
 * coefficients, 0 for columns that are left out, and the constant. The rank, with the constant, or -ENOMEM.
 */
int linear_solve(const double *values, const double *target, size_t row_count, size_t column_count,
	double *coefficients, double *constant);

feature_matrix_learner linear_learn;

#endif
