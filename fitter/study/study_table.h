/* Tables of a study: cells of text under headings, which print as text, CSV, JSON and HTML. */
#ifndef STUDY_TABLE_H
#define STUDY_TABLE_H

#include <cjson/cJSON.h>
#include <stdio.h>

struct study_table {
	const char *name;   /* of its file */
	char *title, *note; /* the note may be NULL */
	size_t column_count, row_count, room;
	char **heads; /* column_count */
	char **cells; /* row_count x column_count; "" is nothing */
};

/* Without memory the program ends. Heads: the names of the columns, ended by NULL. */
void study_table_init(
	struct study_table *table, const char *name, const char *title, const char *const *heads);
void study_table_free(struct study_table *table);
void study_table_note(struct study_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A further row of empty cells; then its cells, from column 0. */
void study_table_row(struct study_table *table);
void study_table_cell(struct study_table *table, size_t column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A number of that many digits; nothing where it is none. */
void study_table_number(struct study_table *table, size_t column, double number, int digits);

void study_table_text(const struct study_table *table, FILE *out);
void study_table_csv(const struct study_table *table, FILE *out);
void study_table_html(const struct study_table *table, FILE *out);
/* {"title": ..., "note": ..., "rows": [{head: cell, ...}, ...]}: numbers as such. */
cJSON *study_table_json(const struct study_table *table);

#endif
