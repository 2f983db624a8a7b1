/* Sheets of cells: see sheet.h. */
#include "sheet.h"
#include "base/csv.h"
#include "formula_text.h"

#include <stdarg.h>
#include <stdlib.h>

static const char *column_name(struct sheet *sheet, size_t column)
{
	const char *rest = column < 26 ? "" : column_name(sheet, column / 26 - 1);

	return arena_format(sheet->arena, "%s%c", rest, (char)('A' + column % 26));
}

const char *sheet_at(struct sheet *sheet, size_t row, size_t column)
{
	return arena_format(sheet->arena, "%s%zu", column_name(sheet, column), row + 1);
}

const char *sheet_range(struct sheet *sheet, size_t row, size_t column, size_t last_row, size_t last_column)
{
	return arena_format(sheet->arena, "$%s$%zu:$%s$%zu", column_name(sheet, column), row + 1,
		column_name(sheet, last_column), last_row + 1);
}

/* Room up to the cell. */
static void put(struct sheet *sheet, size_t row, size_t column, char *text, bool is_formula)
{
	struct sheet_row *at;

	while (sheet->row_count <= row) {
		at = MEM_PUSH(sheet->rows, sheet->row_count, sheet->row_room);
		*at = (struct sheet_row){0};
	}
	at = &sheet->rows[row];
	if (column >= at->room) {
		size_t room = 2 * column + 8;
		char **cells = arena_alloc(sheet->arena, room, sizeof(*cells));
		bool *flags = arena_alloc(sheet->arena, room, sizeof(*flags));

		for (size_t i = 0; i < at->count; i++) {
			cells[i] = at->cells[i];
			flags[i] = at->is_formula[i];
		}
		*at = (struct sheet_row){at->count, room, cells, flags};
	}
	at->count = column >= at->count ? column + 1 : at->count;
	at->cells[column] = text;
	at->is_formula[column] = is_formula;
}

void sheet_text(struct sheet *sheet, size_t row, size_t column, const char *text)
{
	put(sheet, row, column, arena_format(sheet->arena, "%s", text), false);
}

void sheet_number(struct sheet *sheet, size_t row, size_t column, double number)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	formula_number(out, number);
	fclose(out);
	put(sheet, row, column, arena_format(sheet->arena, "%s", text), false);
	free(text);
}

void sheet_formula(struct sheet *sheet, size_t row, size_t column, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) >= 0)
		put(sheet, row, column, arena_format(sheet->arena, "=%s", text), true);
	va_end(arguments);
	free(text);
}

/* What csv_put has an apostrophe for is a formula here. */
static void put_formula(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++)
		fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, out);
	fputc('"', out);
}

void sheet_write(const struct sheet *sheet, FILE *out)
{
	for (size_t r = 0; r < sheet->row_count; r++) {
		const struct sheet_row *row = &sheet->rows[r];
		struct csv_line line = {.out = out};

		for (size_t c = 0; c < row->count; c++)
			if (row->cells[c] && row->is_formula[c]) {
				fputs(line.begun ? "," : "", out);
				put_formula(out, row->cells[c]);
				line.begun = true;
			} else {
				csv_put(&line, row->cells[c]);
			}
		csv_end(&line);
	}
}

void sheet_free(struct sheet *sheet)
{
	free(sheet->rows);
	*sheet = (struct sheet){0};
}
