/* What commands on traces say of summaries instead (*.pmsum, of pmanalyze reduce). */
#ifndef CMDS_CMD_SUMMARIES_H
#define CMDS_CMD_SUMMARIES_H

#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the paths are summaries, or folders of them; ends the program if only some are. */
bool cmd_are_summaries(char **paths, size_t path_count);

/* What summaries have of `balance` and of `hang`: the exit status. */
int cmd_summaries_balance(char **paths, size_t path_count, enum print_form form);
int cmd_summaries_hang(char **paths, size_t path_count, enum print_form form);

#endif
