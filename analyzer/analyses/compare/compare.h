/*
 * Runs side by side: what differs between a base and another side, quantity by quantity, and whether it is
 * chance (effect.h). A side is a run or several repetitions of one configuration.
 *
 * A quantity has a value in each used iteration: the mean over the workers that have it. Phases and layers of
 * the sides are set against each other; layers by their names, modules, sizes and order (compare_match.c),
 * since frameworks name and cut them differently.
 *
 * The sides' runs must stay, and belong to the caller.
 */
#ifndef ANALYSES_COMPARE_COMPARE_H
#define ANALYSES_COMPARE_COMPARE_H

#include "base/table.h"
#include "effect.h"
#include "reconstruct/run.h"
#include "timeline/thresholds.h"

struct compare_side {
	const char *name;
	struct run **runs;
	size_t run_count; /* each of them has iterations */
};

/* What is known of a side without any other; from its first run where runs may differ. */
struct compare_facts {
	const char *program;
	size_t processes, gpus;
	size_t iterations;   /* used, of a rank, over all runs */
	double samples;      /* of an iteration; 0: not known */
	double iteration_ns; /* mean */
	double compute_lif;  /* (3.8); NaN with one GPU */
	double parameters;   /* of all layers */
	size_t layers;
};

enum compare_kind {
	COMPARE_WHOLE, /* of the iteration as a whole */
	COMPARE_EXCLUSIVE,
	COMPARE_BUSY,
	COMPARE_LAYER, /* computation of a layer: forward, backward, update */
	COMPARE_LAYER_PART,
};

enum compare_word {
	COMPARE_NONE,      /* one iteration: figures without significance */
	COMPARE_UNDECIDED, /* too few iterations, or too unequal ones */
	COMPARE_SAME,      /* surely within the margin */
	COMPARE_FASTER,    /* or better */
	COMPARE_SLOWER,    /* or worse */
	COMPARE_ONLY_BASE,
	COMPARE_ONLY_OTHER,
	COMPARE_UNKNOWN, /* a side's traces cannot tell */
};

struct compare_row {
	enum compare_kind kind;
	const char *key;   /* "t_iter", a phase's key, "forward" of a layer */
	const char *title; /* for people; a layer's name */
	int phase;         /* of COMPARE_EXCLUSIVE and _BUSY */
	size_t match;      /* of layers: place in compare_pair.matches */
	enum print_type type;
	bool more_is_better;
	double base, other; /* means; NaN where the side has it not */
	double base_median, other_median;
	struct effect effect;
	double p; /* corrected over the rows of its family: the iteration alone, its phases, layers; NaN */
	enum compare_word word;
};

/* Two layers that are one, or one that the other side has not. */
struct compare_match {
	const struct layer *base, *other; /* NULL: has none */
	const char *by;                   /* "module", "name", "sizes", "position"; "" without a partner */
	bool sizes_differ;
};

struct compare_pair {
	size_t base, other; /* sides */
	struct compare_row *rows;
	size_t row_count, row_room;
	struct compare_match *matches; /* in the base's order, then those only the other has */
	size_t match_count, match_room;
};

struct compare_options {
	size_t base;
	double margin; /* share of a quantity within which it is the same */
	bool per_sample;
	uint64_t seed;
};

#define COMPARE_MARGIN 0.01
#define COMPARE_SEED 1

struct compare {
	struct compare_side *sides;
	struct compare_facts *facts; /* by side */
	size_t side_count;
	struct compare_options how;
	struct compare_pair *pairs; /* each other side against the base */
	size_t pair_count;
	struct arena arena;
};

/* What is wrong with the sides or options, one sentence; NULL: nothing. */
const char *compare_check(
	const struct compare_side *sides, size_t side_count, const struct compare_options *how);

/* After compare_check. */
void compare_init(struct compare *compare, struct compare_side *sides, size_t side_count,
	const struct compare_options *how);
void compare_free(struct compare *compare);

/* The first row of this kind and key; NULL: there is none. */
const struct compare_row *compare_find(
	const struct compare_pair *pair, enum compare_kind kind, const char *key);

/* "faster", "slower", "same", "not decided", ...; what is no time is better or worse. */
const char *compare_word_text(const struct compare_row *row);

/* Difference as a share of the base; NaN. */
double compare_change(const struct compare_row *row);

/* A pair in sentences, the most important first; in the arena, NULL at the end (compare_sentences.c). */
const char **compare_words(struct compare *compare, const struct compare_pair *pair);

/*
 * The cause of a decided difference, a sentence in the compare's arena (compare_cause.c): the finding
 * (finding.h) of the sides' first runs that differs most in the difference's direction, or the layer that
 * does on all ranks; NULL: none makes EXPLAINED_LEAST of it.
 */
const char *compare_cause(struct compare *compare, const struct compare_pair *pair);

/* Layers of the two sides' first runs, set against each other (compare_match.c). */
void compare_match(const struct analysis *base, const struct analysis *other, struct compare_pair *pair);

/* What the rows of a table are about (compare_rows.c). */
enum compare_rows {
	COMPARE_ROWS_ITERATION, /* its times */
	COMPARE_ROWS_RATIOS,    /* its other figures */
	COMPARE_ROWS_EXCLUSIVE,
	COMPARE_ROWS_BUSY,
	COMPARE_ROWS_LAYERS,
	COMPARE_ROWS_PARTS, /* of layers, those that differ significantly */
};
bool compare_row_in(const struct compare_row *row, enum compare_rows which);

/*
 * Those rows for people, in the compare's arena: in text in order; on a page, which has exclusive phases and
 * layers, with differences and their intervals drawn on one axis: phases with both sides' bars, each from
 * where the one before ends, and the iteration below; layers with their sizes, the greatest difference first.
 */
void compare_row_table(struct compare *compare, const struct compare_pair *pair, enum compare_rows which,
	enum print_form form, struct print_table *table);

/* A side's name as the title of a column; of long ones that begin alike, what differs. */
const char *compare_side_title(struct compare *compare, size_t side);

/* All of it on `out`, or into the object (compare_tables.c). `brief`: text without the tables of rows. */
void compare_print(struct compare *compare, enum print_form form, bool brief, cJSON *object, FILE *out);

#endif
