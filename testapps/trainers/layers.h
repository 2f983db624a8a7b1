/* What each kind of layer is to cuDNN and cuBLAS: made, run forward and backward, unmade. nn.c alone calls
 * these. */
#ifndef LAYERS_H
#define LAYERS_H

#include "nn.h"

/* Makes the layer's descriptors and raises nn->workspace_size to what it needs. `seed` is for dropout. */
void layers_create(struct nn *nn, struct nn_layer *layer, uint64_t seed);
void layers_destroy(struct nn_layer *layer);

/* x: the layer's input; y is set. */
void layers_forward(struct nn *nn, struct nn_layer *layer, const float *x);

/* Sets grad and, unless it is NULL, dx: the gradient with respect to x. dy is used up. */
void layers_backward(struct nn *nn, struct nn_layer *layer, const float *x, float *dx);

#endif
