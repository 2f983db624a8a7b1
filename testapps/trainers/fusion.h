/*
 * Buckets of gradients, as Horovod makes them: what became ready within one cycle, up to the size of a fusion
 * buffer, is copied into the buffer, summed by one call and copied back. Layers' gradients become ready in
 * the order of backward, from the last layer to the first, so a bucket is a run of neighbouring layers.
 *
 * All GPUs must make the same buckets, or their sums would not meet. Horovod's processes agree anew in each
 * cycle, by messages; here the first iterations have buckets by size alone, one GPU measures in one of them
 * when each gradient became ready, and the buckets that follow from these times hold for the rest of the run,
 * on all GPUs. So processes cannot disagree, whatever their speed, and the price of agreeing is paid once.
 * Cycles count from the beginning of the backward pass, and a bucket goes when its last gradient is ready
 * instead of waiting for the end of the cycle.
 */
#ifndef FUSION_H
#define FUSION_H

#include "nn.h"

/*
 * Sets closes[i] to 1 for each layer that is the last of its bucket to become ready, else 0. A bucket has at
 * most `threshold_bytes`, or is one layer. ready_us: when each layer's gradients were ready, counted from the
 * beginning of the backward pass; NULL: not known, by size alone. cycle_us 0: each layer by itself.
 */
void fusion_plan(const struct nn *nn, size_t threshold_bytes, double cycle_us, const double *ready_us,
	int closes[NN_MAX_LAYERS]);

/* The first layer to become ready of the bucket that `layer` closes: the last one in the network. */
int fusion_first(const struct nn *nn, const int closes[NN_MAX_LAYERS], int layer);

/* Floats of the bucket that `layer` closes. */
size_t fusion_count(const struct nn *nn, const int closes[NN_MAX_LAYERS], int layer);

/* The bucket's layers in the order in which they become ready, joined by +. The string lives until the
 * program's end; the same names give the same string. */
const char *fusion_name(const struct nn *nn, const int closes[NN_MAX_LAYERS], int layer);

#endif
