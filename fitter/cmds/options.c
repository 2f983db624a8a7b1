/* The options that the fitting commands share: see options.h. */
#include "options.h"
#include "data/identity.h"
#include "model/enum_names.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option_row options_columns[] = {
	{NULL, 0, NULL,
		"Column roles, as options or as lines of a description file (later ones override; a LIST is "
		"separated by commas, in the file by blanks; in the file the names have no dashes and # "
		"starts a comment):"},
	{"description", 'd', "FILE", "read a description file"},
	{"time", OPTION_TIME, "COLUMN[,UNIT]", "the measured time; UNIT is any word"},
	{"rate", OPTION_RATE, "COLUMN[,UNIT]", "instead: a rate, the inverse of the time"},
	{"intrinsic", OPTION_ROLE + PM_FIT_INTRINSIC, "LIST",
		"a*I^p, added: kernel size, filters, learning rate"},
	{"categorical", OPTION_ROLE + PM_FIT_CATEGORICAL, "LIST",
		"a coefficient per level, added: padding, data set"},
	{"extrinsic", OPTION_ROLE + PM_FIT_EXTRINSIC, "LIST", "E^q, multiplies the sum: GPUs, batch"},
	{"factor", OPTION_ROLE + PM_FIT_FACTOR, "LIST", "a factor per level, multiplies the sum: GPU model"},
	{"offset", OPTION_ROLE + PM_FIT_OFFSET, "LIST", "a known part of the time, in the same unit"},
	{"ignored", OPTION_ROLE + PM_FIT_IGNORED, "LIST", "unused, as are columns not named"},
	{"split", OPTION_SPLIT, "COLUMN[,WORD]",
		"rows with value WORD (train) are fitted, the others are test rows"},
	{"share", OPTION_SHARE, "X[,SEED]", "instead: fit this share of the rows, drawn at random"},
	{"skip-bad", OPTION_SKIP_BAD, NULL,
		"skip rows with missing or impossible values, without a positive time, or to test with a "
		"level that no fitted row has, and report their count"},
	{0},
};

const struct option_row options_fit[] = {
	{NULL, 0, NULL, "Fit options:"},
	{"method", OPTION_METHOD, "NAME",
		"jso (default): adaptive differential evolution; varpro: search over powers, "
		"solve for coefficients; de: differential evolution with SciPy's defaults, for comparison"},
	{"scale", OPTION_SCALE, "all|inputs|none",
		"divide the numeric inputs and the time (all, default), the inputs, or nothing (as "
		"published) by their geometric means; bounds apply in these units"},
	{"lambda", OPTION_LAMBDA, "X", "penalty on coefficients and powers, default 0; C is not penalised"},
	{"lambda-powers", OPTION_LAMBDA_POWERS, "X", "separate lambda for powers"},
	{"penalty", OPTION_PENALTY, "l1|l2", "lambda times the sum of |x| or of x^2 (default)"},
	{"penalty-scaled", OPTION_PENALTY_SCALED, NULL,
		"penalise parameters in scaled units, so that lambda acts equally on each; default: as "
		"published"},
	{"bounds-coefficients", OPTION_BOUNDS, "A,B", "default 0,1000"},
	{"bounds-categorical", OPTION_BOUNDS + 1, "A,B", "default 0,1000"},
	{"bounds-constant", OPTION_BOUNDS + 2, "A,B", "of C; default 0,1000"},
	{"bounds-powers", OPTION_BOUNDS + 3, "A,B", "default -5,5"},
	{"seeds", OPTION_SEEDS, "N", "independent runs (10 in 'fit', 2 in 'path')"},
	{"seed", OPTION_SEED, "N",
		"first seed, default 1. Results are bit-identical on one machine for the same seed, with "
		"any --threads"},
	{"evaluations", OPTION_EVALUATIONS, "N",
		"cost evaluations per run; default 8000 per parameter (jso), 15015 (de), 500 per "
		"power (varpro)"},
	{"population", OPTION_POPULATION, "N", "default: set by the method"},
	{"tolerance", OPTION_TOLERANCE, "X",
		"de: stop when the standard deviation of the costs is below X times their mean, default "
		"0.01"},
	{"no-polish", OPTION_NO_POLISH, NULL, "no local search after each run"},
	{"threads", OPTION_THREADS, "N", "default: one per processor"},
	{0},
};

