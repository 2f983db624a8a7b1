/*
 * CSV (RFC 4180), read as a table and written cell by cell.
 *
 * Read: a header line with names, then lines with as many cells, with quotes, doubled quotes and line breaks
 * inside them. Commas, or semicolons or tabs where the header has those and no comma.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CSV_HINT 128 /* bytes of csv_hint */

struct csv {
	char *path;
	size_t column_count, row_count;
	char **names;
	char **cells;    /* row_count x column_count, blanks around them removed */
	size_t *lines;   /* of each row, from 1, for messages */
	char *text;      /* what the cells point into */
	char error[512]; /* one sentence, where csv_read answers something negative */
};

/* Path "-" is standard input. 0 or -errno with csv->error set; csv_free in either case. */
int csv_read(struct csv *csv, const char *path);
void csv_free(struct csv *csv);

/* The column of that name, or -1. */
ptrdiff_t csv_find(const struct csv *csv, const char *name);

/* After the sentence that there is no such column: " (did you mean 'NAME'?)", or "". */
const char *csv_hint(const struct csv *csv, const char *name, char hint[CSV_HINT]);

/* The cell as a number: 0 if it is one, else -1. Locale is not asked. */
int csv_number(const char *cell, double *number);

/*
 * Written: the cells of a line one after another, then its end. All zero but `out` is the start of one. Units
 * are part of a column's name: "time_ns".
 */
struct csv_line {
	FILE *out;
	bool begun;
};

/* In quotes where need be; NULL: an empty cell. A text that begins with =, +, - or @ and is no number has an
 * apostrophe before it, which spreadsheets take for "not a formula", and csv_read away. */
void csv_put(struct csv_line *line, const char *text);
/* Whole without exponent, else nine digits; an empty cell where there is none. */
void csv_put_number(struct csv_line *line, double number);
void csv_put_numbers(struct csv_line *line, const double *numbers, size_t count);
/* One cell of less than 256 bytes. */
void csv_format(struct csv_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
void csv_end(struct csv_line *line);

#endif
