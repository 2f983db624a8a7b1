/*
 * A command's options, said once: from a table of rows come the parsing, the help, and from that completions
 * and manual pages (docs/).
 *
 *	enum { OPTION_TOP = OPTION_FIRST };
 *
 *	static const struct option_row rows[] = {
 *		{"top", OPTION_TOP, "N", "kernels in text (default: 30)"},
 *		{"output", 'o', "FILE", "output file (default: standard output)"}, // -o, --output FILE
 *		{"colour", OPTION_COLOUR, "[=WHEN]", "..."}, // its argument may be absent
 *		{NULL, 0, NULL, "Fit options:"}, // a heading
 *		{0},
 *	};
 *
 * Why not glibc's argp: it has no "did you mean", ends the program with its own status, and its layout follows
 * an environment variable.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

struct option_row {
	const char *name;     /* without dashes; NULL: a heading, whose text stands at the margin */
	int key;              /* what option_next returns. A letter is a short option too */
	const char *argument; /* NULL: none; "[=WORD]": may be absent; else what the help calls it */
	const char *text; /* filled to the terminal's width; ends without a full stop; a default is in it */
};

/* The tables of a command, in the order of the help: its own, shared ones. Of rows with one name the first
 * counts, so that a command can give its own text to a shared option. */
#define OPTION_TABLES(...) ((const struct option_row *const[]){__VA_ARGS__, NULL})

enum {
	OPTION_FIRST = 0x100,     /* a command's keys without a letter begin here */
	OPTION_SHARED = 0x1000, /* those of shared tables */
	OPTION_HELP = 0x10000,  /* --help, which no table has */
	OPTION_WRONG = '?',
	OPTION_MOST = 96,    /* rows of a command */
	OPTION_TROUBLE = 200 /* bytes, of a sentence with its end */
};

/* As getopt_long: the key of the next option, `optarg` its argument; -1 at the end, `optind` the first that
 * is no option. OPTION_WRONG: the sentence that says which option is wrong and which one may be meant,
 * without a full stop. */
int option_next(const struct option_row *const *tables, int argument_count, char **arguments,
	char text[OPTION_TROUBLE]);

/* The same, up to the first word that is no option: what is after it belongs to another program. */
int option_next_leading(const struct option_row *const *tables, int argument_count, char **arguments,
	char text[OPTION_TROUBLE]);

/* The row with this key, or NULL. */
const struct option_row *option_find(const struct option_row *const *tables, int key);

/* Whether an argument is the option `name`, as getopt_long takes it: whole, or abbreviated so that no other is
 * meant. */
bool option_is(const struct option_row *const *tables, const char *argument, const char *name);

/* The option without an argument that "--NAME" means; NULL: it means another, none, or several. */
const struct option_row *option_flag(const struct option_row *const *tables, const char *argument);

/* All rows, aligned. */
void option_help(const struct option_row *const *tables, int width, FILE *out);

/* The sentence after getopt_long gave '?' (opterr is 0). */
void option_trouble(const struct option *options, char **arguments, char text[OPTION_TROUBLE]);

#endif
