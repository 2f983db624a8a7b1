/*
 * Space files: which trials a sweep can make. A space file is a description (description.h) with more lines,
 * so that the table of a sweep is fitted with the same file:
 *
 *     time iteration_ms ms
 *     intrinsic kernel lr             # roles, as in any description
 *     categorical padding
 *     extrinsic gpus
 *     levels kernel 2 3 4 5           # what the column can be
 *     range lr 0.00001 0.1 log        # or between two numbers: log, integer
 *     levels padding valid same
 *     words padding valid=no same=yes # what the program wants to be told instead
 *     let left = 28 - kernel + 1      # a number of the trial's, for rules (space_rule.h)
 *     require left > 3                # other trials are not planned
 *     refusal 2 does not fit          # the program's own: exit status, and a word of its output (any)
 *     command train --kernel {kernel} ...
 *     time-from regex:took ([0-9.]+) ms
 */
#ifndef SPACE_FILE_H
#define SPACE_FILE_H

#include "description.h"

struct space_file_column {
	char *name;
	enum pm_fit_role role;
	char **levels; /* ended by NULL; NULL: a range */
	char **words;  /* for each level what stands in the command; NULL: the level itself */
	size_t level_count;
	double least, greatest;
	bool logarithmic, integer;
};

struct space_file_rule {
	char *name; /* of a let; NULL: it is required */
	char *text;
};

struct space_file_refusal {
	int status;
	char *word; /* NULL: any output */
};

struct space_file {
	char *path;
	struct description description;
	struct space_file_column *columns; /* in the order of their levels */
	size_t column_count;
	struct space_file_rule *rules;
	size_t rule_count;
	struct space_file_refusal *refusals;
	size_t refusal_count;
	char *command, *time_from; /* NULL where there is none */
};

/*
 * The path of a space: a name without '/' that is no file is looked for among those that came with this
 * program. The caller frees it; NULL without memory.
 */
char *space_file_find(const char *name);

/* Reads the file that is found so. NULL, or what is wrong, in one sentence valid until the thread's next
 * call; space_file_free in either case. */
const char *space_file_read(struct space_file *space, const char *path);
void space_file_free(struct space_file *space);

/* Whether the rules allow a trial of these values, one a column. NULL, or a sentence. */
const char *space_file_allows(const struct space_file *space, char *const *values, bool *allowed);

/* True of the words that begin lines of space files only. */
bool space_file_word(const char *word);

/* The combinations of all levels, if there are less than 2^53 and no range; else 0. */
size_t space_file_combinations(const struct space_file *space);

#endif
