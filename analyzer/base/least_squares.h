/*
 * Linear regression by least squares: y = b0 + b1 x1 + b2 x2 + ... + e, as (3.9) needs it, with what tells
 * how far it can be trusted.
 *
 * Not LAPACKE: dgels would save microseconds of what is done once (40 x 4: 2 us beside 34 with all errors and
 * intervals, 20000 x 12: 4 ms beside 7), is no more exact, and does not say which terms follow from earlier
 * ones.
 */
#ifndef BASE_LEAST_SQUARES_H
#define BASE_LEAST_SQUARES_H

#include "memory.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Fits rows x[row * count + column] to y[row]: y = constant + row . coefficients. Columns that follow from
 * those before them (the last level of a category, a constant) are left out, with the coefficient 0, so that
 * there is always one answer. Answers the rank, with the constant; there is at least one row.
 */
size_t least_squares(
	const double *x, const double *y, size_t rows, size_t count, double *coefficients, double *constant);

enum regression_state {
	REGRESSION_FITTED,
	REGRESSION_CONSTANT,  /* the term has the same value in all rows: left out */
	REGRESSION_DEPENDENT, /* it follows from the terms before it: left out */
};

/* A coefficient. Units: those of y for one unit of the term. */
struct regression_term {
	const char *name;
	enum regression_state state;
	double estimate, error;  /* error: standard error; NaN without degrees of freedom, as the next four */
	double t, p;             /* two-sided, of "the coefficient is 0" */
	double low, high;        /* confidence interval */
	double inflation;        /* variance inflation factor, 1: no other term tells of it; NaN for b0 */
	double shared;           /* the greatest correlation with another term, with its sign */
	const char *shared_with; /* that term's name, or NULL */
};

struct regression {
	struct regression_term *terms; /* b0 first, then those asked for, in their order */
	size_t term_count;
	size_t row_count;
	size_t fitted_count;        /* coefficients, b0 included */
	size_t degrees;             /* of freedom of the residuals; 0: the line passes through all rows */
	double *fitted, *residuals; /* by row */
	double r2, adjusted_r2;     /* NaN where y is the same in all rows */
	double deviation;           /* of the residuals, NaN without degrees of freedom */
	double f, f_p;              /* of "all coefficients but b0 are 0" */
	const char *trouble;        /* nothing was fitted: a sentence why; else NULL */
	struct arena arena;
};

/*
 * Fits rows x[row * count + term] to y[row]. Indistinguishable terms are left out, the later one
 * first, and say so by their state. All numbers must be finite. The names are kept, not copied. confidence:
 * of the intervals, in (0, 1).
 */
void regression_fit(struct regression *result, const char *const *names, size_t count, const double *x,
	const double *y, size_t row_count, double confidence);
void regression_free(struct regression *regression);

#endif
