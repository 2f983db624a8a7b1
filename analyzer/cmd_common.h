/* What the analyzing commands share: their common options, and reading runs with the warnings that belong to
 * them. */
#ifndef CMD_COMMON_H
#define CMD_COMMON_H

#include "cmd.h"
#include "print.h"
#include "run.h"

#include <getopt.h>

struct cmd_options {
	enum print_form form;
	size_t skip;
	bool iterations; /* one row for each iteration */
	bool ranks;      /* one row for each rank */
};

#define CMD_OPTIONS \
	{"json", no_argument, NULL, 'j'}, {"csv", no_argument, NULL, 'c'}, \
	{ \
		"skip", required_argument, NULL, 's' \
	}

/* True if the option was one of CMD_OPTIONS. */
bool cmd_common_option(
	const struct command *command, struct cmd_options *options, int option, const char *argument);

/*
 * Reads what the command line names: with folders each is a run; files alone are one run, or one of our own
 * traces and one of other profilers'. Ends the program if a run cannot be read at all.
 */
struct run *cmd_read_runs(
	const struct cmd_options *options, char **paths, size_t path_count, size_t *run_count);
void cmd_free_runs(struct run *runs, size_t run_count);

/* The warnings on stderr, for forms that have no place for them. */
void cmd_print_warnings(struct run *run);

#endif
