/*
 * A model's formula as text of another language. Each language has calls for powers, logarithms and the
 * greatest of several, and a way to look up a number by a level; the rest, sums and products, is alike in
 * all.
 */
#ifndef FORMULA_TEXT_H
#define FORMULA_TEXT_H

#include "export.h"

#include <stdbool.h>

struct formula_writer;

struct formula_language {
	const char *power, *log_2, *greatest; /* functions: "math.pow" */
	bool greatest_of_two;                 /* it takes two arguments, no more */
	/* The number of the column's level. */
	void (*by_level)(const struct formula_writer *w, size_t column, const double *numbers);
	/* One number where the column is 1, another where it is more. */
	void (*by_one)(const struct formula_writer *w, size_t column, double one, double more);
};

struct formula_writer {
	FILE *out;
	const struct formula_language *language;
	const struct pm_fit_model *model;
	const char *const *names; /* what stands for each of the model's columns */
	const void *context;      /* of the language */
	struct arena *arena;
};

void formula_write(const struct formula_writer *w);

/* A number that reads back as the same; several, with commas between them. */
void formula_number(FILE *out, double number);
void formula_numbers(FILE *out, const double *numbers, size_t count);

/* by_one as C writes it. */
void formula_conditional(const struct formula_writer *w, size_t column, double one, double more);

/* A column's least and greatest value and, where growth beyond them is held, `held` and its powers, steepness
 * and near value; else `loose`. */
void formula_domain(FILE *out, const struct pm_fit_model_column *column, const char *held, const char *loose);

/* The names of a column's levels as strings, each with a comma after it. */
void formula_levels(FILE *out, const struct pm_fit_model_column *column);

/* An identifier for each of these names, NULL for those that are NULL: see export.h. */
const char *const *formula_identifiers(struct arena *arena, const char *const *names, size_t count);
/* An identifier of a text; "model" where nothing is left of it. */
const char *formula_identifier(struct arena *arena, const char *text);

/* A text in double quotes, as C and Python read it; what is no UTF-8 is a question mark. */
void formula_string(FILE *out, const char *text);

/* What stands in the head of each file: unit, rows, error. A sentence. */
const char *formula_about(const struct export *export);

#endif
