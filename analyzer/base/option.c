/* A command's options: see option.h. */
#include "option.h"
#include "help.h"
#include "suggest.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The option with this letter, else NULL. */
static const struct option *option_of(const struct option *options, int letter)
{
	for (; options->name; options++)
		if (options->val == letter)
			return options;
	return NULL;
}

/* "--sta": it is the beginning of several options, or of none. */
static void unknown(const struct option *options, const char *typed, char text[OPTION_TROUBLE])
{
	const char *names[64], *near;
	char name[64];
	size_t count = 0, alike = 0;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(typed, "="), typed);
	for (; options->name && count < sizeof(names) / sizeof(*names); options++) {
		names[count++] = options->name;
		alike += strncmp(options->name, name, strlen(name)) == 0;
	}
	near = suggest(name, names, count);
	if (alike > 1)
		snprintf(text, OPTION_TROUBLE, "option '--%s' is ambiguous", name);
	else if (near)
		snprintf(text, OPTION_TROUBLE, "unknown option '--%s' (did you mean '--%s'?)", name, near);
	else
		snprintf(text, OPTION_TROUBLE, "unknown option '--%s'", name);
}

void option_trouble(const struct option *options, char **arguments, char text[OPTION_TROUBLE])
{
	const char *typed = arguments[optind - 1];
	const struct option *option = option_of(options, optopt);
	const bool is_long = strncmp(typed, "--", 2) == 0;

	if (is_long && optopt == 0)
		unknown(options, typed + 2, text);
	else if (is_long && option && option->has_arg == no_argument && strchr(typed, '='))
		snprintf(text, OPTION_TROUBLE, "option '--%s' takes no argument", option->name);
	else if (is_long && option && option->has_arg == required_argument && !strchr(typed, '='))
		snprintf(text, OPTION_TROUBLE, "option '--%s' requires an argument", option->name);
	else if (option && option->has_arg == required_argument && typed[0] == '-' && typed[1] == optopt &&
		 !typed[2])
		snprintf(text, OPTION_TROUBLE, "option '-%c' requires an argument", optopt);
	else
		snprintf(text, OPTION_TROUBLE, "unknown option '-%c'", optopt);
}

/* The rows of all tables, headings among them; returns their number. */
static size_t gather(const struct option_row *const *tables, const struct option_row *found[OPTION_MOST])
{
	size_t count = 0;

	for (; *tables; tables++)
		for (const struct option_row *row = *tables; row->name || row->text; row++) {
			bool is_new = true;

			for (size_t i = 0; i < count && row->name && is_new; i++)
				is_new = !found[i]->name || strcmp(found[i]->name, row->name) != 0;
			assert(count < OPTION_MOST);
			if (is_new)
				found[count++] = row;
		}
	return count;
}

static bool is_optional(const struct option_row *row)
{
	return row->argument && row->argument[0] == '[';
}

static bool has_letter(const struct option_row *row)
{
	return row->name && row->key < OPTION_FIRST;
}

/* leading: "+" for options before the first other word alone, or "". */
static int next(const struct option_row *const *tables, const char *leading, int argument_count,
	char **arguments, char text[OPTION_TROUBLE])
{
	const struct option_row *rows[OPTION_MOST];
	struct option options[OPTION_MOST + 2];
	char letters[3 * OPTION_MOST + 2], *letter = stpcpy(letters, leading);
	const size_t row_count = gather(tables, rows);
	size_t count = 0;
	int key;

	for (size_t i = 0; i < row_count; i++) {
		const int kind = !rows[i]->argument     ? no_argument
				 : is_optional(rows[i]) ? optional_argument
							: required_argument;

		if (!rows[i]->name)
			continue;
		options[count++] = (struct option){rows[i]->name, kind, NULL, rows[i]->key};
		if (!has_letter(rows[i]))
			continue;
		*letter++ = (char)rows[i]->key;
		for (int colons = 0; colons < kind; colons++)
			*letter++ = ':';
	}
	*letter = '\0';
	options[count++] = (struct option){"help", no_argument, NULL, OPTION_HELP};
	options[count] = (struct option){0};
	opterr = 0;
	key = getopt_long(argument_count, arguments, letters, options, NULL);
	if (key == OPTION_WRONG)
		option_trouble(options, arguments, text);
	return key;
}

int option_next(const struct option_row *const *tables, int argument_count, char **arguments,
	char text[OPTION_TROUBLE])
{
	return next(tables, "", argument_count, arguments, text);
}

int option_next_leading(const struct option_row *const *tables, int argument_count, char **arguments,
	char text[OPTION_TROUBLE])
{
	return next(tables, "+", argument_count, arguments, text);
}

const struct option_row *option_find(const struct option_row *const *tables, int key)
{
	for (; *tables; tables++)
		for (const struct option_row *row = *tables; row->name || row->text; row++)
			if (row->name && row->key == key)
				return row;
	return NULL;
}

bool option_is(const struct option_row *const *tables, const char *argument, const char *name)
{
	const struct option_row *rows[OPTION_MOST];
	const size_t count = gather(tables, rows), length = strlen(argument);
	size_t meant = 0;

	if (length < 3 || strncmp(argument, "--", 2) != 0 || strncmp(argument + 2, name, length - 2) != 0)
		return false;
	if (strcmp(argument + 2, name) == 0)
		return true;
	for (size_t i = 0; i < count; i++)
		meant += rows[i]->name && strncmp(argument + 2, rows[i]->name, length - 2) == 0;
	return meant == 1 && strncmp(argument + 2, "help", length - 2) != 0;
}

const struct option_row *option_flag(const struct option_row *const *tables, const char *argument)
{
	const struct option_row *rows[OPTION_MOST];
	const size_t count = gather(tables, rows);

	for (size_t i = 0; i < count; i++)
		if (rows[i]->name && !rows[i]->argument && option_is(tables, argument, rows[i]->name))
			return rows[i];
	return NULL;
}

/* "-o, --output FILE"; where others have letters, names are below each other. */
static void term_of(const struct option_row *row, bool letters, char *term, size_t size)
{
	char letter[8] = "";

	if (has_letter(row))
		snprintf(letter, sizeof(letter), "-%c, ", row->key);
	else if (letters)
		snprintf(letter, sizeof(letter), "    ");
	snprintf(term, size, "%s--%s%s%s", letter, row->name, row->argument && !is_optional(row) ? " " : "",
		row->argument ? row->argument : "");
}

void option_help(const struct option_row *const *tables, int width, FILE *out)
{
	const struct option_row *rows[OPTION_MOST];
	const size_t count = gather(tables, rows);
	const int indent = 2;
	bool letters = false;
	int column = indent;
	char term[80];

	for (size_t i = 0; i < count; i++)
		letters |= has_letter(rows[i]);
	for (size_t i = 0; i < count; i++) {
		if (!rows[i]->name)
			continue;
		term_of(rows[i], letters, term, sizeof(term));
		column = help_column(column, indent, (int)strlen(term));
	}
	for (size_t i = 0; i < count; i++) {
		if (rows[i]->name) {
			term_of(rows[i], letters, term, sizeof(term));
			help_item(term, rows[i]->text, indent, column, width, out);
		} else {
			if (i > 0)
				fputc('\n', out);
			help_text(rows[i]->text, width, out);
		}
	}
}
