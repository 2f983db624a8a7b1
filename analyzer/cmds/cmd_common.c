/* What the analyzing commands share: see cmd_common.h. */
#include "cmd_common.h"
#include "analyses/finding/finding.h"
#include "import/imported_timeline.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct option_row cmd_run_rows[] = {
	{"skip", CMD_OPTION_SKIP, "N", "leave out the first N usual iterations (default: 1)"},
	{"steps", CMD_OPTION_STEPS, "A-B",
		"only the steps with these numbers: the program's, or places in the run from 0"},
	{"job", CMD_OPTION_JOB, "N",
		"of several jobs in the traces the N-th (default: the last, of attempts of one job; else list them)"},
	{"records", CMD_OPTION_RECORDS, "N",
		"of a run with more than 3 N records read about N, the beginning and stretches "
		"spread over the run; all: every record, in some 50 bytes of memory each (default: "
		"2000000, half of it for more than 64 ranks, and of each rank at least 100000, or 24 steps where the trace counts them; export, reduce, snap: all)"},
	{"iteration-at", CMD_OPTION_AT, "REGEX",
		"iterations start at calls whose function, kernel, call site (functions, lines of "
		"Python) or module matches (default: found from the calls)"},
	{"iteration-end", CMD_OPTION_END, "REGEX",
		"iterations end at calls that match so (default: found from the calls)"},
	{"iteration-every", CMD_OPTION_EVERY, "N", "N of these calls are one iteration"},
	{"iteration-keep", CMD_OPTION_KEEP, NULL,
		"keep these in the file pmanalyze.iterations beside the traces, which all commands "
		"read"},
	{"comm-pattern", CMD_OPTION_PATTERN, "REGEX",
		"other profilers' traces: kernels whose names match the extended regular expression, or one "
		"of those in a file (@FILE, one a line), also count as communication (default: recorded "
		"collectives, and kernels named after one or of a known library)"},
	{0},
};

void cmd_steps(const struct command *command, const char *argument, int64_t *first, int64_t *last)
{
	char *end;

	errno = 0;
	*first = *last = strtoll(argument, &end, 10);
	if (end != argument && *end == '-')
		*last = strtoll(end + 1, &end, 10);
	if (end == argument || *end || errno || *first < 0 || *last < *first)
		cmd_usage(command, "--steps %s: expected a number, or A-B", argument);
}

static struct iteration_rule rule;
static bool keeps;

const struct iteration_rule *cmd_iteration_rule(void)
{
	return &rule;
}

static void set_say(const struct command *command, const char *what, const char *argument)
{
	char error[ITERATION_RULE_ERROR];

	if (!iteration_rule_set(&rule, what, argument, error))
		cmd_usage(command, "--iteration-%s", error);
}

void cmd_keep_rule(const char *path)
{
	char error[ITERATION_RULE_ERROR];

	if (keeps && iteration_rule_any(&rule) && !iteration_rule_write(&rule, path, error))
		errx(1, "%s", error);
}

/* Of a run that is longer, as nothing is said: a second to read, and 100 MB. */
#define RECORDS 2000000
#define RECORDS_EACH 100000 /* of a rank: some iterations */
#define STEPS_EACH 24       /* so many where a step's records are known: of both ends, and some that are not whole */

static struct timeline_sample sample_of(const struct cmd_options *options)
{
	if (options->records_asked)
		return (struct timeline_sample){.records = options->records};
	if (options->whole)
		return (struct timeline_sample){0};
	return (struct timeline_sample){
		.records = RECORDS, .records_each = RECORDS_EACH, .steps_each = STEPS_EACH};
}

bool cmd_common_option(
	const struct command *command, struct cmd_options *options, int option, const char *argument)
{
	if (cmd_form_option(&options->form, option))
		return true;
	switch (option) {
	case CMD_OPTION_SKIP:
		options->skip = command_count(command, option, argument, 0, SIZE_MAX);
		options->skip_asked = true;
		return true;
	case CMD_OPTION_STEPS:
		options->choose = true;
		cmd_steps(command, argument, &options->first_step, &options->last_step);
		return true;
	case CMD_OPTION_JOB:
		options->job = command_count(command, option, argument, 1, SIZE_MAX);
		return true;
	case CMD_OPTION_RECORDS:
		options->records_asked = true;
		options->records = strcmp(argument, "all") == 0
					   ? 0
					   : command_count(command, option, argument, 1, UINT64_MAX);
		return true;
	case CMD_OPTION_PATTERN:
		options->communication = cmd_pattern(command, argument);
		return true;
	case CMD_OPTION_AT:
		set_say(command, "at", argument);
		return true;
	case CMD_OPTION_END:
		set_say(command, "end", argument);
		return true;
	case CMD_OPTION_EVERY:
		set_say(command, "every", argument);
		return true;
	case CMD_OPTION_KEEP:
		keeps = true;
		return true;
	default:
		return false;
	}
}

