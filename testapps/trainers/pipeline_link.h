/*
 * What goes from stage to stage: activations to the next one, gradients back.
 *
 * A send may end only when its receive runs, so a process that sends and receives in one order must not be
 * met by one that does in another. So each process has up to four links, for activations and gradients, in
 * and out, each with a communicator and a stream of its own: a link only sends or only receives, always in
 * the order of the micro-batches, and no link waits for another one. A communicator joins every second pair
 * of neighbouring stages, so that a stage's two sides are in different ones.
 */
#ifndef PIPELINE_LINK_H
#define PIPELINE_LINK_H

#include "dist.h"
#include "strategy.h"

enum { PIPELINE_MAX_COMMS = 4 };

struct pipeline_link {
	ncclComm_t comm;
	cudaStream_t stream;
	cudaEvent_t before;
	cudaEvent_t *done; /* of the last transfer from or to each of `places` buffers */
	int places;        /* 0: there is no such link */
};

struct pipeline_links {
	struct pipeline_link forward_in, forward_out, backward_in, backward_out;
	ncclComm_t comm[PIPELINE_MAX_COMMS];
};

/* All processes call it; activations are sent from `places` buffers. The device must be current. */
void pipeline_links_open(
	struct pipeline_links *links, struct dist *dist, const struct strategy *plan, int stage, int places);
void pipeline_links_close(struct pipeline_links *links);

/* Waits until all transfers are done. */
void pipeline_links_wait(struct pipeline_links *links);

/* Queues a send of what the stream `from` has been given so far to compute. */
void pipeline_send(struct pipeline_link *link, int rank, const float *values, size_t count, int place,
	cudaStream_t from);

/* Queues a receive, into memory that is free when `is_free` (if it was ever recorded) has happened. */
void pipeline_receive(struct pipeline_link *link, int rank, float *values, size_t count, cudaEvent_t is_free);

/* Makes the stream wait for the last receive. */
void pipeline_wait_received(struct pipeline_link *link, cudaStream_t stream);

/* Makes the stream wait until what was sent from the place, if anything, has gone. */
void pipeline_wait_sent(struct pipeline_link *link, int place, cudaStream_t stream);

#endif
