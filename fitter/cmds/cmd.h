/*
 * The commands of pmfit, and what they share: each parses its own options, may end the program, and returns
 * the exit code (0 done, 1 could not; wrong usage ends with 2).
 */
#ifndef CMD_H
#define CMD_H

#include <getopt.h>

struct command {
	const char *name;
	const char *summary;     /* one line */
	const char *const *help; /* a manual page: texts that follow each other, ends with NULL */
	int (*run)(int argument_count, char **arguments);
};

extern const struct command cmd_fit, cmd_path, cmd_baselines, cmd_predict, cmd_sweep, cmd_search, cmd_compare,
	cmd_guide, cmd_strategy, cmd_html, cmd_study;

/* Says what is wrong with the command line and where help is; ends the program with 2. */
__attribute__((noreturn, format(printf, 2, 3))) void cmd_usage(
	const struct command *command, const char *format, ...);

/* For what getopt_long refuses (opterr is 0): names the option and the nearest that exists; ends with 2. */
__attribute__((noreturn)) void cmd_wrong_option(
	const struct command *command, const struct option *options, char **arguments);

/* A whole number or a number of at least `least` from an option's argument, or cmd_usage. */
unsigned long cmd_count(
	const struct command *command, const char *option, const char *text, unsigned long least);
double cmd_number(const struct command *command, const char *option, const char *text, double least);

#endif