void options_init(struct options *options)
{
	*options = (struct options){0};
	description_init(&options->description);
	pm_fit_defaults(&options->parameter);
}

void options_free(struct options *options)
{
	description_free(&options->description);
}

/* An option as the line of a description that it stands for. */
static void describe(
	const struct command *command, struct options *options, const char *word, const char *argument)
{
	const char *bad;
	char *line;

	if (asprintf(&line, "%s %s", word, argument) < 0)
		errx(1, "out of memory");
	bad = description_line(&options->description, line);
	if (bad)
		cmd_usage(command, "--%s", bad);
	free(line);
}

static void take_bounds(
	const struct command *command, struct pm_fit_parameter *p, int option, const char *argument)
{
	double *const bounds[][2] = {{&p->coefficient_lower, &p->coefficient_upper},
		{&p->categorical_lower, &p->categorical_upper}, {&p->constant_lower, &p->constant_upper},
		{&p->power_lower, &p->power_upper}};
	double *const *const bound = bounds[option - OPTION_BOUNDS];
	char *copy = strdup(argument), *comma = copy ? strchr(copy, ',') : NULL;

	if (!comma)
		cmd_usage(command, "%s %s: expected two numbers, such as 0,1000",
			command_option_name(command, option), argument);
	*comma = '\0';
	if (csv_number(copy, bound[0]) < 0 || csv_number(comma + 1, bound[1]) < 0)
		cmd_usage(command, "%s %s: expected two numbers, such as 0,1000",
			command_option_name(command, option), argument);
	if (!(*bound[0] <= *bound[1]))
		cmd_usage(command, "%s %s: expected the lower bound first",
			command_option_name(command, option), argument);
	free(copy);
}

static bool take_column_option(
	const struct command *command, struct options *options, int option, char *argument)
{
	const char *bad;

	if (option >= OPTION_ROLE && option <= OPTION_ROLE + PM_FIT_OFFSET) {
		describe(command, options, enum_names_roles[option - OPTION_ROLE], argument);
		return true;
	}
	switch (option) {
	case 'd':
		bad = description_read(&options->description, argument);
		if (bad)
			errx(1, "%s", bad);
		return true;
	case OPTION_TIME:
		describe(command, options, "time", argument);
		return true;
	case OPTION_RATE:
		describe(command, options, "rate", argument);
		return true;
	case OPTION_SPLIT:
		describe(command, options, "split", argument);
		return true;
	case OPTION_SHARE:
		describe(command, options, "share", argument);
		return true;
	case OPTION_SKIP_BAD:
		options->description.skip_bad = true;
		return true;
	default:
		return false;
	}
}

static bool take_penalty_option(
	const struct command *command, struct options *options, int option, char *argument)
{
	struct pm_fit_parameter *p = &options->parameter;

	switch (option) {
	case OPTION_PENALTY:
		p->penalty =
			(enum pm_fit_penalty)command_word(command, option, argument, enum_names_penalties);
		options->penalty_given = true;
		return true;
	case OPTION_LAMBDA:
		p->lambda_coefficients = command_number(command, option, argument, 0, DBL_MAX);
		return true;
	case OPTION_LAMBDA_POWERS:
		p->lambda_powers = command_number(command, option, argument, 0, DBL_MAX);
		options->lambda_powers_given = true;
		return true;
	case OPTION_PENALTY_SCALED:
		p->penalty_scaled = 1;
		return true;
	default:
		return false;
	}
}

