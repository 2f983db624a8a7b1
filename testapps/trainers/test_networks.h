/* The networks that test_gradients.c and test_stages.c build: small ones of each kind of layer, and small
 * versions of the published ones. */
#ifndef TEST_NETWORKS_H
#define TEST_NETWORKS_H

#include "nn.h"

enum { SHARE = 6, BATCH = 10 }; /* this GPU's samples, and those that the loss is the mean of */

struct network {
	const char *name;
	enum { CNN, LENET, MLP, AUTOENCODER, OTHER } kind;
	enum nn_activation activation;
	int kernel, stride, same, pool;
	void (*build)(struct nn *nn); /* OTHER */
	int is_deep;                  /* as network_build says */
	int is_large; /* no difference quotients: they would take long; 2: a smaller one has the same parts */
};

extern const struct network networks[];
extern const size_t network_count;

/*
 * Begins the network and adds its layers; ends the program if that cannot be.
 *
 * In a deep network relu's kinks make a comparison hard: a sum that is 1e-8 in one precision and -1e-8 in the
 * other changes all gradients before it. So deep networks get tanh in the place of relu and sigmoid in that
 * of relu6; the kinks themselves are in the small ones.
 */
void network_build(struct nn *nn, const struct network *w);

/* The same for another number of samples. */
void network_build_with(struct nn *nn, const struct network *w, int share);

#endif
