/*
 * Convolutions by cuDNN's graph API, as frameworks call them today.
 *
 * The one idea: a plan is made once for a layer and a direction, from a few operations and the library's
 * proposals of how to do them; running it only names the memory of its tensors.
 */
#ifndef GRAPH_H
#define GRAPH_H

#include "nn.h"

enum graph_kind {
	GRAPH_FORWARD,           /* y = conv(x, w) */
	GRAPH_FORWARD_BIAS,      /* y = conv(x, w) + bias */
	GRAPH_FORWARD_BIAS_RELU, /* y = relu(conv(x, w) + bias) */
	GRAPH_BACKWARD_DATA,     /* x = gradient, from w and y */
	GRAPH_BACKWARD_FILTER,   /* w = gradient, from x and y */
};

/* The tensors of a plan, or the gradients in their places; a plan without bias does not look at that. */
struct graph_memory {
	const float *x, *w, *y, *bias;
};

struct graph_plan;

/*
 * NULL where the library knows no deterministic way in single precision. *workspace_size is raised to what
 * the plan needs.
 */
struct graph_plan *graph_plan_create(
	cudnnHandle_t cudnn, enum graph_kind kind, const struct nn_layer *layer, size_t *workspace_size);
void graph_plan_destroy(struct graph_plan *plan); /* NULL is ignored */

/* Queues the work on the handle's stream. */
void graph_plan_run(cudnnHandle_t cudnn, const struct graph_plan *plan, const struct graph_memory *memory,
	void *workspace);

#endif
