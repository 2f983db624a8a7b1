/* --check-gradients: the backward pass against difference quotients of the forward pass. */
#ifndef GRADCHECK_H
#define GRADCHECK_H

#include "nn.h"

/*
 * For the network's present input and target (labels: the target on the host). Prints a line per layer with
 * parameters. Returns 0 when all agree to 3 percent, as near as float and relu's kinks allow; leaves the
 * weights as they were.
 */
int gradcheck(struct nn *nn, const float *labels);

#endif
