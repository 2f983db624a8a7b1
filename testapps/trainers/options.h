/*
 * Command-line options from a table: a row says name, kind, where the value goes and what it means. The value
 * found there before parsing is the default, so the help text cannot disagree with the program.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

enum option_kind {
	OPTION_END,    /* the table's last row */
	OPTION_FLAG,   /* int *: 0, or 1 when given */
	OPTION_INT,    /* int *, between min and max */
	OPTION_NUMBER, /* double *, between min and max */
	OPTION_CHOICE, /* int *: index into the words of `argument`, which | separates */
	OPTION_TEXT,   /* const char **; NULL is "none" */
	OPTION_PATH,   /* the same, where each process of a run may have its own */
};

struct option_setting {
	enum option_kind kind;
	const char *name;     /* without the two dashes */
	const char *argument; /* placeholder, or the choices: "after|overlap" */
	void *value;
	double min, max;
	const char *help;
};

/* One section of options; the sections end with one whose title is NULL. */
struct option_section {
	const char *title;
	const struct option_setting *rows;
};

/*
 * Sets the values from argv ("--name value" or "--name=value"). Exits: 0 after --help (a manual page from
 * `about`, the sections and `notes`), 2 with one sentence for anything that the tables do not allow. `about`
 * is "name - what it does" in its first line.
 */
void options_parse(
	int argc, char **argv, const char *about, const struct option_section *sections, const char *notes);

/*
 * A number for the values of all options but the paths, and for `more`: alike for the same values, and for
 * others another one, but for a chance of 2^-64.
 */
uint64_t options_hash(const struct option_section *sections, const char *more);

#endif
