/* What the two halves of pmfit compare share. */
#ifndef CMDS_COMPARE_H
#define CMDS_COMPARE_H

#include "compare/comparison.h"
#include "options.h"

/*
 * Reads the sets, all of them before anything is fitted, so that a mistake in the last shows at once. A set
 * is
 * `[NAME=]FILE[,DESCRIPTION]`: a table, with the columns of the options and, on top, of its own description,
 * or a model file (a name in .json). Ends the program with a sentence if one cannot be read. The arguments
 * stay as long as the comparison.
 */
void cmd_compare_sets(
	struct comparison *comparison, const struct options *options, char **arguments, size_t count);

#endif
