/*
 * Sums of a network's gradients over its replicas: which gradients together, and when. After the whole
 * backward pass, layer by layer; as soon as a layer's gradients exist, next to the rest of the pass; or in
 * Horovod's buckets (fusion.h), also next to it. The training loop tells what backward has done, and waits
 * with dist_wait_for_sums.
 */
#ifndef DIST_SUM_H
#define DIST_SUM_H

#include "clock.h"
#include "dist.h"
#include "nn.h"

enum dist_style { DIST_AFTER, DIST_OVERLAP, DIST_FUSED };

struct dist_sum {
	enum dist_style style;
	struct dist *dist;
	struct nn *nets; /* one per GPU of this process */
	struct clock *clock;
	size_t threshold_bytes;
	double cycle_us;
	int closes[NN_MAX_LAYERS];
	float *buffer[DIST_MAX_GPUS]; /* for buckets of several layers; NULL: there are none */
	int passes;                   /* backward passes begun */
	int iterations;               /* ended */
	cudaEvent_t begin, *ready;    /* of one of them, on the GPU that measures; else NULL */
};

/* clock may be NULL. The networks must have been created. With one replica all of these do nothing. */
void dist_sum_open(struct dist_sum *s, enum dist_style style, struct dist *dist, struct nn *nets,
	struct clock *clock, size_t threshold_bytes, double cycle_us);
void dist_sum_close(struct dist_sum *s);

/*
 * Around a backward pass after which gradients are summed: before it; when the layer's backward has been
 * queued on all GPUs, from the last layer to the first; after it. Only queue.
 */
void dist_sum_begin(struct dist_sum *s);
void dist_sum_layer(struct dist_sum *s, int layer);
void dist_sum_end(struct dist_sum *s);

/*
 * At the end of an iteration, when the networks' streams are done: at one of them, the same for all processes
 * of the run, makes the buckets from measured times. All processes call it, those without anything to sum
 * too.
 */
void dist_sum_settle(struct dist_sum *s);

#endif
