/*
 * A program that is a table of commands: its help, its version, and the command that is asked for. Each
 * command parses its own options, may end the program, and returns the exit status (0 success, 1 failure; a
 * usage error ends with 2).
 *
 *	static int run(int argument_count, char **arguments)
 *	{
 *		size_t top = 30;
 *
 *		for (int key; (key = command_option(&cmd_kernels, argument_count, arguments)) != -1;)
 *			switch (key) {
 *			case OPTION_TOP:
 *				top = command_count(&cmd_kernels, key, optarg, 1, SIZE_MAX);
 *				break;
 *			default:
 *				command_unhandled(&cmd_kernels, key);
 *			}
 *		... arguments + optind ...
 *	}
 *
 *	const struct command cmd_kernels = {
 *		.name = "kernels",
 *		.summary = "what runs on the devices, by name",
 *		.usage = "[OPTION]... RUN...",
 *		.about = "Prints the kernels of a step, the costliest first.\n",
 *		.options = OPTION_TABLES(rows, cmd_run_rows),
 *		.after = "Exit status: 0 success, 1 no trace, 2 usage error.\n",
 *		.run = run,
 *	};
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include "option.h"

#include <getopt.h>
#include <stddef.h>

/* help.h has what the layout of `about` and `after` is made from. */
struct command {
	const char *name;
	const char *summary;                     /* one line */
	const char *usage;                       /* what follows the name, a line for each form */
	const char *about;                       /* what it does, above the options */
	const struct option_row *const *options; /* OPTION_TABLES */
	bool data;                               /* what it prints is always for programs */
	const char *after;                       /* notes, examples and exit status, below them */
	int (*run)(int argument_count, char **arguments);
};

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

/* The key of the next option, with `optarg`; -1 at the end, `optind` the first that is no option. --help
 * prints and ends with 0; a wrong option ends with 2 and names the nearest. */
int command_option(const struct command *command, int argument_count, char **arguments);

/* A row of the command's tables that its code does not know: a defect of the program, which ends. */
__attribute__((noreturn)) void command_unhandled(const struct command *command, int key);

/* An option's argument: a whole number, or a finite number, from `least` to `most` (at the greatest of the
 * type no limit is named), or the place in a list of words that ends with NULL. Else cmd_usage, with the
 * option's name. */
unsigned long command_count(
	const struct command *command, int key, const char *text, unsigned long least, unsigned long most);
double command_number(const struct command *command, int key, const char *text, double least, double most);
size_t command_word(const struct command *command, int key, const char *text, const char *const *words);

/* The option's name with its dashes, for a sentence about it; lives to the next call. */
const char *command_option_name(const struct command *command, int key);

#endif
