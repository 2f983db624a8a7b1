/*
 * What an optimiser sees of the problem: numbers go in, a cost comes out. And what a local search sees
 * besides: the residuals and the Jacobian, some samples at a time.
 */
#ifndef COST_H
#define COST_H

#include "plan.h"

#include <stdbool.h>

/* A cost and its room to work in; each thread has its own, the plan is shared. */
struct cost {
	const struct plan *plan;
	const struct space *space;
	const struct kernel *kernel;
	double *lanes, *work; /* for the kernel */
	double *powers;       /* of each intrinsic value */
	double *jacobian;     /* parameter_count + 1 columns of KERNEL_STRIDE, by columns */
	double *residuals;    /* KERNEL_CHUNK: measured less predicted, scaled */
	size_t evaluations;   /* so far */
};

/* 0 or -ENOMEM; cost_free in either case. */
int cost_init(struct cost *cost, const struct plan *plan, const struct space *space);
void cost_free(struct cost *cost);

/* Objectives of `count` candidates, each of space->count numbers in scaled units; errors (may be NULL)
 * likewise. */
void cost_evaluate(struct cost *cost, const double *x, size_t count, double *objectives, double *errors);
double cost_of(struct cost *cost, const double *x);

/* Begins with a candidate; then cost_chunk fills residuals and Jacobian for the samples from `first` on. */
void cost_linearise(struct cost *cost, const double *x);
/* Answers how many samples, at most KERNEL_CHUNK; 0 after the last. `first` is a multiple of
 * KERNEL_CHUNK. Of the Jacobian the columns of the coefficients alone, where that is enough. */
size_t cost_chunk(struct cost *cost, const double *x, size_t first, bool coefficients_alone);

/* The penalty's gradient is added to `gradient` and its second derivatives' diagonal to `curvature`, in
 * scaled units; |x| is smoothed below `width`. Answers the penalty. */
double cost_penalty(struct cost *cost, const double *x, double width, double *gradient, double *curvature);

#endif