/* A figure that rests on another iteration than the user asked for would not say so. */
static void check_skip(const struct run *run, const struct cmd_options *options, const char *path)
{
	const struct analysis *analysis = &run->analysis;

	for (size_t i = 0; options->skip_asked && !options->choose && i < analysis->worker_count; i++)
		if (options->skip > 0 && options->skip >= analysis->workers[i].iterations.alike)
			errx(1, "%s: --skip %zu leaves no iteration: %zu are alike on a rank", path,
				options->skip, analysis->workers[i].iterations.alike);
}

struct run_options cmd_run_options(const struct cmd_options *options)
{
	return (struct run_options){.skip = options->skip,
		.choose = options->choose,
		.first_step = options->first_step,
		.last_step = options->last_step,
		.job = options->job,
		.communication = options->communication,
		.sample = sample_of(options),
		.rule = &rule};
}

void cmd_read_run(struct run *run, const struct cmd_options *options, char **paths, size_t path_count)
{
	struct progress progress;
	struct run_options how = cmd_run_options(options);
	char *error;
	int status;

	how.progress = &progress;
	progress_begin(&progress, "reading");
	status = run_open_as(run, paths, path_count, &how, &error);
	progress_end(&progress);
	if (status < 0)
		errx(1, "%s", error);
	check_skip(run, options, paths[0]);
	cmd_keep_rule(paths[0]);
}

void cmd_note_repeated(char **paths, size_t path_count)
{
	struct stat *status = mem_alloc(path_count, sizeof(*status));

	for (size_t i = 0; i < path_count; i++) {
		bool repeated = false;

		if (stat(paths[i], &status[i]) < 0)
			status[i] = (struct stat){0};
		for (size_t j = 0; status[i].st_ino && !repeated && j < i; j++) {
			repeated =
				status[j].st_ino == status[i].st_ino && status[j].st_dev == status[i].st_dev;
			if (repeated && strcmp(paths[i], paths[j]) == 0)
				warnx("%s: given twice: it is counted as two runs", paths[i]);
			else if (repeated)
				warnx("%s: the same run as %s: it is counted as another one", paths[i],
					paths[j]);
		}
	}
	free(status);
}

struct run *cmd_read_runs(
	const struct cmd_options *options, char **paths, size_t path_count, size_t *run_count)
{
	struct run *runs = mem_alloc(path_count, sizeof(*runs));
	size_t first_file = 0;

	*run_count = 0;
	cmd_note_repeated(paths, path_count);
	for (size_t i = 0; i <= path_count; i++) {
		struct stat status;
		bool folder = i < path_count && stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode);

		/* Files side by side are one run, if they are of one sort. */
		if (i > first_file &&
			(folder || i == path_count ||
				run_is_imported(paths[i]) != run_is_imported(paths[first_file]))) {
			cmd_read_run(&runs[(*run_count)++], options, paths + first_file, i - first_file);
			first_file = i;
		}
		if (folder)
			cmd_read_run(&runs[(*run_count)++], options, paths + i, 1);
		if (folder)
			first_file = i + 1;
	}
	run_disambiguate(runs, *run_count);
	return runs;
}

void cmd_free_runs(struct run *runs, size_t run_count)
{
	for (size_t i = 0; i < run_count; i++)
		run_close(&runs[i]);
	free(runs);
}

bool cmd_labels_alone(struct run *run, cJSON *object, FILE *out)
{
	static const char text[] =
		"The trace has labelled phases only: they give the time of work, but not which call or "
		"message it waits for, so the iteration cannot be replayed from its launches. pmanalyze "
		"slowdown replays such traces from the meaning of the labels.";

	if (!imported_timeline_is_labels(&run->analysis.timeline))
		return false;
	if (object)
		cJSON_AddStringToObject(object, "not_replayed", text);
	else
		print_paragraph(text, 2, out);
	return true;
}

void cmd_findings(struct run *run, enum print_form form, cJSON *object, FILE *out)
{
	struct finding_list findings;

	if (form == PRINT_CSV)
		return;
	findings_find(&run->analysis, &findings);
	if (form == PRINT_TEXT)
		findings_print_first(&findings, out);
	else
		findings_json(&findings, object);
	findings_free(&findings);
}

void cmd_print_warnings(struct run *run)
{
	const char **warnings = run_warnings(run);

	for (size_t i = 0; warnings[i]; i++)
		warnx("%s", warnings[i]);
}

void cmd_end_runs(cJSON *object, struct run *runs, size_t run_count)
{
	if (object)
		print_json_end(object, stdout);
	fflush(stdout);
	for (size_t i = 0; i < run_count; i++)
		cmd_print_warnings(&runs[i]);
	cmd_free_runs(runs, run_count);
}