bool options_take(const struct command *command, struct options *options, int option, char *argument)
{
	struct pm_fit_parameter *p = &options->parameter;

	if (take_column_option(command, options, option, argument) ||
		take_penalty_option(command, options, option, argument))
		return true;
	switch (option) {
	case OPTION_METHOD:
		p->method = (enum pm_fit_method)command_word(command, option, argument, enum_names_methods);
		return true;
	case OPTION_SCALE:
		p->scale = (enum pm_fit_scale)command_word(command, option, argument, enum_names_scales);
		return true;
	case OPTION_BOUNDS:
	case OPTION_BOUNDS + 1:
	case OPTION_BOUNDS + 2:
	case OPTION_BOUNDS + 3:
		take_bounds(command, p, option, argument);
		return true;
	case OPTION_SEEDS:
		p->run_count = command_count(command, option, argument, 1, ULONG_MAX);
		return true;
	case OPTION_SEED:
		p->seed = command_count(command, option, argument, 0, ULONG_MAX);
		return true;
	case OPTION_EVALUATIONS:
		p->evaluations = command_count(command, option, argument, 1, ULONG_MAX);
		return true;
	case OPTION_POPULATION:
		p->population = command_count(command, option, argument, 4, ULONG_MAX);
		return true;
	case OPTION_TOLERANCE:
		p->tolerance = command_number(command, option, argument, 0, DBL_MAX);
		return true;
	case OPTION_NO_POLISH:
		p->polish = 0;
		return true;
	case OPTION_THREADS:
		p->thread_count = command_count(command, option, argument, 1, ULONG_MAX);
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'q':
		options->quiet = true;
		return true;
	default:
		return false;
	}
}

void options_end(const struct command *command, struct options *options)
{
	struct pm_fit_parameter *p = &options->parameter;

	if (!options->lambda_powers_given)
		p->lambda_powers = p->lambda_coefficients;
	if (!options->penalty_given && (p->lambda_coefficients > 0 || p->lambda_powers > 0))
		p->penalty = PM_FIT_L2;
	if (options->description.split && options->description.share < 1)
		cmd_usage(command, "--split and --share are mutually exclusive");
}

static void print_warning(void *context, const char *sentence)
{
	(void)context;
	warnx("%s", sentence);
}

void options_say_result(
	struct sentences *said, const struct pm_fit_problem *problem, const struct identity *found)
{
	const char *others = "alone";

	for (size_t i = 0; i < found->other_count; i++)
		others = arena_format(said->arena, "%s %s",
			i ? arena_format(said->arena, "%s and", others) : "with",
			problem->columns[found->others[i]].name);
	sentences_add(said,
		"%s %s gives the time exactly: it is a result of the run, not a setting, and a model of it predicts nothing",
		problem->columns[found->column].name, others);
}

static void warn_of_results(const struct pm_fit_problem *problem, const char *path)
{
	struct arena arena = {0};
	struct sentences said = {.arena = &arena};

	for (size_t i = 0; i < problem->column_count; i++) {
		struct identity found;

		if (identity_find(problem, i, &found))
			options_say_result(&said, problem, &found);
	}
	for (size_t i = 0; i < said.count; i++)
		warnx("%s: %s", path, said.items[i]);
	arena_free(&arena);
}

void options_read_table(struct options *options, const char *path, struct observations *observations)
{
	struct csv csv;
	const char *bad;

	if (csv_read(&csv, path) < 0)
		errx(1, "%s", csv.error);
	options->description.refuse_zero = options->parameter.power_lower < 0;
	if (observations_init(observations, &csv, &options->description) < 0)
		errx(1, "%s", observations->error);
	csv_free(&csv);
	bad = pm_fit_check(&observations->train, &options->parameter);
	if (bad)
		errx(1, "%s: %s", path, bad);
	if (observations->skipped)
		warnx("%s: %zu rows skipped: missing or impossible values, or a level without a fitted row",
			path, observations->skipped);
	if (!options->quiet)
		pm_fit_warn(&observations->train, &options->parameter, print_warning, NULL);
	if (!options->quiet)
		warn_of_results(&observations->train, path);
}

static int interrupted;

static void interrupt(int number)
{
	(void)number;
	__atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
}

const int *options_catch_interrupt(void)
{
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};

	sigaction(SIGINT, &action, NULL);
	return &interrupted;
}
