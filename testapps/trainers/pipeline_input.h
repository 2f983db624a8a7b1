/*
 * A pipeline's samples: the first stage wants pixels, the last one labels, the others nothing. Each process
 * reads only its own micro-batches, one at a time.
 */
#ifndef PIPELINE_INPUT_H
#define PIPELINE_INPUT_H

#include "clock.h"
#include "data.h"
#include "nn.h"

struct pipeline_input {
	struct nn *nn;
	int places;                      /* micro-batches on the host; 0: this stage wants no samples */
	size_t pixel_count, label_count; /* numbers in a micro-batch */
	uint8_t *raw;
	float *pixels, *labels; /* pinned: all places */
	cudaEvent_t *copied;    /* per place: to the GPU */
	char *is_made;          /* per place: with synthetic data */
};

/* nn: created, with samples like data's. */
void pipeline_input_open(struct pipeline_input *in, struct nn *nn, const struct data *data, int places);
void pipeline_input_close(struct pipeline_input *in);

/*
 * Reads samples first ... first+count-1 and queues their copies to the network's input and target of `slot`.
 * The labels stay in pipeline_labels until as many later calls as there are places. A bad file ends the
 * program.
 */
void pipeline_load(
	struct pipeline_input *in, struct data *data, int first, int count, int slot, struct clock *clock);
const float *pipeline_labels(const struct pipeline_input *in, int slot);

#endif
