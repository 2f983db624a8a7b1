/* Text of --help, filled to a width: see help.h. */
#include "help.h"

#include <string.h>

#define GAP 2
#define LONGEST_TERM 26 /* a longer one has a line of its own */
#define LEAST_TEXT 24   /* columns, beside terms */
#define BELOW 8         /* the indent of a text below its term */

/* Words from a column on, further lines from an indent on. Ends the line. */
static void fill(const char *text, size_t length, int column, int indent, int width, FILE *out)
{
	const char *end = text + length;
	int at = column;

	if (column + (int)length <= width) {
		fprintf(out, "%.*s\n", (int)length, text);
		return;
	}
	while (text < end) {
		const char *blank = memchr(text, ' ', (size_t)(end - text));
		const int word = (int)((blank ? blank : end) - text);

		if (at > column && at + 1 + word > width) {
			fprintf(out, "\n%*s", indent, "");
			at = column = indent;
		} else if (at > column) {
			fputc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", word, text);
		at += word;
		text += word;
		while (text < end && *text == ' ')
			text++;
	}
	fputc('\n', out);
}

int help_column(int column, int indent, int length)
{
	const int wanted = indent + length + GAP;

	return length <= LONGEST_TERM && wanted > column ? wanted : column;
}

/* Where a terminal is too narrow for a column of texts, they begin below their terms. */
static int column_in(int width, int column, int indent)
{
	return width - column < LEAST_TEXT && column > indent + BELOW ? indent + BELOW : column;
}

static void print_item(const char *term, int term_length, const char *text, size_t text_length, int indent,
	int column, int width, FILE *out)
{
	fprintf(out, "%*s%.*s", indent, "", term_length, term);
	if (indent + term_length + GAP > column)
		fprintf(out, "\n%*s", column, "");
	else
		fprintf(out, "%*s", column - indent - term_length, "");
	fill(text, text_length, column, column, width, out);
}

void help_item(const char *term, const char *text, int indent, int column, int width, FILE *out)
{
	size_t length = strcspn(text, "\n");

	column = column_in(width, column, indent);
	print_item(term, (int)strlen(term), text, length, indent, column, width, out);
	for (text += length; *text == '\n'; text += length) {
		length = strcspn(++text, "\n");
		fprintf(out, "%*s", column, "");
		fill(text, length, column, column, width, out);
	}
}

/* The tab that parts the line's term from its text, or NULL. */
static const char *tab_of(const char *line)
{
	return memchr(line, '\t', strcspn(line, "\n"));
}

/* The column of the terms from this line on. */
static int column_of(const char *line)
{
	int column = 0;

	for (const char *tab; (tab = tab_of(line)); line += strcspn(line, "\n"), line += *line == '\n') {
		const int indent = (int)strspn(line, " ");

		column = help_column(column, indent, (int)(tab - line) - indent);
	}
	return column;
}

void help_text(const char *text, int width, FILE *out)
{
	int column = 0;

	while (*text) {
		const int length = (int)strcspn(text, "\n"), indent = (int)strspn(text, " ");
		const char *tab = tab_of(text);

		if (!tab)
			column = 0;
		else if (column == 0)
			column = column_of(text);
		if (tab) {
			print_item(text + indent, (int)(tab - text) - indent, tab + 1,
				(size_t)(text + length - tab - 1), indent, column_in(width, column, indent),
				width, out);
		} else {
			fprintf(out, "%*s", indent, "");
			fill(text + indent, (size_t)(length - indent), indent, indent, width, out);
		}
		text += length + (text[length] == '\n');
	}
}
