/* What the analyzing commands share: their common options, and reading runs with the warnings that belong to
 * them. */
#ifndef CMDS_CMD_COMMON_H
#define CMDS_CMD_COMMON_H

#include "base/table.h"
#include "cmd.h"
#include "reconstruct/run.h"

struct cmd_options {
	enum print_form form;
	size_t skip;
	bool skip_asked;
	bool choose; /* steps are asked for: those with these numbers */
	int64_t first_step, last_step;
	size_t job;                   /* of several in a run, from 1; 0: not given */
	bool records_asked;
	uint64_t records; /* of a long run, where asked for; 0: all */
	bool whole;       /* the command needs every record, unless asked otherwise */
	const regex_t *communication; /* NULL, or further communication kernels; lives to the end */
	bool iterations;              /* one row for each iteration */
	bool ranks;                   /* one row for each rank */
	bool calls;                   /* a table of the host's calls */
	bool ranges;                  /* and one of the program's ranges */
};

/* Of cmd_run_rows. */
enum {
	CMD_OPTION_SKIP = CMD_OPTION_KEYS,
	CMD_OPTION_STEPS,
	CMD_OPTION_JOB,
	CMD_OPTION_RECORDS,
	CMD_OPTION_AT, /* where iterations are */
	CMD_OPTION_END,
	CMD_OPTION_EVERY,
	CMD_OPTION_KEEP,
	CMD_OPTION_PATTERN,
};

/* What decides which iterations of a run are read, and how. */
extern const struct option_row cmd_run_rows[];

/* The argument of --steps, a number or "A-B", or cmd_usage. */
void cmd_steps(const struct command *command, const char *argument, int64_t *first, int64_t *last);

/* The argument of --comm-pattern, or cmd_usage; kept to the end of the program. */
const regex_t *cmd_pattern(const struct command *command, const char *argument);

/* True if the option was --json, --csv or one of cmd_run_rows. */
bool cmd_common_option(
	const struct command *command, struct cmd_options *options, int option, const char *argument);

/* What these options gave so far; kept to the end of the program. */
const struct iteration_rule *cmd_iteration_rule(void);

/* How a run is read with these options; without progress. And --iteration-keep, which is of no effect where
 * it was not given: writes the file beside this path, or ends the program. */
struct run_options cmd_run_options(const struct cmd_options *options);
void cmd_keep_rule(const char *path);

/* Reads one run; ends the program if it cannot be read at all. */
void cmd_read_run(struct run *run, const struct cmd_options *options, char **paths, size_t path_count);

/*
 * Reads what the command line names: with folders each is a run; files alone are one run, or one of our own
 * traces and one of other profilers'. Ends the program if a run cannot be read at all.
 */
struct run *cmd_read_runs(
	const struct cmd_options *options, char **paths, size_t path_count, size_t *run_count);
void cmd_free_runs(struct run *runs, size_t run_count);

/* A line on stderr for each path that names what another before it names, as "run" and "run/" do. */
void cmd_note_repeated(char **paths, size_t path_count);

/*
 * True, with a sentence for whoever asked, where the run is labels alone: nothing tells there what a piece of
 * work waits for, which the command replays. In text on `out`, else as a member of `object`.
 */
bool cmd_labels_alone(struct run *run, cJSON *object, FILE *out);

/*
 * The time of a step and what the run loses most time to, as all commands have it: in text a line or two on
 * `out`, else the members "step" and "findings" of `object`; nothing where that is NULL and `form` is not
 * text.
 */
void cmd_findings(struct run *run, enum print_form form, cJSON *object, FILE *out);

/* The warnings on stderr, for forms that have no place for them. */
void cmd_print_warnings(struct run *run);

/* The end of an answer: of a JSON object, unless NULL, and of the runs, whose warnings go after what was
 * printed. */
void cmd_end_runs(cJSON *object, struct run *runs, size_t run_count);

#endif
