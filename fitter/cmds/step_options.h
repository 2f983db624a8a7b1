/* What the commands on training steps share: the options that name columns, reading a table and a model of
 * steps. */
#ifndef STEP_OPTIONS_H
#define STEP_OPTIONS_H

#include "cmd.h"
#include "base/table.h"
#include "step/step.h"

enum {
	STEP_OPTION_COLUMN = OPTION_SHARED,
	STEP_OPTION_BATCH_IS = STEP_OPTION_COLUMN + STEP_COLUMNS,
	STEP_OPTION_RATE,
	STEP_OPTION_END, /* of those that step_options_take takes */
	STEP_OPTION_SKIP_BAD = STEP_OPTION_END,
};

extern const struct option_row step_options_rows[];

/* Takes the option if it is one of these; may end the program. The argument stays. */
bool step_options_take(
	const struct command *command, struct step_columns *columns, int option, char *argument);

/* Finds the columns and reads the rows; ends the program with a sentence where that is impossible. */
void step_options_read(struct step_columns *columns, struct csv *csv, struct step_table *table,
	const char *path, bool with_time, bool skip_bad, struct arena *arena);

/* Is the file a model of `pmfit step`? Then it is read; a wrong one ends the program. Others are left to the
 * library. */
bool step_options_load(const char *path, struct step_model *model);

/* Writes the model; ends the program where that is impossible. */
void step_options_save(const struct step_model *model, const char *path);

/* What was taken for what, a row for each role: an empty table, the columns of a step, and any other. */
void step_options_taken_init(struct print_table *taken, struct arena *arena);
void step_options_taken_step(struct print_table *taken, const struct step_columns *columns);
/* Columns of the table by their names; the note may be "". */
void step_options_taken_row(struct print_table *taken, const char *role, const char *title,
	const char *const *names, size_t count, const char *note);

#endif
