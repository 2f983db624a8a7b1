/* Tables of a study: see study_table.h. */
#include "study_table.h"
#include "base/csv.h"
#include "base/html.h"

#include <err.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING 1e-30

static void *need(void *memory)
{
	if (!memory)
		errx(1, "out of memory");
	return memory;
}

static char *format_text(const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) < 0)
		errx(1, "out of memory");
	return text;
}

void study_table_init(
	struct study_table *table, const char *name, const char *title, const char *const *heads)
{
	*table = (struct study_table){.name = name, .title = need(strdup(title))};
	while (heads[table->column_count])
		table->column_count++;
	table->heads = need(calloc(table->column_count, sizeof(*table->heads)));
	for (size_t c = 0; c < table->column_count; c++)
		table->heads[c] = need(strdup(heads[c]));
}

void study_table_free(struct study_table *table)
{
	for (size_t c = 0; c < table->column_count; c++)
		free(table->heads[c]);
	for (size_t i = 0; i < table->row_count * table->column_count; i++)
		free(table->cells[i]);
	free(table->heads);
	free(table->cells);
	free(table->title);
	free(table->note);
	*table = (struct study_table){0};
}

void study_table_note(struct study_table *table, const char *format, ...)
{
	va_list list;

	free(table->note);
	va_start(list, format);
	table->note = format_text(format, list);
	va_end(list);
}

void study_table_row(struct study_table *table)
{
	char **row;

	if (table->row_count == table->room) {
		table->room = 2 * table->room + 16;
		table->cells = need(
			realloc(table->cells, table->room * table->column_count * sizeof(*table->cells)));
	}
	row = table->cells + table->row_count++ * table->column_count;
	for (size_t c = 0; c < table->column_count; c++)
		row[c] = need(strdup(""));
}

void study_table_cell(struct study_table *table, size_t column, const char *format, ...)
{
	char **cell = &table->cells[(table->row_count - 1) * table->column_count + column];
	va_list list;

	free(*cell);
	va_start(list, format);
	*cell = format_text(format, list);
	va_end(list);
}

void study_table_number(struct study_table *table, size_t column, double number, int digits)
{
	/* what a penalty has driven out is 0 to a reader */
	if (isfinite(number))
		study_table_cell(table, column, "%.*g", digits, fabs(number) < NOTHING ? 0 : number);
}

static const char *cell(const struct study_table *table, size_t row, size_t column)
{
	return table->cells[row * table->column_count + column];
}

/* Columns of names are to the left, those of numbers to the right. */
static int is_number(const struct study_table *table, size_t column)
{
	double number;

	for (size_t row = 0; row < table->row_count; row++)
		if (*cell(table, row, column) && csv_number(cell(table, row, column), &number) < 0)
			return 0;
	return 1;
}

void study_table_text(const struct study_table *table, FILE *out)
{
	fprintf(out, "%s\n", table->title);
	for (size_t row = 0; row <= table->row_count; row++) {
		fputc(' ', out);
		for (size_t c = 0; c < table->column_count; c++) {
			const char *text = row ? cell(table, row - 1, c) : table->heads[c];
			size_t width = strlen(table->heads[c]);

			for (size_t r = 0; r < table->row_count; r++)
				if (strlen(cell(table, r, c)) > width)
					width = strlen(cell(table, r, c));
			if (is_number(table, c))
				fprintf(out, " %*s", (int)width, text);
			else if (c + 1 < table->column_count)
				fprintf(out, " %-*s", (int)width, text);
			else
				fprintf(out, " %s", text);
		}
		fputc('\n', out);
	}
	if (table->note)
		fprintf(out, "%s\n", table->note);
	fputc('\n', out);
}

void study_table_csv(const struct study_table *table, FILE *out)
{
	struct csv_line line = {.out = out};

	for (size_t row = 0; row <= table->row_count; row++) {
		for (size_t c = 0; c < table->column_count; c++)
			csv_put(&line, row ? cell(table, row - 1, c) : table->heads[c]);
		csv_end(&line);
	}
}

void study_table_html(const struct study_table *table, FILE *out)
{
	fprintf(out, "<h2>");
	html_text(table->title, out);
	fputs("</h2>\n<div class=\"scroll\"><table class=\"list\">\n", out);
	for (size_t row = 0; row <= table->row_count; row++) {
		fputs(row ? "<tr>" : "<thead><tr>", out);
		for (size_t c = 0; c < table->column_count; c++) {
			fprintf(out, "<%s%s>", row ? "td" : "th", is_number(table, c) ? "" : " class=\"l\"");
			html_text(row ? cell(table, row - 1, c) : table->heads[c], out);
			fputs(row ? "</td>" : "</th>", out);
		}
		fputs(row ? "</tr>\n" : "</tr></thead><tbody>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
	if (table->note) {
		fputs("<p>", out);
		html_text(table->note, out);
		fputs("</p>\n", out);
	}
}

cJSON *study_table_json(const struct study_table *table)
{
	cJSON *object = cJSON_CreateObject(), *rows;

	cJSON_AddStringToObject(object, "title", table->title);
	if (table->note)
		cJSON_AddStringToObject(object, "note", table->note);
	rows = cJSON_AddArrayToObject(object, "rows");
	for (size_t row = 0; row < table->row_count; row++) {
		cJSON *one = cJSON_CreateObject();

		for (size_t c = 0; c < table->column_count; c++) {
			const char *text = cell(table, row, c);
			double number;

			if (!*text)
				cJSON_AddNullToObject(one, table->heads[c]);
			else if (csv_number(text, &number) == 0)
				cJSON_AddNumberToObject(one, table->heads[c], number);
			else
				cJSON_AddStringToObject(one, table->heads[c], text);
		}
		cJSON_AddItemToArray(rows, one);
	}
	return object;
}
