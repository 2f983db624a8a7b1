/*
 * The same networks in plain C and double precision, as an independent reference for the gradients: no
 * library, one loop per sum, written from the definitions. It takes from a struct nn the list of layers and
 * nothing that is on the GPU. One micro-batch, batch normalisation by its averages, dropout of nothing.
 */
#ifndef PLAIN_H
#define PLAIN_H

#include "nn.h"

struct plain {
	const struct nn *nn;
	double *input, *target;
	double *param[NN_MAX_LAYERS], *grad[NN_MAX_LAYERS]; /* as in struct nn_layer; NULL: none */
	double *z[NN_MAX_LAYERS], *y[NN_MAX_LAYERS], *dy[NN_MAX_LAYERS];
	double *kept[NN_MAX_LAYERS]; /* bn: per map mean, then variance; attention: the weights */
};

void plain_init(struct plain *p, const struct nn *nn);
void plain_free(struct plain *p);

/* Answers the loss: the sum over the samples, divided by nn->batch. */
double plain_forward(struct plain *p);

/* After plain_forward: sets grad of all layers. */
void plain_backward(struct plain *p);

#endif
