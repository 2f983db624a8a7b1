/*
 * What the user says of iterations: where they begin or end, by a regular expression, and how many of those
 * that are found make one. A call matches by its function, its kernel's name, its call site (functions, and
 * lines of Python as "train.py:30") or its module. Matching calls without other computation between them
 * count once.
 *
 * It may be kept in a file beside the traces, a line for each: "at REGEX", "end REGEX", "every N"; '#' begins
 * a comment.
 */
#ifndef RECONSTRUCT_ITERATION_SAY_H
#define RECONSTRUCT_ITERATION_SAY_H

#include "timeline/timeline.h"

#include <regex.h>

#define ITERATION_SAY_FILE "pmanalyze.iterations"
#define ITERATION_SAY_ERROR 512 /* bytes of a sentence */

struct iteration_say {
	char *at, *end; /* as given; NULL: not */
	regex_t at_pattern, end_pattern;
	size_t every; /* 0: not said */
};

static inline bool iteration_say_any(const struct iteration_say *say)
{
	return say && (say->at || say->end || say->every);
}

/* what: "at", "end" or "every". False: the value is wrong, and `error` says how. */
bool iteration_say_set(
	struct iteration_say *say, const char *what, const char *value, char error[ITERATION_SAY_ERROR]);
void iteration_say_free(struct iteration_say *say);

/* From the file in the folder, or beside the file, `path`. 1: read, 0: there is none, -1: it is wrong. */
int iteration_say_read(struct iteration_say *say, const char *path, char error[ITERATION_SAY_ERROR]);
/* Writes it there; false, with the error. */
bool iteration_say_write(const struct iteration_say *say, const char *path, char error[ITERATION_SAY_ERROR]);

bool iteration_say_matches(
	const regex_t *pattern, const struct timeline *timeline, const struct timeline_operation *operation);

#endif
