/* The options that the fitting commands share: what the columns mean, and how to fit. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "cmd.h"
#include "data/observations.h"

#include <getopt.h>

struct options {
	struct description description;
	struct pm_fit_parameter parameter;
	bool lambda_powers_given, penalty_given, json, quiet;
};

/* For getopt_long: OPTIONS_SHORT behind a command's own letters, OPTIONS_LONG among its rows. The numbers
 * are above those of characters. */
enum {
	OPTION_TIME = 256,
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
	OPTION_JSON,
	OPTION_QUIET,
	OPTION_OWN, /* a command's own begin here */
};

#define OPTIONS_SHORT "d:jq"
#define OPTIONS_LONG \
	{"description", required_argument, NULL, 'd'}, {"time", required_argument, NULL, OPTION_TIME}, \
		{"rate", required_argument, NULL, OPTION_RATE}, \
		{"ignored", required_argument, NULL, OPTION_ROLE + PM_FIT_IGNORED}, \
		{"intrinsic", required_argument, NULL, OPTION_ROLE + PM_FIT_INTRINSIC}, \
		{"categorical", required_argument, NULL, OPTION_ROLE + PM_FIT_CATEGORICAL}, \
		{"extrinsic", required_argument, NULL, OPTION_ROLE + PM_FIT_EXTRINSIC}, \
		{"factor", required_argument, NULL, OPTION_ROLE + PM_FIT_FACTOR}, \
		{"offset", required_argument, NULL, OPTION_ROLE + PM_FIT_OFFSET}, \
		{"split", required_argument, NULL, OPTION_SPLIT}, \
		{"share", required_argument, NULL, OPTION_SHARE}, \
		{"skip-bad", no_argument, NULL, OPTION_SKIP_BAD}, \
		{"method", required_argument, NULL, OPTION_METHOD}, \
		{"scale", required_argument, NULL, OPTION_SCALE}, \
		{"penalty", required_argument, NULL, OPTION_PENALTY}, \
		{"lambda", required_argument, NULL, OPTION_LAMBDA}, \
		{"lambda-powers", required_argument, NULL, OPTION_LAMBDA_POWERS}, \
		{"penalty-scaled", no_argument, NULL, OPTION_PENALTY_SCALED}, \
		{"bounds-coefficients", required_argument, NULL, OPTION_BOUNDS}, \
		{"bounds-categorical", required_argument, NULL, OPTION_BOUNDS + 1}, \
		{"bounds-constant", required_argument, NULL, OPTION_BOUNDS + 2}, \
		{"bounds-powers", required_argument, NULL, OPTION_BOUNDS + 3}, \
		{"seeds", required_argument, NULL, OPTION_SEEDS}, \
		{"seed", required_argument, NULL, OPTION_SEED}, \
		{"evaluations", required_argument, NULL, OPTION_EVALUATIONS}, \
		{"population", required_argument, NULL, OPTION_POPULATION}, \
		{"tolerance", required_argument, NULL, OPTION_TOLERANCE}, \
		{"no-polish", no_argument, NULL, OPTION_NO_POLISH}, \
		{"threads", required_argument, NULL, OPTION_THREADS}, {"json", no_argument, NULL, 'j'}, \
	{ \
		"quiet", no_argument, NULL, 'q' \
	}

/* What a manual page says of them. */
extern const char options_help_columns[], options_help_fit[];

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

#endif
