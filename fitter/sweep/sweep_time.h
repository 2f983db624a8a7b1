/*
 * Where a trial's time is read: what `--time-from` says.
 *
 *     capture[:SKIP]       `pmanalyze export --observations` of the traces in {out}: the column named as
 *                          the space's time; SKIP usual iterations at the start are left out (1)
 *     regex:PATTERN        of the program's output: the first group (or all) of each match
 *     csv:FILE[:COLUMN]    a table that the program writes: the column, or the space's time
 *     json:FILE:KEY.KEY    a number or an array of numbers
 *     wall                 the command's own duration, in seconds
 *
 * Of several numbers the median is taken. FILE can have the command's placeholders.
 */
#ifndef SWEEP_TIME_H
#define SWEEP_TIME_H

#include "data/space_file.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

enum sweep_time_kind {
	SWEEP_TIME_CAPTURE,
	SWEEP_TIME_REGEX,
	SWEEP_TIME_CSV,
	SWEEP_TIME_JSON,
	SWEEP_TIME_WALL,
};

/* The least iterations that a capture's median is of. */
#define SWEEP_TIME_ITERATIONS 3

struct sweep_time {
	enum sweep_time_kind kind;
	char *skip;       /* capture */
	regex_t pattern;  /* regex */
	char *file, *key; /* csv, json; the key may be NULL */
	char *column;     /* of capture, and of csv without one */
};

/* NULL, or what is wrong, in one sentence valid until the thread's next call; sweep_time_free in either case.
 */
const char *sweep_time_init(struct sweep_time *from, const char *text, const char *column);
void sweep_time_free(struct sweep_time *from);

/*
 * The time that a file says: the output of the command (regex), or of pmanalyze (capture), or the FILE with
 * its placeholders filled in. NULL, or a sentence.
 */
const char *sweep_time_read(const struct sweep_time *from, const char *path, double *time);

/*
 * What a capture says of numbers that were asked for: writes into `note` the first that is another, such as a
 * placeholder at the wrong option would make it. False if there is none.
 */
bool sweep_time_differs(
	const char *path, const struct space_file *space, char *const *values, char *note, size_t size);

#endif
