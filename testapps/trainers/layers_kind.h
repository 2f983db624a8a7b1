/* What the files of the layers' kinds, layers*.c, share. Each kind has a create, a forward and a backward;
 * layers.c calls them. */
#ifndef LAYERS_KIND_H
#define LAYERS_KIND_H

#include "layers.h"

static const float layers_zero = 0, layers_one = 1, layers_minus_one = -1;

/* A tensor of floats, of four or five dimensions. */
cudnnTensorDescriptor_t layers_tensor(int dims, struct nn_shape shape);
void layers_need_workspace(struct nn *nn, size_t size);
void layers_need_scratch(struct nn *nn, size_t count);

/* 1 where a gradient is added to, 0 where it is set. */
const float *layers_beta(int adds);

/* The layer's own activation, z to y and back; back it works in place: dy becomes the gradient with respect
 * to z. */
void activation_create(struct nn_layer *l);
void activation_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);
void activation_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);

/* Adds the biases to z. */
void bias_create(struct nn_layer *l);
void bias_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);

/* Adds `count` floats of the scratch memory, from `from` on. */
void layers_add_scratch(struct nn *nn, float *to, size_t from, size_t count);

void conv_create(struct nn *nn, struct nn_layer *l);
void conv_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);
void conv_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);

void batchnorm_create(struct nn *nn, struct nn_layer *l);
void batchnorm_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);
void batchnorm_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);

void add_create(struct nn_layer *l); /* also for the squared difference */
void add_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);
void add_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);

void scale_create(struct nn_layer *l);
void scale_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);
void scale_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);

void attention_create(struct nn *nn, struct nn_layer *l);
void attention_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);
void attention_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run);

#endif
