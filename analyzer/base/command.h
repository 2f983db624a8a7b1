/*
 * A program that is a table of commands: its help, its version, and the command that is asked for. Each
 * command parses its own options, may end the program, and returns the exit status (0 success, 1 failure; a
 * usage error ends with 2).
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include <getopt.h>
#include <stddef.h>

struct command {
	const char *name;
	const char *summary;     /* one line */
	const char *const *help; /* a manual page: texts that follow each other, ends with NULL */
	int (*run)(int argument_count, char **arguments);
};

/* A manual page of one text. */
#define COMMAND_HELP(text) ((const char *const[]){text, NULL})

struct program {
	const char *name;
	const char *about; /* the head of its help, to the table of commands */
	const char *version;
	const char *build; /* the commit, the compiler and what it was built with */
	const struct command *const *commands;
	size_t command_count;
};

/* All of main. What is printed goes through the terminal's filter; the limits of readers are checked first.
 */
int command_main(const struct program *program, int argument_count, char **arguments);

/* Reports a usage error and where help is; ends the program with 2. */
__attribute__((noreturn, format(printf, 2, 3))) void cmd_usage(
	const struct command *command, const char *format, ...);

/* For what getopt_long refuses (opterr is 0): names the option and the nearest that exists; ends the program
 * with 2. */
__attribute__((noreturn)) void cmd_wrong_option(
	const struct command *command, const struct option *options, char **arguments);

#endif
