/*
 * Iterations of a worker, from its calls alone. An iteration is the span from one model update to the next:
 * it ends with the last write to a parameter before forward work reads an updated parameter again. Where the
 * flow of data does not tell of updates (kernels of the application's own), their names do, or what repeats
 * takes their place. Where nothing repeats, and only a part of the run was recorded, that part is one
 * iteration.
 *
 * Where the program marks its steps (timeline_step) these are the iterations: the calls made in a step. What
 * the calls alone would have given is worked out all the same, and compared.
 *
 * In time it begins with its input: the first file input after the previous iteration's last device call,
 * else its first copy to the device, else its first call; but not before the previous update has ended on the
 * device. It ends where the next begins, or where an evaluation pass begins, or, the last one, when its work
 * is done.
 */
#ifndef RECONSTRUCT_ITERATION_H
#define RECONSTRUCT_ITERATION_H

#include "iteration_rule.h"
#include "worker.h"
#include "timeline/constants.h"

enum iteration_kind {
	ITERATION_USED,
	ITERATION_WARMUP,    /* at the start: skipped as asked for, or other calls than later (tuning) */
	ITERATION_UNEVEN,    /* the same calls with other shapes: the last batch of an epoch */
	ITERATION_DIFFERENT, /* other calls than most */
	ITERATION_CUT,       /* at the edge of what was read of a long run: a part may be missing */
	ITERATION_UNTIMED,   /* alike, but not wholly in a part of the run with device times */
	ITERATION_KINDS,
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
	ITERATION_BY_NAMES,  /* updates that names tell: of kernels, and of functions at the call site */
	ITERATION_BY_OPTIMIZER, /* steps of the optimizer, as the framework says them */
	ITERATION_BY_RANGES, /* a range that the program names */
	ITERATION_BY_USER,   /* as the user says: iteration_rule.h */
	ITERATION_SOURCES,
};

/* How many iterations there would be by each kind of marker; 0: there is none of it. */
struct iteration_candidates {
	size_t updates; /* bursts of updates */
	size_t inputs;  /* groups of copies from the host */
	size_t results; /* and to it */
	size_t passes;  /* of the innermost loop whose passes are alike */
};

struct framework;

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
	double confidence; /* by updates: share of the calls from first to last iteration, evaluation aside,
			      in usual iterations; else the probability that these are the iterations
			      (iteration_judge.c) */
	bool confirmed;    /* one of them is a step of training by what its calls work on */
	size_t alike;      /* before any is left out as warm-up */
	const char *range, *range_domain; /* by ranges: its name and that of who pushes it, or NULL */
	bool range_agrees; /* and the calls alone tell the same */
	bool varies;       /* sizes depend on the data: iterations with other shapes are used too */
	struct iteration_candidates candidates; /* of the search by names and repetition, if there was one */
	size_t counts[ITERATION_KINDS];         /* of iterations */
	struct framework
		*framework; /* read for them, and kept for layer_find; NULL: not read, or forgotten */
};

struct iteration_options {
	size_t skip; /* so many of the usual iterations at the start count as warm-up; fewer if none
			would be left */
	const struct iteration_rule *rule; /* the user's, or NULL */
	bool whole; /* no search: each stretch that was recorded is one, by ITERATION_BY_WINDOW */
};

void iteration_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_options *options, struct iteration_list *list);
void iteration_forget_framework(struct iteration_list *list);
void iteration_free(struct iteration_list *list);

/* Were they found by a search, which gives a probability? */
bool iteration_is_searched(const struct iteration_list *list);

/* An iteration of those found by what repeats turns out to go forward, back and to update once: the
 * confidence grows. */
void iteration_confirm(struct iteration_list *list);

/* "by updates 48, by copies from the host 24", in the arena; "nothing repeats" where there are none. */
const char *iteration_candidates_text(const struct iteration_candidates *candidates, struct arena *arena);

/* What makes calls of an operation the same in another iteration: its function and its parameters. */
uint64_t iteration_key(const struct worker_model *model, uint32_t number);

#endif
