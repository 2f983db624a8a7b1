/*
 * Made-up programs whose iterations are known, as traces: their own kernels, with names that tell much,
 * little or nothing, and what a program does beside iterations. Made of random numbers from a seed, or cut
 * out of such a run at random, as a recording that begins and ends somewhere.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "trace_builder.h"

/* What names and threads tell. */
enum program_names {
	PROGRAM_ALL,      /* kernels say forward, backward, update */
	PROGRAM_SITES,    /* functions at the call sites do: "gpt2_backward < main" */
	PROGRAM_PYTHON,   /* modules forward, a thread without frames backward, multi_tensor_apply */
	PROGRAM_UPDATES,  /* updates alone are named */
	PROGRAM_BACKWARD, /* library calls that go backward, all else without names */
	PROGRAM_NOTHING,
	PROGRAM_NAMES,
	PROGRAM_PASSES = PROGRAM_NAMES, /* library calls that go forward and backward, updates without names */
};

struct program {
	enum program_names names;
	int iterations, layers;
	int updates;                        /* kernels of an update, for each layer */
	int accumulate;                     /* micro-batches of an iteration */
	int optimizers;                     /* 1, or 2 with work of their own */
	int steps;                          /* of time, in forward and backward; 1: none */
	int evaluate_every, evaluate_count; /* 0: never */
	int log_every, small_every, tail;   /* tail: kernels after the update */
	bool varies;                        /* the steps of time, and the sizes */
	bool resident;                      /* the data are on the device: no copies */
	bool tunes;                         /* the first iteration tries each forward kernel several times */
	bool prepares;                      /* kernels before the first iteration */
	bool gathers;                       /* modules work on lists of their parameters, as updates do */
	bool host_loss; /* the host makes the loss and its gradient; the batch comes whenever it is ready */
};

/* By a seed. */
void program_random(struct program *program, uint64_t seed);

struct program_span {
	int64_t first_ns, last_ns; /* begins of its first and last kernel */
	bool whole;                /* all of it is in the trace */
};

struct program_truth {
	struct program_span *spans;
	size_t count;
};

/* Writes the trace, of the part from share `from` to `to` of its calls. The caller frees both. */
void program_make(const struct program *program, double from, double to, struct builder *builder,
	struct program_truth *truth);

#endif
