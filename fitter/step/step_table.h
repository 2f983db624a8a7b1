/*
 * What a table says of training steps: which column is what, found by names that such tables use, and the
 * rows as configurations with times.
 */
#ifndef STEP_TABLE_H
#define STEP_TABLE_H

#include "base/memory.h"
#include "committee.h"
#include "base/csv.h"

enum step_column {
	STEP_TIME,
	STEP_BATCH, /* samples, on each GPU or in all */
	STEP_GPUS,  /* in all */
	STEP_NODES,
	STEP_PLACEMENT, /* GPUs on each node, in place of the two before: placement.h */
	STEP_EXPOSED,   /* exchange that the step waits for, in the unit of the time: the rest is compute */
	STEP_COMPUTE,   /* or that rest itself */
	STEP_LEVEL,     /* cluster or GPU: a word */
	STEP_COLUMNS
};

/* What a column is, as people are told: "GPUs". */
extern const char *const step_column_titles[STEP_COLUMNS];
extern const char *const step_column_keys[STEP_COLUMNS];

enum step_batch { STEP_BATCH_UNKNOWN, STEP_BATCH_LOCAL, STEP_BATCH_GLOBAL };

struct step_columns {
	char *names[STEP_COLUMNS]; /* NULL: none */
	enum step_batch batch;
	bool batch_guessed; /* neither name nor option says whether it is that of a GPU, or there is no
			       column: then a batch of 1 is, by whether the time falls with GPUs, that of all
			       or of each */
	char *unit;         /* of times; NULL: not known */
	bool is_rate; /* the time's column has steps a second, by its name or as told: the time is one over */
	bool of_samples; /* or samples of all GPUs a second (or tokens: the time is then in units of a
			    sample's) */
	bool by_digit;   /* placements: a digit is a node */
};

struct step_row {
	struct committee_row row; /* time NAN: not measured */
	char *level;              /* "": the table has no such column */
	size_t line;
};

struct step_table {
	struct step_row *rows;
	size_t count, skipped;
	const char *error; /* where something answers less than 0 */
	struct arena arena;
};

/*
 * Finds the columns that are NULL by their names, the unit by the time's name, the meaning of the batch by
 * its name or its values. NULL, or a sentence: which column is missing and how to name it. Names come from
 * the arena.
 */
const char *step_columns_find(
	struct step_columns *columns, const struct csv *csv, bool with_time, struct arena *arena);

/*
 * The rows; `with_time`: those without a positive time end it. What is impossible (more nodes than GPUs, half
 * a GPU) ends it with line and column, or with `skip_bad` is left out. 0 or -1 with table->error;
 * step_table_free in either case.
 */
int step_table_read(struct step_table *table, const struct csv *csv, const struct step_columns *columns,
	bool with_time, bool skip_bad);
void step_table_free(struct step_table *table);

/* Does a rate's name say steps or iterations? Else it counts samples. */
bool step_column_counts_steps(const char *name);

/* The enum step_column of a name that such tables use, -1: none. */
int step_column_known(const char *name);

/* Seconds in a unit of time, NAN: not known. */
double step_unit_seconds(const char *unit);

#endif
