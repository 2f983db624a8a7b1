/* Inside iteration*.c: the search for iterations in a worker's calls. */
#ifndef RECONSTRUCT_ITERATION_FIND_H
#define RECONSTRUCT_ITERATION_FIND_H

#include "iteration.h"
#include "rule.h"
#include "sequence.h"

/* A piece between two cuts, as positions in the worker's calls. */
struct iteration_piece {
	size_t first, start, end;         /* start: after what does not belong to the usual sequence */
	size_t core_count;                /* computations from start to end */
	uint64_t structure;               /* a hash of them */
	bool cut;                         /* recording began just before it: perhaps not with an iteration */
	bool complete, alike, other_size; /* as the search judged it, where that was what found it */
	int64_t begin_ns, end_ns;         /* of the program's marker; else 0 */
};

/* What is asked of each call, and the same for all calls of an operation. */
struct iteration_operation {
	uint64_t key;   /* iteration_key */
	uint64_t shape; /* its sizes, without addresses, algorithm and call site */
	uint32_t flags; /* WORKER_* */
	enum pm_kind kind;
	bool to_host; /* copies from the device */
	bool known;
};

struct iteration_finder {
	const struct worker_model *model;
	const struct timeline *timeline;
	const struct worker *worker;
	uint32_t
		*operations; /* by position in the worker's calls: the call's, as the timeline numbers them */
	struct iteration_operation *known; /* by operation of the process */
	const struct iteration_operation
		*unsearched;               /* the same before a search; while ranges may be preferred */
	uint32_t first_operation;          /* of the process */
	struct iteration_piece *pieces;
	size_t piece_count, piece_room;
	uint64_t usual; /* structure of most pieces */
	size_t usual_piece;
	enum iteration_source source;
	bool judged;    /* a search found the pieces (iteration_search.h), and judged them: */
	double sure;    /* how sure it is */
	bool varies;    /* sizes depend on the data */
	uint8_t *marks; /* by position in the worker's calls: SEQUENCE_*; NULL unless judged */
	struct iteration_candidates candidates;
	const struct iteration_rule *rule; /* or NULL */
	bool whole;                        /* as iteration_options has it */
	const struct timeline_range_name *range; /* that marks them, or NULL */
	bool range_agrees;                       /* with what the calls alone tell */
	struct framework *framework;             /* iteration_framework has it; NULL: not asked for yet */
	enum rule by;                            /* at work (rule_driver.h) */
};

/* What the framework says of the process, read when it is first asked for; NULL: nothing. iteration_find
 * keeps it. */
struct framework *iteration_framework(struct iteration_finder *finder);

/*
 * Cuts the worker's calls into pieces, determines the usual sequence, and strips what comes before it. With
 * steps of the program the pieces are theirs, one for each that has computations.
 */
void iteration_cut(struct iteration_finder *finder);

/* Where the user's rule has them; false: it has no place, or nothing matches. And so many of them as one;
 * false: they are as they were. */
bool iteration_cut_by_rule(struct iteration_finder *finder);
bool iteration_cut_every(struct iteration_finder *finder);

/* Pieces that somebody said: which of them are whole and do the same work, whatever its sizes, is found as for any others.
 * Answers how sure a search would be of them. */
double iteration_judge_pieces(struct iteration_finder *finder, enum iteration_source source);

/* What a search knows beside its pieces: the source, labels by call, classes as keys of what is the same. */
struct iteration_search;
void iteration_take_judgement(struct iteration_finder *finder, const struct sequence *sequence,
	const struct iteration_search *search);

/* Where a step ends. One kind of steps leads: an iteration ends with the last step before the next of these. */
struct iteration_mark {
	size_t end; /* the position after it */
	bool leads;
};

/* Pieces of these, in order of time. */
void iteration_cut_at_marks(struct iteration_finder *finder, const struct iteration_mark *marks, size_t count);

/* By the steps of optimizers, as the framework says them; false: it does not (iteration_framework.c). */
bool iteration_cut_framework(struct iteration_finder *finder);

/* By the runs of programs that XLA compiled; false: none of them trains (iteration_program.c). */
bool iteration_cut_programs(struct iteration_finder *finder);

/* By TensorFlow's operations that update variables; false: it does not say them (iteration_tensorflow.c). */
bool iteration_cut_tensorflow(struct iteration_finder *finder);

