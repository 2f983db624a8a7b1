/* What each kind of layer is to cuDNN and cuBLAS: made, run forward and backward, unmade. nn_memory.c and
 * nn.c alone call these. */
#ifndef LAYERS_H
#define LAYERS_H

#include "nn.h"

/* The memory of one run of a layer: that of its slot, and of the layers that it reads. */
struct layer_run {
	const float *x[3]; /* input, other, third */
	float *dx[3];      /* gradients with respect to them; NULL: not wanted */
	float *z, *y;
	char *saved, *drop_reserve;
	const float *target;
};

/* Makes the layer's descriptors and raises nn->workspace_size and nn->scratch_count to what it needs. `seed`
 * is for dropout. */
void layers_create(struct nn *nn, struct nn_layer *layer, uint64_t seed);
void layers_destroy(struct nn_layer *layer);

/* Bytes that forward keeps in `saved` for backward, per slot. */
size_t layers_saved_size(const struct nn_layer *layer);

/* Whether z must be other memory than y. */
int layers_need_z(const struct nn *nn, const struct nn_layer *layer);

/* Sets y. */
void layers_forward(struct nn *nn, struct nn_layer *layer, const struct layer_run *run);

/* Sets grad (nn->accumulate: adds to it), and each dx (layer->adds: adds to it). layer->dy is used up. */
void layers_backward(struct nn *nn, struct nn_layer *layer, const struct layer_run *run);

#endif
