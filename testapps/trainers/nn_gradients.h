/* The memory of the gradients with respect to layers' outputs. nn_memory.c alone calls these. */
#ifndef NN_GRADIENTS_H
#define NN_GRADIENTS_H

#include "nn.h"

/* Sets dy of the stage's layers, and the gradients at its ends. Every layer but the last must have a reader.
 */
void nn_gradients_create(struct nn *nn);
void nn_gradients_destroy(struct nn *nn);

#endif
