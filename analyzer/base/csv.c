/* CSV: see csv.h. */
#include "csv.h"
#include "limit.h"
#include "suggest.h"
#include "text_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((format(printf, 3, 4))) int fail(struct csv *csv, int status, const char *format, ...)
{
	int used = snprintf(csv->error, sizeof(csv->error), "%s: ", csv->path ? csv->path : "?");
	va_list list;

	va_start(list, format);
	vsnprintf(csv->error + used, sizeof(csv->error) - (size_t)used, format, list);
	va_end(list);
	return status;
}

static int read_all(struct csv *csv, const char *path)
{
	size_t size;
	const char *bad = text_file_read(path, &csv->text, &size);

	if (bad) {
		snprintf(csv->error, sizeof(csv->error), "%s", bad);
		return -EIO;
	}
	if (strlen(csv->text) != size)
		return fail(csv, -EINVAL, "byte %zu is zero: expected text", strlen(csv->text));
	return 0;
}

/* Where the parser is. Cells are cut out of the text in place. */
struct parser {
	struct csv *csv;
	char *at, *out;
	size_t line;
	char separator;
	char **cells;
	size_t count, room;
};

/* A limit's sentence says where. */
static int limited(struct csv *csv, const char *met)
{
	snprintf(csv->error, sizeof(csv->error), "%s", met);
	return -EFBIG;
}

static char *trim(char *begin, char *end)
{
	while (begin < end && (*begin == ' ' || *begin == '\t'))
		begin++;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	return begin;
}

static int push(struct parser *parser, char *cell)
{
	if (parser->count == parser->room) {
		size_t room = 2 * parser->room + 64;
		const char *met = pm_limit_memory(parser->room * sizeof(char *));
		char **more = met ? NULL : realloc(parser->cells, room * sizeof(*more));

		if (met)
			return limited(parser->csv, met);
		if (!more)
			return fail(parser->csv, -ENOMEM, "out of memory");
		parser->cells = more;
		parser->room = room;
	}
	parser->cells[parser->count++] = cell;
	return 0;
}

/* Is the text, after apostrophes and blanks, what a spreadsheet computes? */
static bool is_formula(const char *text)
{
	double number;

	text += strspn(text, "' \t\r\n");
	return *text && strchr("=+-@", *text) && text[1] && csv_number(text, &number) != 0;
}

/* One cell; what ended it goes to *end: the separator, a newline or 0. */
static int parse_cell(struct parser *parser, char *end)
{
	char *begin, *out, *at = parser->at;
	bool quoted = false;

	while (*at == ' ')
		at++;
	begin = out = at;
	if (*at == '"') {
		size_t line = parser->line;

		quoted = true;
		for (at++; *at != '"' || at[1] == '"'; at++) {
			if (!*at)
				return fail(parser->csv, -EINVAL, "line %zu: unterminated quote", line);
			parser->line += *at == '\n';
			at += *at == '"';
			*out++ = *at;
		}
		at++;
		while (*at == ' ')
			at++;
		if (*at && *at != parser->separator && *at != '\n' && *at != '\r')
			return fail(parser->csv, -EINVAL, "line %zu: '%c' after a closing quote",
				parser->line, *at);
	} else {
		while (*at && *at != parser->separator && *at != '\n' && *at != '\r')
			at++;
		out = at;
	}
	if (*at == '\r' && at[1] == '\n')
		*at++ = '\0';
	*end = *at;
	parser->at = *at ? at + 1 : at;
	/* after the end has been read: the zero may be written over it */
	if (quoted)
		*out = '\0';
	else
		begin = trim(begin, out);
	if (*begin == '\'' && is_formula(begin))
		begin++;
	return push(parser, begin);
}

/* A line's cells, appended; a blank line has none. */
static int parse_line(struct parser *parser)
{
	char end = '\0';
	int status;
	const char *at = parser->at;

	while (*at == ' ' || *at == '\r')
		at++;
	if (*at == '\n' || !*at) {
		parser->at += at - parser->at + (*at == '\n');
		parser->line++;
		return 0;
	}
	do
		status = parse_cell(parser, &end);
	while (status == 0 && end == parser->separator);
	parser->line++;
	return status;
}

