/*
 * A worker: one device as one process uses it. What belongs to it: the calls that put work on its queues,
 * copies that end or begin on it, and the file input of the threads that serve it.
 *
 * Also here: which addresses are its parameters. A parameter is state that forward work reads: it is written
 * only by calls that keep something of what was there (w += ...), never made anew by a computation.
 */
#ifndef RECONSTRUCT_WORKER_H
#define RECONSTRUCT_WORKER_H

#include "operation_flow.h"
#include "timeline/timeline.h"

/* What a call means to the search for iterations. A call can be several of them. */
#define WORKER_CORE 1u      /* part of the structure: computation */
#define WORKER_READS 2u     /* forward-like work that reads parameters */
#define WORKER_UPDATES 4u   /* writes parameters */
#define WORKER_STATE 8u     /* writes parameters or other state that lives on: momentum */
#define WORKER_BACKWARD 16u /* surely backward: its function says so */
#define WORKER_BESIDE 32u   /* memory is set, or copied within the device: for a computation around it */

/* One per operation of the timeline. */
struct worker_role {
	uint32_t flags;
	uint32_t first_parameter,
		parameter_count; /* those read (in worker_model.touched), then those written */
	uint32_t written_count;
};

struct worker {
	uint32_t process;
	int32_t device;
	uint32_t *calls; /* numbers of timeline calls, in order of begin */
	size_t call_count, call_room;
	uint32_t *reads; /* file input, likewise */
	size_t read_count, read_room;
};

struct worker_parameter {
	uint32_t process;
	uint64_t address;
};

struct worker_model {
	const struct timeline *timeline;
	struct flow *flows;
	struct worker *workers;
	size_t worker_count, worker_room;
	struct worker_role *roles;
	struct worker_parameter *parameters;
	size_t parameter_count;
	uint32_t *touched; /* numbers of parameters, as roles say */
	bool opaque;       /* no update was recognised: parameters are what products read and nobody writes */
	struct arena arena;
};

/* The timeline must be settled, and stay. */
void worker_init(struct worker_model *model, const struct timeline *timeline);
void worker_free(struct worker_model *model);

/* Position among the worker's calls or reads of the first that begins at or after `ns`. */
size_t worker_find(const struct timeline *timeline, const uint32_t *calls, size_t count, int64_t ns);

#endif
