/*
 * A table from a CSV file: a header line with names, then lines with as many cells (RFC 4180: quotes, doubled
 * quotes and line breaks inside them). Commas, or semicolons or tabs where the header has those and no comma.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stddef.h>

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

/* Behind the sentence that there is no such column: " (did you mean 'NAME'?)", or "". */
const char *csv_hint(const struct csv *csv, const char *name, char hint[CSV_HINT]);

/* The cell as a number: 0 if it is one, else -1. Locale is not asked. */
int csv_number(const char *cell, double *number);

#endif
