/* pmfit sweep: plans and runs trials, and collects their times. */
#include "sweep.h"
#include "base/terminal.h"
#include "model/enum_names.h"
#include "sweep/sweep_command.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Between the lines of progress where there is no terminal. */
#define LINE_SECONDS 30

static void print_left(const struct sweep_run *run, FILE *out)
{
	double left = run->finished ? run->seconds / (double)run->finished * (double)run->left : 0;
	const size_t *counts = run->table->counts;

	fprintf(out, "%zu of %zu trials", counts[SWEEP_DONE] + counts[SWEEP_FAILED],
		counts[SWEEP_DONE] + counts[SWEEP_FAILED] + run->left);
	if (counts[SWEEP_FAILED])
		fprintf(out, ", %zu failed", counts[SWEEP_FAILED]);
	if (counts[SWEEP_IMPOSSIBLE])
		fprintf(out, ", %zu impossible", counts[SWEEP_IMPOSSIBLE]);
	if (run->finished && left < 100)
		fprintf(out, "; %.0f s left", left);
	else if (run->finished && left < 6000)
		fprintf(out, "; %.0f min left", left / 60);
	else if (run->finished)
		fprintf(out, "; %.1f h left", left / 3600);
}

static void show(void *context, const struct sweep_run *run)
{
	struct sweep_request *request = context;
	bool terminal = isatty(STDERR_FILENO);

	if (run->seconds - request->printed < (terminal ? 0.2 : LINE_SECONDS))
		return;
	request->printed = run->seconds;
	if (terminal)
		pm_terminal_clear();
	else
		fputs("pmfit sweep: ", stderr);
	print_left(run, stderr);
	if (!terminal)
		fputc('\n', stderr);
}

enum {
	TRIALS = OPTION_FIRST,
	DESIGN,
	SEED,
	JOBS,
	TIMEOUT,
	RETRIES,
	GIVE_UP,
	AGAIN,
	TIME_FROM,
	FOLDER,
	KEEP,
};

static int word(const char *option, const char *argument, const char *const *words)
{
	int found = enum_names_find(words, argument);

	if (found < 0)
		cmd_usage(&cmd_sweep, "%s %s: expected %s, %s or %s", option, argument, words[0], words[1],
			words[2]);
	return found;
}

static void take_option(struct sweep_request *request, int option, char *argument)
{
	static const char *const designs[] = {"random", "lhs", "full", NULL}, *const keeps[] = {"nothing",
										      "failed", "all", NULL};

	switch (option) {
	case TRIALS:
		request->trials = command_count(&cmd_sweep, option, argument, 1, ULONG_MAX);
		break;
	case DESIGN:
		request->design = (enum sweep_design)word("--design", argument, designs);
		break;
	case SEED:
		request->seed = command_count(&cmd_sweep, option, argument, 0, ULONG_MAX);
		break;
	case JOBS:
		request->run.jobs = command_count(&cmd_sweep, option, argument, 1, ULONG_MAX);
		break;
	case TIMEOUT:
		request->run.timeout = command_number(&cmd_sweep, option, argument, 0, DBL_MAX);
		break;
	case RETRIES:
		request->run.retries = command_count(&cmd_sweep, option, argument, 0, ULONG_MAX);
		break;
	case GIVE_UP:
		request->run.give_up = command_count(&cmd_sweep, option, argument, 0, ULONG_MAX);
		break;
	case AGAIN:
		request->again = true;
		break;
	case TIME_FROM:
		request->time_from = argument;
		break;
	case FOLDER:
		request->run.folder = argument;
		break;
	case KEEP:
		request->run.keep = (enum sweep_keep)word("--keep", argument, keeps);
		break;
	case 'o':
		free(request->table_path);
		request->table_path = strdup(argument);
		break;
	case 'n':
		request->dry_run = true;
		break;
	case 'c':
		request->csv = true;
		break;
	case 'j':
		request->json = true;
		break;
	case 'q':
		request->quiet = true;
		break;
	}
}

