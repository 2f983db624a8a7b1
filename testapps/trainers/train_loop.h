/*
 * What the parts of the training program share: its options, and the data-parallel training loop, which main
 * calls (train.c). Pipelines have a loop of their own (pipeline.h).
 */
#ifndef TRAIN_LOOP_H
#define TRAIN_LOOP_H

#include "batch.h"
#include "clock.h"
#include "data.h"
#include "dist.h"
#include "dist_sum.h"
#include "loss.h"
#include "nn.h"
#include "optim.h"

/* The options that training itself has; the network's are the trainer's own. */
struct train_options {
	const char *data;
	int dataset, batch, epochs, iterations, eval, optimizer, gpus, divide, aggregate, seed, print,
		check_gradients, api, synthetic, fusion_threshold, strategy, micro_batches, recompute;
	double rate, momentum, cycle_ms;
	const char *save, *clock, *stages, *partition;
};

/* Replicas of the whole network, on the GPUs of this process. */
struct train {
	const struct train_options *options;
	struct data data, test; /* test: with --eval */
	struct dist dist;
	struct nn *nets; /* one per GPU of this process, as are: */
	struct optim *optims;
	float **output; /* pinned copies of the last layer's y */
	struct batch batch;
	struct clock *clock;
	struct dist_sum sum;
};

/* Iterations of an epoch: what the data has, or fewer if --iterations says so. */
int train_iterations(const struct train_options *options, const struct data *data);

/* Everything that the networks in t->nets (built, not created) need to train. */
void train_create(struct train *t);
void train_destroy(struct train *t);

/* Ends the program with 1 if the first batch's gradients are wrong. */
void train_check_gradients(struct train *t);

/* What rank 0 prints of an iteration's, an epoch's and a test's loss; counted from 0. */
void train_print_loss(int epoch, int iteration, double mean);
void train_print_epoch(int epoch, double mean);
void train_print_test(int epoch, const struct nn_layer *last, struct loss sum, int count);

/* All epochs, printing losses as the options say. */
void train_epochs(struct train *t);

#endif
