/*
 * Iterations of a worker, from its calls alone. An iteration is the span from one model update to the next:
 * it ends with the last write to a parameter before forward work reads an updated parameter again. Where no
 * update can be recognised (a kernel of the application's own), the shortest period of the sequence of calls
 * takes its place. Where nothing repeats, and only a part of the run was recorded, that part is one
 * iteration.
 *
 * Where the program marks its steps (timeline_step) these are the iterations: the calls made in a step. What
 * the calls alone would have told is worked out all the same, and compared.
 *
 * In time it begins with its input: the first file input after the previous iteration's last device call,
 * else its first copy to the device, else its first call; but not before the previous update has ended on the
 * device. It ends where the next begins, or where an evaluation pass begins, or, the last one, when its work
 * is done.
 */
#ifndef RECONSTRUCT_ITERATION_H
#define RECONSTRUCT_ITERATION_H

#include "worker.h"

enum iteration_kind {
	ITERATION_USED,
	ITERATION_WARMUP,    /* at the begin: skipped as asked for, or other calls than later (tuning) */
	ITERATION_UNEVEN,    /* the same calls with other shapes: the last batch of an epoch */
	ITERATION_DIFFERENT, /* other calls than most */
};

struct iteration {
	int64_t begin_ns, end_ns;
	size_t first_call, call_end; /* positions in the worker's calls */
	size_t first_read, read_end; /* and in its reads */
	enum iteration_kind kind;
	bool usual; /* has the calls that most iterations have */
	uint64_t shape;
};

/* What lies between, before and after iterations. */
enum iteration_gap_kind {
	ITERATION_SETUP,
	ITERATION_EVALUATION, /* forward work without an update */
	ITERATION_PARTIAL,    /* an iteration that was broken off */
	ITERATION_REST,       /* anything else */
};

struct iteration_gap {
	int64_t begin_ns, end_ns;
	size_t call_count;
	enum iteration_gap_kind kind;
};

/* How the calls were cut into iterations. */
enum iteration_source {
	ITERATION_BY_NOTHING, /* no iterations */
	ITERATION_BY_UPDATES,
	ITERATION_BY_PERIOD,
	ITERATION_BY_WINDOW, /* all that was recorded is one */
	ITERATION_BY_STEPS,  /* the program's step markers */
};

struct iteration_list {
	struct iteration *items;
	size_t count;
	size_t model; /* an iteration with the usual calls; valid if count > 0 */
	struct iteration_gap *gaps;
	size_t gap_count, gap_room;
	enum iteration_source source;
	bool by_period; /* no updates recognised: the source, or what there would be without steps, is the
			   period */
	enum iteration_source sequence; /* what the calls alone tell, and how many iterations; only where */
	size_t sequence_count;          /* the source is steps */
	double agreement;  /* and the share of the computations that both put into the same iteration */
	double confidence; /* share of the calls from first to last iteration, evaluation aside, in usual
			      iterations */
	size_t counts[4];  /* of iterations, by enum iteration_kind */
};

/* skip: how many of the usual iterations at the begin count as warm-up; fewer if none would be left. */
void iteration_find(const struct worker_model *model, const struct worker *worker, size_t skip,
	struct iteration_list *list);
void iteration_free(struct iteration_list *list);

/* What makes calls of an operation the same in another iteration: its function and its parameters. */
uint64_t iteration_key(const struct worker_model *model, uint32_t number);

#endif
