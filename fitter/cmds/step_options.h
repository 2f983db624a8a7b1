/* What the commands on training steps share: the options that name columns, reading a table and a model of
 * steps. */
#ifndef STEP_OPTIONS_H
#define STEP_OPTIONS_H

#include "cmd.h"
#include "step/step.h"

#include <getopt.h>

enum { STEP_OPTION_COLUMN = 512, STEP_OPTION_BATCH_IS = STEP_OPTION_COLUMN + STEP_COLUMNS, STEP_OPTION_END };

#define STEP_OPTIONS_LONG \
	{"time", required_argument, NULL, STEP_OPTION_COLUMN + STEP_TIME}, \
		{"batch-column", required_argument, NULL, STEP_OPTION_COLUMN + STEP_BATCH}, \
		{"gpu-column", required_argument, NULL, STEP_OPTION_COLUMN + STEP_GPUS}, \
		{"node-column", required_argument, NULL, STEP_OPTION_COLUMN + STEP_NODES}, \
		{"placement-column", required_argument, NULL, STEP_OPTION_COLUMN + STEP_PLACEMENT}, \
		{"exposed-column", required_argument, NULL, STEP_OPTION_COLUMN + STEP_EXPOSED}, \
		{"compute-column", required_argument, NULL, STEP_OPTION_COLUMN + STEP_COMPUTE}, \
		{"level-column", required_argument, NULL, STEP_OPTION_COLUMN + STEP_LEVEL}, \
	{ \
		"batch-is", required_argument, NULL, STEP_OPTION_BATCH_IS \
	}

/* Of a manual page. */
extern const char step_options_help[];

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

/* What was taken for what, a line each. */
void step_options_print(const struct step_columns *columns, const struct step_table *table);

#endif