/* The names that follow from that of the space. */
static void name_files(struct sweep_request *request)
{
	char *copy = strdup(request->space.path), *name = copy ? basename(copy) : NULL, *dot;

	if (!name)
		errx(1, "out of memory");
	dot = strrchr(name, '.');
	if (dot && dot > name)
		*dot = '\0';
	if (!request->table_path && asprintf(&request->table_path, "%s.csv", name) < 0)
		errx(1, "out of memory");
	free(copy);
	if (request->run.folder)
		return;
	if (asprintf(&request->folder, "%s.runs", request->table_path) < 0)
		errx(1, "out of memory");
	request->run.folder = request->folder;
}

static void prepare(struct sweep_request *request, char **arguments, int count)
{
	const char *bad = space_file_read(&request->space, arguments[0]);
	const char *from;

	request->name = arguments[0];
	if (bad)
		errx(1, "%s", bad);
	if (count > 1)
		request->run.command = arguments + 1;
	else if (request->space.command)
		request->run.command = request->split = sweep_command_split(request->space.command);
	else
		cmd_usage(&cmd_sweep, "expected a command after --, since %s has none", request->space.path);
	if (!request->run.command || !request->run.command[0])
		cmd_usage(&cmd_sweep, "the command is empty");
	from = request->time_from         ? request->time_from
	       : request->space.time_from ? request->space.time_from
					  : "capture";
	bad = sweep_time_init(&request->time, from, request->space.description.time);
	if (bad)
		cmd_usage(&cmd_sweep, "%s", bad);
	if (!request->trials && request->design != SWEEP_FULL)
		request->trials = 1500;
	bad = sweep_plan_init(&request->plan, &request->space, request->design, request->seed,
		request->trials, request->run.command, from);
	if (bad)
		errx(1, "%s", bad);
	request->run.plan = &request->plan;
	request->run.time = &request->time;
	bad = sweep_run_check(&request->run);
	if (bad)
		cmd_usage(&cmd_sweep, "%s", bad);
	name_files(request);
}

static int sweep(struct sweep_request *request)
{
	struct sweep_run *run = &request->run;
	int status;

	if (sweep_table_open(&request->table, request->table_path, &request->plan, request->again) < 0)
		errx(1, "%s", request->table.error);
	if (request->table.cut)
		warnx("%s: incomplete last line (%zu bytes) removed; the trial runs again",
			request->table_path, request->table.cut);
	run->table = &request->table;
	if (!request->quiet) {
		run->progress = show;
		run->context = request;
	}
	status = sweep_run(run);
	if (run->progress && isatty(STDERR_FILENO))
		pm_terminal_clear();
	sweep_print_summary(request);
	if (run->interrupted)
		warnx("interrupted; rerun the same command to resume");
	else if (status < 0)
		warnx("stopped: %s", run->error);
	return status < 0 || request->table.counts[SWEEP_DONE] == 0;
}

static int run_sweep(int argument_count, char **arguments)
{
	struct sweep_request request = {
		.seed = 1, .table.file = -1, .run = {.jobs = 1, .timeout = 600, .retries = 1, .give_up = 10}};
	int option, status = 0;

	while ((option = command_option(&cmd_sweep, argument_count, arguments)) != -1) {
		take_option(&request, option, optarg);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_sweep, "expected a space");
	prepare(&request, arguments + optind, argument_count - optind);
	if (request.dry_run)
		sweep_print_plan(&request);
	else
		status = sweep(&request);
	sweep_table_close(&request.table);
	sweep_time_free(&request.time);
	sweep_plan_free(&request.plan);
	space_file_free(&request.space);
	sweep_run_free_arguments(request.split);
	free(request.table_path);
	free(request.folder);
	return status;
}

