/* The options that the fitting commands share: what the columns mean, and how to fit. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "cmd.h"
#include "data/identity.h"
#include "data/observations.h"
#include "output/sentences.h"

struct options {
	struct description description;
	struct pm_fit_parameter parameter;
	bool lambda_powers_given, penalty_given, json, quiet;
};

enum {
	OPTION_TIME = OPTION_SHARED,
	OPTION_RATE,
	OPTION_ROLE, /* the first of the roles' */
	OPTION_SPLIT = OPTION_ROLE + 8,
	OPTION_SHARE,
	OPTION_SKIP_BAD,
	OPTION_METHOD,
	OPTION_SCALE,
	OPTION_PENALTY,
	OPTION_LAMBDA,
	OPTION_LAMBDA_POWERS,
	OPTION_PENALTY_SCALED,
	OPTION_BOUNDS, /* coefficients, categorical, constant, powers */
	OPTION_SEEDS = OPTION_BOUNDS + 4,
	OPTION_SEED,
	OPTION_EVALUATIONS,
	OPTION_POPULATION,
	OPTION_TOLERANCE,
	OPTION_NO_POLISH,
	OPTION_THREADS,
};

/* What the columns mean; how to fit. --json and --quiet, which are taken too, stand in a command's own rows
 * with the letters as keys. */
extern const struct option_row options_columns[], options_fit[];

void options_init(struct options *options);
void options_free(struct options *options);
/* Takes the option if it is one of these; may end the program. */
bool options_take(const struct command *command, struct options *options, int option, char *argument);
/* After the last: what follows from several of them. */
void options_end(const struct command *command, struct options *options);

/* Reads and checks the table; ends the program with a sentence if it cannot be fitted. */
void options_read_table(struct options *options, const char *path, struct observations *observations);

/* The flag that Ctrl-C sets from here on; a second Ctrl-C ends the program. */
const int *options_catch_interrupt(void);

/* One more sentence: a column that is the time in other words. */
void options_say_result(
	struct sentences *said, const struct pm_fit_problem *problem, const struct identity *found);

#endif
