/* Inside iteration*.c: the search for iterations in a worker's calls. */
#ifndef ITERATION_FIND_H
#define ITERATION_FIND_H

#include "iteration.h"

/* A piece between two cuts, as positions in the worker's calls. */
struct iteration_piece {
	size_t first, start, end; /* start: behind what does not belong to the usual sequence */
	size_t core_count;        /* computations from start to end */
	uint64_t structure;       /* a hash of them */
	bool cut;                 /* recording began just before it: perhaps not with an iteration */
};

struct iteration_finder {
	const struct worker_model *model;
	const struct timeline *timeline;
	const struct worker *worker;
	uint64_t *keys; /* by position in the worker's calls */
	struct iteration_piece *pieces;
	size_t piece_count, piece_room;
	uint64_t usual; /* structure of most pieces */
	size_t usual_piece;
	bool by_period;
};

/* Cuts the worker's calls into pieces, determines the usual sequence, and strips what comes before it. */
void iteration_cut(struct iteration_finder *finder);

/* The first position in [first, end] before whose call recording had stopped for a while, or SIZE_MAX. */
size_t iteration_gap_in(const struct iteration_finder *finder, size_t first, size_t end);

/* When recording began that the call is part of. */
int64_t iteration_window_begin(const struct iteration_finder *finder, size_t position);

const struct timeline_call *iteration_call_at(const struct iteration_finder *finder, size_t position);
uint32_t iteration_flags_at(const struct iteration_finder *finder, size_t position); /* WORKER_* */
bool iteration_is_core(const struct iteration_finder *finder, size_t position);

/* Is there work of a backward pass or an update among the calls [first, end)? */
bool iteration_is_more_than_forward(const struct iteration_finder *finder, size_t first, size_t end);

#endif
