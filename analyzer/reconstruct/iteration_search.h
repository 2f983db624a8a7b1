/*
 * Inside iteration_*.c: iterations of a sequence, found by names, or by what repeats where names tell
 * nothing. A search goes through these steps, a file for each: the pieces from one update to the next
 * (iteration_burst.c) or from one repetition to the next (iteration_repeat.c), where in each piece the
 * iteration begins (iteration_start.c), and which pieces are whole and how sure all of it is
 * (iteration_judge.c).
 */
#ifndef RECONSTRUCT_ITERATION_SEARCH_H
#define RECONSTRUCT_ITERATION_SEARCH_H

#include "iteration.h"
#include "sequence.h"

struct iteration_search {
	const struct sequence *sequence;
	struct sequence_range *pieces; /* of members, in order */
	size_t count;
	enum iteration_source source;
	size_t updates;    /* bursts of updates */
	size_t optimizers; /* bursts in an iteration, from 1 */
	bool around;       /* the loop around the innermost one was taken */
	bool *complete;    /* by piece: begins as most do, and has what most have */
	bool *alike;       /* by piece: complete, and as much work as the largest group of such */
	bool *other_size;  /* by piece: calls as in the largest group, with other amounts of work */
	bool varies;       /* no group of them is half of all: sizes depend on the data */
	double confidence;
	size_t passes; /* of the loop that repeats, where that is what was found */
};

/* All of it. The caller frees the search; no pieces: nothing was found. */
void iteration_search(struct iteration_search *search, const struct sequence *sequence);
void iteration_search_free(struct iteration_search *search);

/* Each sets pieces, count and source; none where there are no updates, or nothing repeats. */
void iteration_search_bursts(struct iteration_search *search);
void iteration_search_repeats(struct iteration_search *search);

/* Cuts the sequence once a pass of a loop, whose first class is at these places: in front of its input, else
 * after its result, else where it goes forward again, else at those places (iteration_cycle.c). */
void iteration_search_cut(struct iteration_search *search, const uint32_t *places, uint32_t passes);

/* How many pieces one after the other make an iteration, from 1. */
size_t iteration_search_period(
	const struct sequence *sequence, const struct sequence_range *pieces, size_t count);

/* The same by the updates that the pieces end with, where the work before them differs too. */
size_t iteration_search_period_of(const struct sequence *sequence, const struct sequence_range *bursts,
	const struct sequence_range *pieces, size_t count);

/* Joins pieces that are micro-batches: of a few the last has more work after it, without a copy between. */
void iteration_search_join(struct iteration_search *search);

/* Moves the start of each piece after what does not belong to the iteration: set-up, an evaluation. */
void iteration_search_starts(struct iteration_search *search);

/* Sets complete, alike, varies, confidence. */
void iteration_search_judge(struct iteration_search *search);

/* How many iterations there would be by each kind of marker. */
struct iteration_candidates iteration_search_candidates(const struct iteration_search *search);

/* The middle one of values that are put in order; of an even number the lower. 0 without any. */
size_t iteration_search_median(size_t *values, size_t count);

#endif
