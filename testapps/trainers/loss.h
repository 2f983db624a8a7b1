/*
 * The loss of a batch, computed on the host from the last layer's output: as much as a program prints of it.
 */
#ifndef LOSS_H
#define LOSS_H

#include "nn.h"

struct loss {
	double sum;     /* over the samples; the mean is what the network's gradients belong to */
	double correct; /* samples whose likeliest class is the right one; 0 where there are no classes */
};

/*
 * Of the first `count` samples. layer: a network's last; output: its y, copied to the host; labels: one-hot,
 * not looked at when the network reproduces its input.
 */
struct loss loss_of(const struct nn_layer *layer, const float *output, const float *labels, int count);

#endif
