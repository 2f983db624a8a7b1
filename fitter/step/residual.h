/*
 * What a form leaves over: a Gaussian process on the logarithm of measured over predicted time, which carries
 * local deviations to near configurations and forgets them far away.
 *
 * Distances d_j are in doublings of batch, GPUs and nodes, and 1 for each step from one GPU to one node to
 * several. Covariance: s^2 (across sum_j exp(-d_j / 8) + local exp(-sum_j d_j / reach) + 1 on the diagonal).
 */
#ifndef RESIDUAL_H
#define RESIDUAL_H

#include "form.h"

struct residual_shape {
	double across; /* of each column by itself, far reaching */
	double local;
	double reach; /* doublings */
};

struct residual {
	struct residual_shape shape;
	double variance; /* s^2 */
	size_t count;
	struct form_point *points;
	double *factor, *weights;
};

/* The likeliest of 36 shapes for these logarithms; of more than some hundreds of rows, for as many at equal
 * steps. */
struct residual_shape residual_choose(const struct form_point *points, const double *logs, size_t count);

/* Of more than RESIDUAL_MOST rows as many at equal steps: memory is in proportion to the square, work to the
 * cube. The caller calls residual_free. */
#define RESIDUAL_MOST 1500
void residual_fit(struct residual *residual, const struct residual_shape *shape,
	const struct form_point *points, const double *logs, size_t count);
void residual_free(struct residual *residual);

/* The expected logarithm at a point; *variance is that of a measurement there. */
double residual_at(const struct residual *residual, const struct form_point *point, double *variance);

#endif