/* By a range that the program names, where that is as good as what was found by the calls alone, or agrees
 * with it (iteration_range.c); true: so it is. */
bool iteration_prefer_ranges(struct iteration_finder *finder);

/* Finds the usual sequence of the pieces, and strips off what comes before it where no search has done so. */
void iteration_settle_pieces(struct iteration_finder *finder);

/* How sure the pieces are, as iteration_list.confidence will be about. 0: there are none. */
double iteration_sureness(const struct iteration_finder *finder);

/* One more piece, of the calls [first, end). Without any computation it is none: copies of a model alone, in a damaged
 * trace. */
void iteration_add_piece(struct iteration_finder *finder, size_t first, size_t end);

/* Do the pieces say when an iteration begins, and which calls are its? */
static inline bool iteration_is_marked(const struct iteration_finder *finder)
{
	return finder->source == ITERATION_BY_STEPS || finder->source == ITERATION_BY_USER;
}

/* One piece for each of the program's steps; false: there are none with computations. */
bool iteration_cut_steps(struct iteration_finder *finder);

/* What the calls alone tell beside the program's steps, noted in the list. */
void iteration_compare_steps(struct iteration_finder *finder, struct iteration_list *list);

/* When a step's iteration begins: with its mark, or when the computation before its first call was done. */
int64_t iteration_step_begin(
	const struct iteration_finder *finder, const struct iteration_piece *piece, size_t position);

/* Sets the kind of each iteration, their counts, the model and the confidence. skip: as iteration_find has
 * it. */
void iteration_classify(struct iteration_finder *finder, struct iteration_list *list, size_t skip);

/* By the calls alone. */
void iteration_cut_sequence(struct iteration_finder *finder);

/*
 * The share of the pieces' computations that lie in the piece of the other cut that shares most with theirs,
 * no piece of it being taken twice.
 */
double iteration_agreement(const struct iteration_finder *finder, const struct iteration_finder *other);

/* The first position in [first, end] before whose call recording had stopped for a while, or SIZE_MAX. */
size_t iteration_gap_in(const struct iteration_finder *finder, size_t first, size_t end);

/* When recording began that the call is part of. */
int64_t iteration_window_begin(const struct iteration_finder *finder, size_t position);

static inline struct timeline_call iteration_call_at(const struct iteration_finder *finder, size_t position)
{
	return timeline_call(finder->timeline, finder->worker->calls[position]);
}

static inline const struct iteration_operation *iteration_operation_at(
	const struct iteration_finder *finder, size_t position)
{
	return &finder->known[finder->operations[position] - finder->first_operation];
}

static inline bool iteration_is_core(const struct iteration_finder *finder, size_t position)
{
	return iteration_operation_at(finder, position)->flags & WORKER_CORE;
}

static inline bool iteration_is_copy_to_host(const struct iteration_finder *finder, size_t position)
{
	return iteration_operation_at(finder, position)->to_host;
}

/* The first computation of [from, end), or `end`. */
size_t iteration_first_core(const struct iteration_finder *finder, size_t from, size_t end);

/* Where the input begins that stands in front of a computation, after `first`. */
size_t iteration_input_start(const struct iteration_finder *finder, size_t first, size_t core);

/* When the work at `start` begins, after the call before it: with its file input, or itself. */
int64_t iteration_begin_at(const struct iteration_finder *finder, size_t start);

/* Notes that so many calls lie between iterations, if any do. */
void iteration_add_gap(struct iteration_list *list, size_t first, size_t end, int64_t begin_ns,
	int64_t end_ns, enum iteration_gap_kind kind);

/* The ends of iterations that have their starts, and the gaps between them (iteration_end.c). */
void iteration_set_ends(struct iteration_finder *finder, struct iteration_list *list);

/* Hashes the pieces' sequences, and finds the most frequent one. */
void iteration_find_usual(struct iteration_finder *finder);

/* The share of the pieces' computations that are in usual ones; what was stripped off does not count. */
double iteration_usual_share(const struct iteration_finder *finder);

/* Is there work of a backward pass or an update among the calls [first, end)? */
bool iteration_is_more_than_forward(const struct iteration_finder *finder, size_t first, size_t end);

#endif
