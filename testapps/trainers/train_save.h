/* The file of final weights (--save): floats, layer by layer, weights and then biases. */
#ifndef TRAIN_SAVE_H
#define TRAIN_SAVE_H

#include "nn.h"

/*
 * fetch(from, i, param) sets `param` to the param_count numbers of layer i, and is called for the layers in
 * their order. Failures end the program.
 */
void train_save(const char *path, const struct nn *nn, void (*fetch)(void *from, int layer, float *param),
	void *from);

/* Ends the program if the file cannot be written; leaves it as it is. To be known before training. */
void train_save_check(const char *path);

/* A fetch for a whole network on this process's GPU: `from` is its struct nn. */
void train_fetch(void *from, int layer, float *param);

#endif
