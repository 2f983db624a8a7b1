/*
 * The training loop of a process in a pipeline: one stage of the network, driven by its schedule
 * (strategy_schedule.h). Steps only queue work; the process waits for its GPU's computing at the end of its
 * part of a batch, and for its neighbours never, so that batches can follow each other without a gap.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "pipeline_input.h"
#include "pipeline_link.h"
#include "strategy.h"
#include "train_loop.h"

struct pipeline {
	const struct train_options *options;
	const struct strategy *plan;
	struct dist *dist;
	struct nn *nn;
	struct data *data, *test;
	int stage, replica;
	struct optim optim;
	struct clock *clock;
	struct dist_sum sum;
	struct pipeline_links links;
	struct pipeline_input input;
	int is_input_posted, is_gradient_posted; /* the receives of the next ones are queued */
	int input_reader;                        /* the last layer that reads the stage's input */
	cudaEvent_t *is_read;                    /* per input slot: its micro-batch is done with */
	cudaEvent_t is_used;                     /* the gradient that came from the next stage */
	int *version;                            /* of the parameters, per micro-batch under way */
	float *output;                           /* last stage: pinned copies of the loss layer's y */
};

/*
 * nn: all layers added, samples of a micro-batch as its share; not created. dist: open. All processes call
 * it, and the others below.
 */
void pipeline_create(struct pipeline *p, const struct train_options *options, const struct strategy *plan,
	struct dist *dist, struct nn *nn, struct data *data, struct data *test);
void pipeline_destroy(struct pipeline *p);

/* All epochs; the first process of the last stage prints losses. */
void pipeline_epochs(struct pipeline *p);

/* Brings a layer's parameters (newest version) to rank 0's `param`, which the others do not look at. */
void pipeline_fetch(void *pipeline, int layer, float *param);

#endif
