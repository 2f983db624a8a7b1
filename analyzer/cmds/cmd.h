/*
 * The commands of pmanalyze, and what they share: each parses its own options, may end the program, and
 * returns the exit code (0 done, 1 could not; wrong usage ends with 2).
 */
#ifndef CMDS_CMD_H
#define CMDS_CMD_H

#include <getopt.h>
#include <stdio.h>

struct command {
	const char *name;
	const char *summary; /* one line */
	const char *help;    /* a manual page */
	int (*run)(int argument_count, char **arguments);
};

extern const struct command cmd_report, cmd_layers, cmd_balance, cmd_comm, cmd_dump, cmd_window, cmd_arrivals,
	cmd_html, cmd_export, cmd_path, cmd_whatif, cmd_model, cmd_compare, cmd_roofline, cmd_reduce,
	cmd_slowdown;

/* Reports a usage error and where help is; ends the program with 2. */
__attribute__((noreturn, format(printf, 2, 3))) void cmd_usage(
	const struct command *command, const char *format, ...);

/* What is wrong with the option at which getopt_long gave '?', and which one may be meant; ends the program
 * with 2. */
__attribute__((noreturn)) void cmd_wrong_option(
	const struct command *command, const struct option *options, char **arguments);

/* A count of at least `least` from an option's argument, or cmd_usage. */
long cmd_number(const struct command *command, const char *option, const char *text, long least);

#endif
