/*
 * The user's rule for iterations: where they begin or end, by a regular expression, and how many of those
 * that are found make one. A call matches by its function, its kernel's name, its call site (functions, and
 * lines of Python as "train.py:30") or its module. Matching calls without other computation between them
 * count once.
 *
 * It may be kept in a file beside the traces, a line for each: "at REGEX", "end REGEX", "every N"; '#' begins
 * a comment.
 */
#ifndef RECONSTRUCT_ITERATION_RULE_H
#define RECONSTRUCT_ITERATION_RULE_H

#include "timeline/timeline.h"

#include <regex.h>

#define ITERATION_RULE_FILE "pmanalyze.iterations"
#define ITERATION_RULE_ERROR 512 /* bytes of a sentence */

struct iteration_rule {
	char *at, *end; /* as given; NULL: not */
	regex_t at_pattern, end_pattern;
	size_t every; /* 0: not given */
};

static inline bool iteration_rule_any(const struct iteration_rule *rule)
{
	return rule && (rule->at || rule->end || rule->every);
}

/* what: "at", "end" or "every". False: the value is wrong, and `error` says how. */
bool iteration_rule_set(
	struct iteration_rule *rule, const char *what, const char *value, char error[ITERATION_RULE_ERROR]);
void iteration_rule_free(struct iteration_rule *rule);

/* From the file in the folder, or beside the file, `path`. 1: read, 0: there is none, -1: it is wrong. */
int iteration_rule_read(struct iteration_rule *rule, const char *path, char error[ITERATION_RULE_ERROR]);
/* Writes it there; false, with the error. */
bool iteration_rule_write(
	const struct iteration_rule *rule, const char *path, char error[ITERATION_RULE_ERROR]);

bool iteration_rule_matches(
	const regex_t *pattern, const struct timeline *timeline, const struct timeline_operation *operation);

#endif
