/* What the commands with --fail-if-slower share. */
#ifndef CMDS_GATE_H
#define CMDS_GATE_H

#include "analyses/compare/compare_gate.h"
#include "base/command.h"

/* "1%" or "0.01", or cmd_usage. */
double gate_share(const struct command *command, int key, const char *text);

/* The argument of --gate-by, or cmd_usage. */
enum compare_gate_time gate_time(const struct command *command, const char *text);

/* The exit status: 0 not slower, 3 slower, 4 undecided. */
int gate_status(enum slower_answer answer);

#endif
