/*
 * Optimisers: from gradients to new weights, with library calls alone. A network has one struct optim, whose
 * state (momenta) lies on the network's GPU.
 */
#ifndef OPTIM_H
#define OPTIM_H

#include "nn.h"

enum optim_kind { OPTIM_SGD, OPTIM_ADAM };

struct optim {
	enum optim_kind kind;
	double rate, momentum;                               /* momentum: of SGD */
	int step;                                            /* updates done */
	float *first[NN_MAX_LAYERS], *second[NN_MAX_LAYERS]; /* moments; NULL: none */
	float *zeros, *ones;                                 /* as many as the largest layer has parameters */
	cudnnTensorDescriptor_t desc[NN_MAX_LAYERS];
	cudnnOpTensorDescriptor_t multiply;
};

void optim_init(struct optim *o, struct nn *nn, enum optim_kind kind, double rate, double momentum);
void optim_free(struct optim *o, struct nn *nn);

/* One step of all the stage's layers, in place in the version of the parameters in use (see nn_advance),
 * queued on nn->stream. The network's device must be current. */
void optim_update(struct optim *o, struct nn *nn);

#endif
