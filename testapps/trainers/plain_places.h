/* The reference for what depends on places: convolution, pooling and attention. plain.c alone calls these. */
#ifndef PLAIN_PLACES_H
#define PLAIN_PLACES_H

#include "nn.h"

static inline int plain_places(struct nn_shape s)
{
	return s.d * s.h * s.w;
}

/* Which map an element of a shape belongs to. */
static inline size_t plain_map(struct nn_shape s, size_t element)
{
	return element / (size_t)plain_places(s) % (size_t)s.c;
}

/*
 * All products of a convolution; what is NULL is left out. Forward: z += w * x. Backward: dw += dz * x, dx +=
 * dz * w.
 */
void plain_conv(const struct nn_layer *l, const double *x, const double *weight, double *z, const double *dz,
	double *dw, double *dx);

/* Forward with y; backward, which adds, with dy and dx. */
void plain_pool(const struct nn_layer *l, const double *x, double *y, const double *dy, double *dx);

/* weights: of each sample and query, over all keys. */
void plain_attention(const struct nn_layer *l, const double *query, const double *key, const double *value,
	double *weights, double *z);

/* x, dx: of queries, keys and values. */
void plain_attention_backward(
	const struct nn_layer *l, const double **x, const double *weights, const double *dz, double **dx);

#endif
