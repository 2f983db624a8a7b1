/*
 * The published networks, as lists of layers: what the train_*.c programs build. Each function adds the
 * layers to a network that nn_init has begun, for nn->classes classes, and may set nn->error. No GPU is
 * needed.
 *
 * Maps of up to 64x64 (MNIST, CIFAR-10) get the small variant of a network: its first convolution has 3x3
 * kernels and stride 1, and early strides and pooling are left out, as is usual for such images. Larger ones
 * (ImageNet's 224x224, 512x512) get the network as it was published, with torchvision's layers and
 * parameters.
 */
#ifndef MODELS_H
#define MODELS_H

#include "nn.h"

/* Two convolutions of 20 and 50 filters with pooling, and dense layers of 500 and of the classes: 800
 * numbers, 500 and 10 for MNIST. */
void model_shallow(struct nn *nn);

/* depth 18, 50 or 152. Small: without the pooling after the first convolution. */
void model_resnet(struct nn *nn, int depth);

/*
 * depth 11 or 16, without batch normalisation. Dense layers of 4096, 4096 and the classes follow on maps of
 * 7x7, to which averages of 4x4 windows, two apart, bring 512x512 images' 16x16. Small: dense layers of 512,
 * 512 and the classes on one place; a pooling that would have no room is left out (the fifth for MNIST).
 */
void model_vgg(struct nn *nn, int depth);

/* Version 2, of width 1. Small: the first two strides are 1. */
void model_mobilenet(struct nn *nn);

/* A 3-D residual network of 18 layers with self-attention. */
struct model_resattnet {
	int filters;     /* of the first stage; the others have 2, 4 and 8 times as many */
	int kernel;      /* side of all kernels but the shortcuts' */
	int stride;      /* of the first convolution */
	int first_valid; /* the first convolution has no padding; the blocks always keep their maps' sizes */
	enum nn_activation activation;
};

/*
 * Convolution and pooling, four stages of two residual blocks, the third and the fourth stage followed by a
 * residual self-attention block, the average over all places, and a dense layer. Volumes are expected.
 */
void model_resattnet(struct nn *nn, const struct model_resattnet *options);

#endif