static const struct option_row rows[] = {
	{NULL, 0, NULL, "What to run:"},
	{"trials", TRIALS, "N", "number of trials, default 1500; with --design full: all"},
	{"design", DESIGN, "NAME",
		"random (default): independent trials, so that --trials can be raised later; lhs: a "
		"Latin hypercube, in which each value of a column is equally frequent; full: all "
		"combinations of levels, once, in random order"},
	{"seed", SEED, "N", "random seed of the plan, default 1"},
	{"jobs", JOBS, "N",
		"concurrent trials, default 1: concurrent trials on one machine disturb the times"},
	{"timeout", TIMEOUT, "SECONDS", "time limit per attempt, default 600; 0: no limit"},
	{"retries", RETRIES, "N", "retries of a failed trial, default 1"},
	{"give-up", GIVE_UP, "N", "stop after N consecutive failed trials, default 10; 0: never"},
	{"again", AGAIN, NULL, "rerun the failed trials of the table"},
	{"dry-run", 'n', NULL, "print the trials' commands (--csv: values; --json: both)"},
	{NULL, 0, NULL, "Source of the time:"},
	{"time-from", TIME_FROM, "WHERE",
		"default: capture, or the setting of the space file; the forms are below"},
	{NULL, 0, NULL, "Output:"},
	{"table", 'o', "FILE", "the table, default: NAME-OF-SPACE.csv"},
	{"folder", FOLDER, "DIR", "folder for traces and outputs, default: TABLE.runs"},
	{"keep", KEEP, "nothing|failed|all", "which of these to keep, default nothing"},
	{"csv", 'c', NULL, "with --dry-run: values as CSV"},
	{"json", 'j', NULL, "summary as JSON: counts, times, its sentences and the next command"},
	{"quiet", 'q', NULL, "no progress"},
	{0},
};

const struct command cmd_sweep = {
	.name = "sweep",
	.summary = "plan and run trials, collect their times",
	.usage = "[OPTION]... SPACE [-- COMMAND [ARGUMENT]...]",
	.about = "SPACE is a file that defines the columns and their possible values (below). For each "
		 "trial the COMMAND (or that of the space file) runs with {COLUMN} replaced by the "
		 "trial's value, {out} by a folder of its own, and {trial} by its number. Its time is "
		 "appended to the table when the trial ends. A sweep stopped by Ctrl-C, kill or power "
		 "loss resumes when the same command is started again. The table is input for 'pmfit fit "
		 "-d SPACE'.\n",
	.options = OPTION_TABLES(rows),
	.after = "WHERE the time comes from:\n"
		 "  capture[:SKIP]\tof traces in {out}: the space's time column of 'pmanalyze export "
		 "--observations', the median of at least three regular iterations after the first SKIP (1)\n"
		 "  regex:PATTERN\tof the output: median over all matches of the group\n"
		 "  csv:FILE[:COLUMN]\tmedian of a column in a table that the command writes; default: the "
		 "space's time column\n"
		 "  json:FILE:KEY.KEY\ta number, or the median of an array of numbers\n"
		 "  wall\trun time of the command, in seconds\n"
		 "\n"
		 "The table has a row per trial: plan (a hash: rows of two plans are never mixed), trial, "
		 "the columns, the time, status (done; failed; impossible: rejected by the program and "
		 "replaced by another trial), attempts, seconds, note (the reason).\n"
		 "\n"
		 "A space file is a description ('pmfit fit --help') with more lines:\n"
		 "  levels COLUMN LEVEL...\tthe possible values of the column\n"
		 "  range COLUMN A B [log] [integer]\tor: any number in this range\n"
		 "  words COLUMN LEVEL=WORD...\twords passed to the command instead of levels\n"
		 "  let NAME = EXPRESSION\ta number computed for each trial, for rules\n"
		 "  require EXPRESSION\ta condition on planned trials: numbers, columns, words, + - * / "
		 "%, comparisons, && || !, floor ceil min max\n"
		 "  refusal STATUS [TEXT]\texit status, and TEXT in the output, by which the program "
		 "rejects a trial as impossible\n"
		 "  command WORD...\tthe command, unless given after --\n"
		 "  time-from WHERE\tas above\n"
		 "  skip-bad\tfor fitting: skip trials without a time\n"
		 "A SPACE that is not a file is looked up among the spaces installed with pmfit: lenet5 "
		 "(1500 trials of LeNet-5 as published) and resattnet (3D-ResAttNet-18).\n"
		 "\n"
		 "Examples:\n"
		 "  pmfit sweep lenet5 --trials 100 -o runs.csv\n"
		 "  pmfit sweep my.space --time-from 'regex:step ([0-9.]+) ms' -- \\\n"
		 "          ./train --batch {batch} --lr {lr}\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, interrupted, or no trial succeeded; 2 usage error.\n",
	.run = run_sweep,
};
