/*
 * A sheet of cells, filled in any order and written as CSV, row by row. Cells that begin with = are formulas
 * of spreadsheets, with English names of functions and commas.
 */
#ifndef SHEET_H
#define SHEET_H

#include "base/memory.h"

#include <stdbool.h>
#include <stdio.h>

struct sheet {
	struct arena *arena;
	size_t row_count, row_room;
	struct sheet_row {
		size_t count, room;
		char **cells; /* NULL: empty */
		bool *is_formula;
	} * rows;
};

/* The cell's place, rows and columns from 0: "B7". */
const char *sheet_at(struct sheet *sheet, size_t row, size_t column);
/* "B7:B12", with $ before rows and columns. */
const char *sheet_range(struct sheet *sheet, size_t row, size_t column, size_t last_row, size_t last_column);

/* A text, which no spreadsheet takes for a formula; a number; a formula without its =. */
void sheet_text(struct sheet *sheet, size_t row, size_t column, const char *text);
void sheet_number(struct sheet *sheet, size_t row, size_t column, double number);
__attribute__((format(printf, 4, 5))) void sheet_formula(
	struct sheet *sheet, size_t row, size_t column, const char *format, ...);

void sheet_write(const struct sheet *sheet, FILE *out);
void sheet_free(struct sheet *sheet);

#endif
