/*
 * Variable projection: for given powers the coefficients and C enter the model linearly, so they are solved
 * for, and only the powers are searched.
 */
#ifndef VARPRO_H
#define VARPRO_H

#include "cost.h"
#include "search.h"

/* Fills the coefficients of x, whose powers are given, with what makes the objective about least; answers it.
 */
double varpro_solve(struct cost *cost, double *x, int reweightings);

/*
 * As the optimisers of search.h, but over the powers only. search->size, lower, upper, best are those of the
 * whole candidate; evaluate is not called; context is given to report.
 */
int varpro_search(struct search *search, struct cost *cost);

#endif
