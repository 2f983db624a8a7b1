/* The option tables' parser and manual page: see options.h. */
#include "options.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 7, HELP_COLUMN = 31, HELP_WIDTH = 100 };

static const struct option_setting *find(const struct option_section *sections, const char *name, size_t length)
{
	for (; sections->title; sections++)
		for (const struct option_setting *row = sections->rows; row->kind != OPTION_END; row++)
			if (strlen(row->name) == length && !strncmp(row->name, name, length))
				return row;
	return NULL;
}

/* The `index`th of the words that | separates, or NULL; its length goes to *length. */
static const char *choice(const char *words, int index, size_t *length)
{
	while (index-- > 0) {
		words = strchr(words, '|');
		if (!words)
			return NULL;
		words++;
	}
	*length = strcspn(words, "|");
	return words;
}

static void set(const struct option_setting *row, const char *text)
{
	char *end = NULL;
	double number = strtod(text, &end);
	int is_number = end != text && *end == '\0';
	size_t length = 0;

	switch (row->kind) {
	case OPTION_TEXT:
	case OPTION_PATH:
		*(const char **)row->value = text;
		return;
	case OPTION_CHOICE:
		for (int i = 0;; i++) {
			const char *word = choice(row->argument, i, &length);

			if (!word)
				errx(2, "--%s %s: expected one of %s", row->name, text, row->argument);
			if (strlen(text) == length && !strncmp(word, text, length)) {
				*(int *)row->value = i;
				return;
			}
		}
	case OPTION_INT:
		if (!is_number || !(number >= row->min && number <= row->max) ||
			number != (double)(int)number)
			errx(2, "--%s %s: expected an integer from %.0f to %.0f", row->name, text, row->min,
				row->max);
		*(int *)row->value = (int)number;
		return;
	case OPTION_NUMBER:
		if (!is_number || !(number >= row->min && number <= row->max))
			errx(2, "--%s %s: expected a number from %g to %g", row->name, text, row->min,
				row->max);
		*(double *)row->value = number;
		return;
	case OPTION_FLAG:
	case OPTION_END:
		break;
	}
}

/* Prints words from a column on, at which further lines begin too. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column > indent && column + 1 + length > HELP_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		column += printf("%.*s", length, text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_row(const struct option_setting *row)
{
	int column = printf("       --%s %s", row->name, row->argument ? row->argument : "");
	char text[1024];
	size_t length = 0;
	const char *word = "";

	if (column >= HELP_COLUMN) {
		putchar('\n');
		column = 0;
	}
	printf("%*s", HELP_COLUMN - column, "");
	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_END:
		snprintf(text, sizeof(text), "%s (default: off)", row->help);
		break;
	case OPTION_INT:
		snprintf(text, sizeof(text), "%s (%.0f to %.0f; default: %d)", row->help, row->min, row->max,
			*(int *)row->value);
		break;
	case OPTION_NUMBER:
		snprintf(text, sizeof(text), "%s (%g to %g; default: %g)", row->help, row->min, row->max,
			*(double *)row->value);
		break;
	case OPTION_CHOICE:
		word = choice(row->argument, *(int *)row->value, &length);
		snprintf(text, sizeof(text), "%s (default: %.*s)", row->help, (int)length, word);
		break;
	case OPTION_TEXT:
	case OPTION_PATH:
		word = *(const char **)row->value;
		snprintf(text, sizeof(text), "%s (default: %s)", row->help, word ? word : "none");
		break;
	}
	print_wrapped(text, HELP_COLUMN);
}

static void print_manual(const char *about, const struct option_section *sections, const char *notes)
{
	int name_length = (int)strcspn(about, " ");
	int line_length = (int)strcspn(about, "\n");

	printf("NAME\n       %.*s\n\nSYNOPSIS\n       %.*s [OPTION]...\n", line_length, about, name_length,
		about);
	printf("\nDESCRIPTION\n%*s", INDENT, "");
	print_wrapped(about + line_length + 1, INDENT);
	for (; sections->title; sections++) {
		printf("\n%s\n", sections->title);
		for (const struct option_setting *row = sections->rows; row->kind != OPTION_END; row++)
			print_row(row);
	}
	printf("\n%s", notes);
}

void options_parse(
	int argc, char **argv, const char *about, const struct option_section *sections, const char *notes)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i] + 2;
		const char *equals = strchr(argv[i], '=');
		const struct option_setting *row = NULL;

		if (!strcmp(argv[i], "--help")) {
			print_manual(about, sections, notes);
			exit(0);
		}
		if (!strncmp(argv[i], "--", 2))
			row = find(sections, name, equals ? (size_t)(equals - name) : strlen(name));
		if (!row)
			errx(2, "unknown option '%s' (see --help)", argv[i]);
		if (row->kind == OPTION_FLAG && equals)
			errx(2, "option '--%s' takes no argument", row->name);
		if (row->kind == OPTION_FLAG) {
			*(int *)row->value = 1;
		} else if (equals) {
			set(row, equals + 1);
		} else if (i + 1 < argc) {
			set(row, argv[++i]);
		} else {
			errx(2, "option '--%s' requires an argument", row->name);
		}
	}
}

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3;
	return hash;
}

/* With the text's end, so that neighbours cannot run together. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text) + 1) : hash;
}

static uint64_t hash_row(uint64_t hash, const struct option_setting *row)
{
	hash = hash_text(hash, row->name);
	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_INT:
	case OPTION_CHOICE:
		return hash_bytes(hash, row->value, sizeof(int));
	case OPTION_NUMBER:
		return hash_bytes(hash, row->value, sizeof(double));
	case OPTION_TEXT:
		return hash_text(hash, *(const char **)row->value);
	case OPTION_PATH:
	case OPTION_END:
		break;
	}
	return hash;
}

uint64_t options_hash(const struct option_section *sections, const char *more)
{
	uint64_t hash = hash_text(0xcbf29ce484222325, more);

	for (; sections->title; sections++)
		for (const struct option_setting *row = sections->rows; row->kind != OPTION_END; row++)
			hash = hash_row(hash, row);
	return hash;
}
