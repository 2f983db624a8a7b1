/*
 * Jobs whose programs label what they do: traces of phases ("forward-compute", "backward-recv", "optimizer")
 * with a step, a data rank and a pipeline stage each, as Megatron-like frameworks and pipeline simulators
 * write them in Chrome-trace JSON.
 *
 * The one idea: a label means one of a few types (one table of names, labelled_name.c), and type, worker,
 * step and order say all that an operation waits for (labelled_graph.h). Nothing else of the label is used.
 *
 * All times are ns on one axis; a struct labelled belongs to one thread.
 */
#ifndef IMPORT_LABELLED_H
#define IMPORT_LABELLED_H

#include "base/lookup.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum labelled_type {
	LABELLED_FORWARD,
	LABELLED_BACKWARD,
	LABELLED_FORWARD_SEND,
	LABELLED_FORWARD_RECV,
	LABELLED_BACKWARD_SEND,
	LABELLED_BACKWARD_RECV,
	LABELLED_COLLECTION, /* of garbage, by the host's language */
	LABELLED_GATHER,     /* parameters, over the data ranks */
	LABELLED_REDUCE,     /* gradients, over the data ranks */
	LABELLED_SEPARATE,   /* gradients that are reduced apart from the others */
	LABELLED_NORM,       /* gradients of layer norms, over the tensor ranks */
	LABELLED_EMBEDDING,  /* gradients that the first and the last stage share */
	LABELLED_CLIP,       /* norm of the gradients, over all workers */
	LABELLED_UPDATE,     /* the optimizer */
	LABELLED_TYPES,
};

#define LABELLED_NONE UINT32_MAX
#define LABELLED_WARMUP 1.5 /* times the median: a step at the start that takes longer is warm-up */

/* What the data say of a worker's place; -1: not known. */
struct labelled_place {
	int32_t data, stage, tensor, rank;
};

/*
 * A worker is a GPU; workers are in order of stage, data rank and tensor rank. Those of one data and tensor
 * rank form a pipeline, its `lane`.
 */
struct labelled_worker {
	int32_t stage, data, tensor;
	int32_t lane;
	const char *name; /* "dp1/pp3", "dp1/pp3/tp0" */
};

struct labelled_operation {
	int64_t begin_ns, end_ns;
	uint32_t worker;                /* while reading: its thread */
	int32_t step;                   /* index of `steps`; while reading its number, -1: not known */
	int32_t chunk, batch, sequence; /* part of the model, micro-batch, ordinal; -1: not known */
	uint8_t type;
};

struct labelled_thread {
	uint32_t file;
	int64_t process, thread;     /* numbers, of names a hash */
	struct labelled_place place; /* as arguments of events say */
	const char *name;            /* or NULL */
};

struct labelled {
	struct labelled_operation *operations; /* after labelled_settle by step, worker and begin */
	size_t operation_count, operation_room;
	struct labelled_worker *workers;
	size_t worker_count, worker_room;
	int32_t *steps; /* their numbers, in order of time */
	size_t step_count, step_room;
	bool choose;                       /* set before labelled_settle: steps are asked for, by number */
	int32_t first_number, last_number; /* likewise: those */
	bool keep_warmup; /* likewise: steps at the start that take far longer than the others */
	int32_t stage_count, data_count, tensor_count, lane_count;
	int32_t chunk_count;     /* of the model in a stage, 1 or more */
	uint64_t passed;         /* events with labels that mean nothing here */
	uint64_t refused;        /* events without what they need */
	uint64_t dropped;        /* operations left out: their step lacks workers, or they lie in another */
	const char *passed_name; /* one such label, or NULL */
	const char **warnings;
	size_t warning_count, warning_room;
	const char **files;
	size_t file_count, file_room;
	struct labelled_thread *threads; /* and processes: thread INT64_MIN */
	size_t thread_count, thread_room;
	struct lookup thread_lookup;
	struct arena arena;
};

/*
 * Adds what a Chrome-trace JSON file (plain or gzip) says. 0, or -1 with a sentence in *error, which lives as
 * long as `job`: not readable, or not such a file. A file that breaks off is read as far as it goes, with a
 * warning. `path` must live as long as `job`. The caller frees in any case.
 */
int labelled_read(struct labelled *job, const char *path, const char **error);

/* True, with a sentence in *error, where two files each have the same several processes: they are of
 * different jobs. After all files are read. */
bool labelled_jobs(struct labelled *job, const char **error);

/* How many of the steps at the start, by what each takes, are warm-up; of fewer than five none. */
size_t labelled_warmup(const double *step_ns, size_t count);

/*
 * After all files: places the workers, numbers the steps, sorts. Where data say only ranks, they are placed
 * in Megatron's order (tensor ranks adjacent, then data, then pipeline) with `stage_count` and
 * `tensor_count`, 0: not known. -1 with a sentence in *error: nothing to analyse.
 */
int labelled_settle(struct labelled *job, int32_t stage_count, int32_t tensor_count, const char **error);

void labelled_free(struct labelled *job);

/* The types that a label means, up to two where it moves data both ways; answers how many, 0: none known. */
int labelled_name_types(const char *name, size_t length, uint8_t types[2]);

/* "forward-compute". */
const char *labelled_type_name(unsigned type);

/* Does the time of such operations depend on when others come? (Layer norms' gradients stay inside a GPU's
 * tensor ranks, which are indistinguishable.) */
bool labelled_is_communication(unsigned type);
bool labelled_is_compute(unsigned type); /* forward or backward */

/* Sets what a name tells of a place: "DP rank [1]", "PP rank 3, TP rank 0", "DP0-PP1-TP0",
 * "data-0-pipeline-1", "rank 5". What is set already stays. */
void labelled_place_of(const char *name, struct labelled_place *place);

void labelled_warn(struct labelled *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The thread, or LABELLED_NONE. */
uint32_t labelled_look_up(const struct labelled *job, uint32_t file, int64_t process, int64_t thread);

/* What the reader uses. */
int labelled_read_pipeline(struct labelled *job, const char *path, const char **error); /* as labelled_read */
uint32_t labelled_find_thread(struct labelled *job, uint32_t file, int64_t process, int64_t thread);

#endif
