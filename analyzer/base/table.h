/*
 * Tables for people and for programs. A table is described once, by its columns; text, JSON and CSV all come
 * from that description and the rows.
 *
 * Times are kept in ns. In text a table has one unit, chosen from its greatest time; JSON and CSV are always
 * in ns. Numbers in the unit of somebody's measurements, which may be any, are figures.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "memory.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What fills a table may ask for the form: PRINT_HTML has room for more columns than text, and for pictures.
 */
enum print_form { PRINT_TEXT, PRINT_JSON, PRINT_CSV, PRINT_HTML };

enum print_type {
	PRINT_WORD,   /* text, to the left */
	PRINT_COUNT,  /* whole number */
	PRINT_TIME,   /* ns, a double: means have fractions */
	PRINT_SHARE,  /* 1 is shown as 100% */
	PRINT_REAL,   /* a number with three decimals, for ratios */
	PRINT_FIGURE, /* a number with five digits that count, in the unit that the title names */
	PRINT_FLAG,   /* true and false in JSON, 1 and 0 elsewhere */
	PRINT_LIST,   /* words: an array in JSON, separated by blanks elsewhere */
};

struct print_column {
	const char *key;   /* in JSON and CSV; times get "_ns" appended there. NULL: not in JSON */
	const char *title; /* in text; NULL: not shown there */
	enum print_type type;
	int digits;          /* of reals and shares after the point, of figures those that count; 0: as the
				type has it */
	const char *object;  /* NULL, or in JSON the key stands in an object of this name within the row's */
	const char *csv_key; /* NULL: as `key`; "": not in CSV */
	bool of_previous;    /* it says something about the column before it, as an error does: on a narrow
				terminal both stand on one line */
	const char *bar;     /* NULL, or in HTML a bar of this class of the page's styles goes before each
				number, as long as its share of the column's greatest; "": what
				print_piece gave */
	const char *swatch;  /* NULL, or in HTML a square of this class goes before the title */
	bool sign;           /* what is above 0 has a plus sign, where people read it */
};

/* For a list of columns: key, title, type, and whatever else: PRINT_COLUMN("cost", NULL, PRINT_REAL, .digits
 * = 1).
 */
#define PRINT_COLUMN(name, head, ...) \
	{ \
		.key = (name), .title = (head), .type = __VA_ARGS__ \
	}

enum print_shape {
	PRINT_BAR,
	PRINT_INTERVAL, /* a thin line from start to end */
	PRINT_MARK,     /* a line across, at the end */
};

/* Of the picture in a column whose `bar` is "". All cells of the column have one scale, from the least to the
 * greatest of 0 and what the pieces cover, with a line at 0 where that is not the left edge. */
struct print_piece {
	enum print_shape shape;
	double start,
		end; /* in any order; a piece that is not finite, or a bar without length, is not drawn */
	const char *kind; /* class of a bar's colour; lifetime: the table's */
	const char *tip;  /* plain text, or NULL; lifetime: the table's */
	int lane;         /* of bars above each other: 0 is the uppermost */
	struct print_piece *next;
};

/* data-KEY of a row in HTML. */
struct print_data {
	const char *key, *value;
	const struct print_data *next;
};

struct print_cell {
	bool present;
	const char *word;        /* lives as long as the table */
	const char *title;       /* what text has in the word's or number's place, or NULL */
	const char *const *list; /* NULL, or the words of a list, ended by NULL */
	const char *kind;        /* print_colour */
	const char *tip;         /* print_tip */
	struct print_piece *pieces, *last_piece;
	double number;
};

struct print_row {
	struct print_cell *cells;
	const struct print_data *data;
	bool rule; /* a line above it; in HTML the class "rule" */
};

struct print_table {
	struct arena *arena; /* the caller's; the rows live there */
	struct print_column *columns;
	size_t column_count, column_room;
	struct print_row *rows;
	size_t row_count, row_room;
	bool rule; /* the next row gets a line above */
};