static int parse_header(struct csv *csv, struct parser *parser)
{
	size_t length = strcspn(parser->at, "\n");
	int status;

	parser->separator = memchr(parser->at, ',', length)    ? ','
			    : memchr(parser->at, ';', length)  ? ';'
			    : memchr(parser->at, '\t', length) ? '\t'
							       : ',';
	while (*parser->at && parser->count == 0)
		if ((status = parse_line(parser)) < 0)
			return status;
	if (parser->count == 0)
		return fail(csv, -EINVAL, "the file is empty: expected a header line");
	csv->names = parser->cells;
	csv->column_count = parser->count;
	parser->cells = NULL;
	parser->count = parser->room = 0;
	pm_limit_at(parser->line);
	if ((double)csv->column_count > pm_limit_value(PM_LIMIT_COLUMNS))
		return limited(csv, pm_limit_met(PM_LIMIT_COLUMNS));
	for (size_t i = 0; i < csv->column_count; i++) {
		if (!*csv->names[i])
			return fail(csv, -EINVAL, "line 1: column %zu has no name", i + 1);
		if (csv_find(csv, csv->names[i]) != (ptrdiff_t)i)
			return fail(csv, -EINVAL, "line 1: duplicate column name %s", csv->names[i]);
	}
	return 0;
}

static int parse(struct csv *csv)
{
	struct parser parser = {.csv = csv, .at = csv->text, .line = 1};
	size_t room = 0;
	int status;

	if (strncmp(parser.at, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
		parser.at += 3;
	if (*parser.at == '{')
		return fail(csv, -EINVAL, "this is JSON: expected a table of runs (CSV)");
	status = parse_header(csv, &parser);
	while (status == 0 && *parser.at) {
		size_t before = parser.count, line = parser.line;

		status = parse_line(&parser);
		if (status < 0 || parser.count == before)
			continue;
		if (parser.count - before != csv->column_count) {
			status = fail(csv, -EINVAL, "line %zu has %zu cells: expected %zu, as in the header",
				line, parser.count - before, csv->column_count);
			break;
		}
		if (csv->row_count == room) {
			size_t *more = realloc(csv->lines, (room = 2 * room + 64) * sizeof(*more));

			if (!more) {
				status = fail(csv, -ENOMEM, "out of memory");
				break;
			}
			csv->lines = more;
		}
		csv->lines[csv->row_count++] = line;
	}
	csv->cells = parser.cells;
	if (status == 0 && csv->row_count == 0)
		status = fail(csv, -EINVAL, "header without samples");
	return status;
}

int csv_read(struct csv *csv, const char *path)
{
	int status;

	*csv = (struct csv){.path = strdup(strcmp(path, "-") == 0 ? "standard input" : path)};
	if (!csv->path) {
		snprintf(csv->error, sizeof(csv->error), "%.400s: out of memory", path);
		return -ENOMEM;
	}
	status = read_all(csv, path);
	if (status < 0)
		return status;
	pm_limit_begin(csv->path ? csv->path : "?", 0, "line");
	status = parse(csv);
	pm_limit_end();
	return status;
}

void csv_free(struct csv *csv)
{
	free(csv->path);
	free(csv->names);
	free(csv->cells);
	free(csv->lines);
	free(csv->text);
	*csv = (struct csv){0};
}

ptrdiff_t csv_find(const struct csv *csv, const char *name)
{
	for (size_t i = 0; i < csv->column_count; i++)
		if (strcmp(csv->names[i], name) == 0)
			return (ptrdiff_t)i;
	return -1;
}

const char *csv_hint(const struct csv *csv, const char *name, char hint[CSV_HINT])
{
	const char *near = suggest(name, (const char *const *)csv->names, csv->column_count);

	snprintf(hint, CSV_HINT, near ? " (did you mean '%.100s'?)" : "%s", near ? near : "");
	return hint;
}

int csv_number(const char *cell, double *number)
{
	char *end;

	*number = NAN;
	if (!*cell)
		return -1;
	*number = strtod(cell, &end);
	return *end || !isfinite(*number) ? -1 : 0;
}

/* Whether a reader, which takes the blanks around a cell away, would have it otherwise. */
static bool needs_quotes(const char *text)
{
	return strpbrk(text, ",\"\n\r\t") || *text == ' ' || (*text && text[strlen(text) - 1] == ' ');
}

void csv_put(struct csv_line *line, const char *text)
{
	if (line->begun)
		fputc(',', line->out);
	line->begun = true;
	if (!text)
		return;
	if (!needs_quotes(text) && !is_formula(text)) {
		fputs(text, line->out);
		return;
	}
	fputs(is_formula(text) ? "\"'" : "\"", line->out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', line->out);
		fputc(*text, line->out);
	}
	fputc('"', line->out);
}

void csv_format(struct csv_line *line, const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	csv_put(line, text);
}

void csv_put_number(struct csv_line *line, double number)
{
	if (!isfinite(number))
		csv_put(line, NULL);
	else
		csv_format(line, number == floor(number) && fabs(number) < 9e15 ? "%.0f" : "%.9g", number);
}

void csv_put_numbers(struct csv_line *line, const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		csv_put_number(line, numbers[i]);
}

void csv_end(struct csv_line *line)
{
	fputc('\n', line->out);
	line->begun = false;
}
