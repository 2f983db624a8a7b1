/* A table without a word about its columns: what they are, which model they allow, and that model. */
#ifndef AUTO_H
#define AUTO_H

#include "formula_words.h"
#include "output/sentences.h"
#include "pm_fit.h"
#include "step_options.h"

/* What a column that is none of a step's is taken for. */
enum auto_kind {
	AUTO_STEP,     /* one of enum step_column */
	AUTO_NUMBER,   /* a setting */
	AUTO_WORD,     /* a setting with levels */
	AUTO_CONSTANT, /* the same in all rows */
	AUTO_RESULT,   /* another time, or a result of the run: by its name */
	AUTO_NEGATIVE, /* numbers, some below 0: no power can be taken of them */
	AUTO_LABEL,    /* another word in nearly every row */
};

struct auto_model {
	struct csv csv;
	struct step_columns columns;
	struct step_table table;
	enum auto_kind *kinds;    /* of the table's columns */
	size_t settings;          /* columns of numbers or words that vary, beside those of a step */
	struct sentences results; /* on settings that are results of the run, or may be */
	bool is_step;             /* else a formula */
	struct step_model step;
	struct pm_fit_model *formula;
	size_t constants;                /* of the formula */
	double held_out, held_out_error; /* its relative error on rows that were left out, and the standard
					    error of that */
	struct formula_beyond beyond[EXPRESSION_COLUMNS];
	size_t beyond_count;
	struct arena arena;
};

/* Reads the table and fits what it allows; ends the program with a sentence where that is nothing. `named`:
 * columns that are known already, NULL: none. */
void auto_fit(struct auto_model *model, const char *path, const struct step_columns *named, bool skip_bad);
void auto_free(struct auto_model *model);

/* Does the file begin as a table, not as JSON? What cannot be read or is no file is none. */
bool auto_is_table(const char *path);

#endif
