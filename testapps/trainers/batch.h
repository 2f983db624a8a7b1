/*
 * From files to GPUs: a batch is read, decoded into pinned memory, divided among the GPUs and copied to them.
 *
 * With one GPU there is nothing to divide. Division on the host: each GPU's part is copied to a pinned buffer
 * of its own, and from there to that GPU. Division on the device: the whole batch is copied to the process's
 * first GPU, and each GPU's part from there, device to device. Each process reads the whole batch and keeps
 * its GPUs' parts. Synthetic data are made once, its GPUs' parts alone.
 */
#ifndef BATCH_H
#define BATCH_H

#include "clock.h"
#include "data.h"
#include "dist.h"
#include "nn.h"

enum batch_divide { BATCH_DIVIDE_HOST, BATCH_DIVIDE_DEVICE };

struct batch {
	struct dist *dist;
	struct nn *nets; /* one per GPU of this process */
	int size;        /* samples over all GPUs of all processes */
	enum batch_divide divide;
	size_t width, classes; /* numbers per sample: pixels; labels, 0: not wanted */
	int is_made;           /* the synthetic batch is in pixels and labels */
	uint8_t *raw;
	float *pixels, *labels; /* pinned: the whole batch */
	struct {
		int first, count;       /* of the batch's samples */
		float *pixels, *labels; /* pinned, for division on the host */
	} part[DIST_MAX_GPUS];
	float *whole_pixels, *whole_labels; /* on the first GPU, for division on the device */
	cudaEvent_t divided;
};

void batch_init(struct batch *b, struct dist *dist, struct nn *nets, const struct data *data, int size,
	enum batch_divide divide);
void batch_free(struct batch *b);

/*
 * Queues the copies of images first ... first+count-1 to the networks' input and target; count < size leaves
 * the rest of the batch as it was. The caller waits for all streams before the next call. A bad file ends the
 * program.
 */
void batch_load(struct batch *b, struct data *data, int first, int count, struct clock *clock);

#endif