void print_init(struct print_table *table, struct arena *arena);
void print_free(struct print_table *table);
size_t print_column(struct print_table *table, const char *key, const char *title, enum print_type type);
/* Columns that stand in a list, which need not live on: the first one's number. */
size_t print_columns(struct print_table *table, const struct print_column *columns, size_t count);
/* After the columns: a new row, then its cells in any order. Cells not set are empty. */
void print_row(struct print_table *table);
void print_word(struct print_table *table, size_t column, const char *word);
/* A word that programs know as `word` and people as `title`. */
void print_term(struct print_table *table, size_t column, const char *word, const char *title);
void print_number(struct print_table *table, size_t column, double number);
/* A number that people know as `title`. */
void print_number_as(struct print_table *table, size_t column, double number, const char *title);
/* The cells from `column` on. */
void print_numbers(struct print_table *table, size_t column, const double *numbers, size_t count);
/* Words that live as long as the table; `count` may be 0. */
void print_list(struct print_table *table, size_t column, const char *const *words, size_t count);

/* The row's colour in HTML, a class of the page's styles that lives as long as the table: of the column's
 * bar, or where it has none of a square before the word. */
void print_colour(struct print_table *table, size_t column, const char *kind);
/* For HTML: what the last row's cell says under the pointer, as plain text. */
void print_tip(struct print_table *table, size_t column, const char *tip);
/* For HTML: what a script finds a row by, as data-KEY; the key lives as long as the table, the value is plain
 * text. */
void print_data(struct print_table *table, size_t row, const char *key, const char *value);
/* The rows that are true in `first`, a word for each, come before the others, both in their order. */
void print_first(struct print_table *table, const bool *first);
/* For HTML: a piece of the last row's picture, in front of those before it. `next` is not read. */
void print_piece(struct print_table *table, size_t column, struct print_piece piece);

/* `title` (may be NULL) gets the unit of time appended: "Phases, ms". Columns without any words in their
 * titles have no line of titles. On a terminal that is narrower than the table, its last columns go below;
 * into a file a row is a line. */
void print_text(const struct print_table *table, const char *title, FILE *out);
void print_csv(const struct print_table *table, FILE *out); /* with a header line */
/* Without it: for rows that follow those of another table with these columns. */
void print_csv_rows(const struct print_table *table, FILE *out);
/* A <table> with the cells of text, which scrolls where it is too wide; a title has the unit of its times. */
void print_html(const struct print_table *table, FILE *out);
/* The rows from `shown` on are folded, below "7 more ranks" for `more` "ranks"; they have the unit and the
 * scale of the others. */
void print_html_folded(const struct print_table *table, size_t shown, const char *more, FILE *out);
cJSON *print_json(const struct print_table *table); /* an array of objects; the caller deletes it */
cJSON *print_json_row(const struct print_table *table, size_t row); /* one of them */

/*
 * One of several tables, in the form that was asked for: added to the object under `key`, or written as CSV
 * or as text under its title. `gap`: an empty line before it, which JSON does not have.
 */
void print_part(const struct print_table *table, enum print_form form, cJSON *object, const char *key,
	const char *title, bool gap, FILE *out);

/* A number by itself: null where there is none. */
void print_json_number(cJSON *object, const char *key, double number);

/* Writes the object and a newline, and deletes it. */
void print_json_end(cJSON *object, FILE *out);

/* Bold where `out` is a terminal and NO_COLOR is not set; else as it is. */
void print_heading(const char *text, FILE *out);

/* A copy of the text on one line, without what a terminal would obey. */
const char *print_clean(struct arena *arena, const char *text);

/* A paragraph, broken at blanks into lines of the terminal's width, at most 200, and of 80 where the stream
 * is none; all but the first begin with `indent` blanks, the first with those of the text. */
void print_paragraph(const char *text, int indent, FILE *out);

/* As many digits as count, in decimal: "0.1235", "13250", where %.4g has 1.325e+04. From 10^15 on, and below 10^-4,
 * an exponent. */
const char *print_figure(struct arena *arena, double number, int digits);

/* "1.234 ms": a single time in the unit that suits it. */
const char *print_time(struct arena *arena, double ns);
/* In the unit that suits another one: for a column. */
const char *print_time_like(struct arena *arena, double ns, double like_ns);

#endif
