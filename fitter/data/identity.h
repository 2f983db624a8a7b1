/*
 * Columns that are the time in other words. A throughput, with the batch and the number of GPUs, gives the
 * time of a step exactly: a model of it fits perfectly, and answers nothing, for nobody knows the throughput
 * of a run that was not made. Such a column is a result of the run, whatever its name.
 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include "pm_fit.h"

#include <stdbool.h>

#define IDENTITY_OTHERS 3 /* columns that a result needs to give the time, at most */

struct identity {
	size_t column;                  /* the result: of the problem's columns */
	size_t others[IDENTITY_OTHERS]; /* with these, in the problem's order */
	size_t other_count;
};

/*
 * Is a numeric column times or over up to IDENTITY_OTHERS others the time, but for a constant and rounding
 * (0.2%)? It has to vary as a measurement does: with another value in at least half as many rows as the time.
 * The one with the fewest others. False: no, or fewer than 8 rows. Tables may be long: at most some thousand
 * rows at equal steps are looked at.
 */
bool identity_find(const struct pm_fit_problem *problem, size_t column, struct identity *found);

/* The share of the variance of the time's logarithm that a line in the column's logarithm explains; NAN: the
 * column has numbers that are not positive, or no variance. Columns that take few values count as 0: they are
 * settings. */
double identity_share(const struct pm_fit_problem *problem, size_t column);

#endif
