/* Between the two sides of a stream's queue: who submits (queue.c) and the worker (worker.c). */
#ifndef SG_QUEUE_H
#define SG_QUEUE_H

#include "core.h"

/* One closure as it lies in a chunk; fn NULL: go on in the next chunk. */
struct sg_item {
	sg_work *fn;
	size_t size;
	_Alignas(16) char arg[];
};

struct sg_chunk {
	struct sg_chunk *next;
	_Alignas(16) char bytes[];
};

/* Starts the stream's worker; its lock is held. 0, or an error number. */
int sg_worker_start(struct sg_stream *stream);
/* The closure that ends the worker, which then gives the stream's slot back. */
void sg_worker_close(void *nothing);
/* One more position is done; by the worker, or under the lock by who submits while nothing is queued. */
void sg_queue_complete(struct sg_stream *stream);

#endif
