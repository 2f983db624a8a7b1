/* pmanalyze reduce: a summary of each rank, for jobs too large for one machine. */
#include "cmd_common.h"
#include "analyses/summary/reduce.h"
#include "analyses/summary/summary.h"
#include "base/output.h"
#include "base/terminal.h"

#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	enum print_form form;
	struct run_options analysis;
	size_t jobs;
	const char *output;
	bool mine;
	int32_t rank; /* -1: all */
};

struct row {
	char *name; /* of the summary; NULL: there is none */
	struct reduce_result result;
};

struct work {
	const struct options *options;
	const struct reduce_files *files;
	struct row *rows;
	bool one_file, progress;
	size_t done, failed;
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Thousands of processes may make the same folder at once. */
static void make_folder(const char *path)
{
	struct stat status;
	char *copy = strdup(path);

	if (!copy)
		err(1, "%s", path);
	for (char *at = copy + 1; *at; at++)
		if (*at == '/') {
			*at = 0;
			if (mkdir(copy, 0777) < 0 && errno != EEXIST)
				err(1, "%s", copy);
			*at = '/';
		}
	if (mkdir(copy, 0777) < 0 && errno != EEXIST)
		err(1, "%s", copy);
	if (stat(copy, &status) < 0 || !S_ISDIR(status.st_mode))
		errx(1, "%s: not a folder; a file's name must end in .pmsum", copy);
	free(copy);
}

static void save(struct work *work, const char *name, const void *data, size_t bytes)
{
	int rc = pm_output_write(name, data, bytes);

	if (rc < 0) {
		warnx("%s: %s", name, strerror(-rc));
		work->failed++;
	}
}

/* A summary is written as soon as it is there: what is not there yet would be lost with the process. */
static void cmd_reduce_take(void *context, size_t number, struct reduce_result *result)
{
	struct work *work = context;
	struct row *row = &work->rows[number];

	row->result = *result;
	work->done++;
	if (work->progress)
		pm_terminal_progress("%zu of %zu traces", work->done, work->files->count);
	if (work->progress && work->done == work->files->count)
		pm_terminal_clear();
	if (!result->data) {
		warnx("%s", result->error);
		work->failed++;
		return;
	}
	if (work->one_file) {
		row->name = strdup(work->options->output);
		return;
	}
	row->name = reduce_name(work->files->items[number], work->options->output);
	save(work, row->name, result->data, result->bytes);
}

static void save_together(struct work *work)
{
	size_t bytes = 0, at = 0;
	unsigned char *data;

	for (size_t i = 0; i < work->files->count; i++)
		bytes += work->rows[i].result.bytes;
	if (bytes == 0)
		return;
	data = mem_alloc(bytes, 1);
	for (size_t i = 0; i < work->files->count; i++) {
		if (work->rows[i].result.bytes)
			memcpy(data + at, work->rows[i].result.data, work->rows[i].result.bytes);
		at += work->rows[i].result.bytes;
	}
	save(work, work->options->output, data, bytes);
	free(data);
}

static void fill(struct print_table *table, const struct work *work)
{
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t trace = print_column(table, "trace", "trace", PRINT_WORD);
	size_t bytes = print_column(table, "trace_bytes", "bytes", PRINT_COUNT);
	size_t used = print_column(table, "iterations", "iterations", PRINT_COUNT);
	size_t sampled = print_column(table, "sampled", "sampled", PRINT_COUNT);
	size_t parts = print_column(table, "collectives", "collectives", PRINT_COUNT);
	size_t summary = print_column(table, "summary", "summary", PRINT_WORD);
	size_t summary_size = print_column(table, "summary_bytes", "bytes", PRINT_COUNT);

	for (size_t i = 0; i < work->files->count; i++) {
		const struct row *row = &work->rows[i];

		if (!row->name)
			continue;
		print_row(table);
		if (row->result.rank >= 0)
			print_number(table, rank, row->result.rank);
		print_word(table, trace, work->files->items[i]);
		print_number(table, bytes, (double)row->result.trace_bytes);
		print_number(table, used, (double)row->result.used_count);
		print_number(table, sampled, (double)row->result.sampled);
		print_number(table, parts, (double)row->result.part_count);
		print_word(table, summary, row->name);
		print_number(table, summary_size, (double)row->result.bytes);
	}
}

static void print_result(const struct work *work)
{
	struct arena arena = {0};
	struct print_table table;
	size_t count = 0, bytes = 0;

	for (size_t i = 0; i < work->files->count; i++) {
		count += work->rows[i].name != NULL;
		bytes += work->rows[i].result.bytes;
	}
	print_init(&table, &arena);
	fill(&table, work);
	if (work->options->form == PRINT_JSON) {
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToObject(object, "summaries", print_json(&table));
		print_json_end(object, stdout);
	} else if (work->options->form == PRINT_CSV) {
		print_csv(&table, stdout);
	} else if (count > 0 && !work->options->mine) {
		const char *where = work->options->output ? work->options->output : "beside the traces";

		printf("pmanalyze reduce: %zu summar%s, %.1f KB, %s%s\n", count, count == 1 ? "y" : "ies",
			(double)bytes / 1024, work->options->output ? "in " : "", print_clean(&arena, where));
	}
	print_free(&table);
	arena_free(&arena);
}

enum { OPTION_MINE = OPTION_FIRST, OPTION_RANK, OPTION_JOBS };

static void parse(struct options *how, int argument_count, char **arguments)
{
	struct cmd_options common = {.skip = ANALYSIS_SKIP, .whole = true};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	int option;

	*how = (struct options){.rank = -1};
	while ((option = command_option(&cmd_reduce, argument_count, arguments)) != -1)
		if (option == 'o')
			how->output = optarg;
		else if (option == OPTION_MINE)
			how->mine = true;
		else if (option == OPTION_RANK)
			how->rank = (int32_t)command_count(&cmd_reduce, option, optarg, 0, INT32_MAX);
		else if (option == OPTION_JOBS)
			how->jobs = command_count(&cmd_reduce, option, optarg, 1, SIZE_MAX);
		else if (!cmd_common_option(&cmd_reduce, &common, option, optarg))
			command_unhandled(&cmd_reduce, option);
	how->form = common.form;
	if (common.choose)
		cmd_usage(&cmd_reduce, "--steps: a summary has means of all usual iterations");
	how->analysis.skip = common.skip;
	how->analysis.sample = cmd_run_options(&common).sample;
	how->analysis.rule = cmd_iteration_rule();
	how->analysis.communication = common.communication;
	if (how->output && !*how->output)
		cmd_usage(&cmd_reduce, "-o: the name is empty");
	if (how->output && strcmp(how->output, "-") == 0)
		cmd_usage(&cmd_reduce, "-o -: summaries cannot be written to standard output");
	if (optind >= argument_count)
		cmd_usage(&cmd_reduce, "no trace given");
	if (how->mine && how->rank >= 0)
		cmd_usage(&cmd_reduce, "--mine and --rank are mutually exclusive");
	if (how->jobs == 0)
		how->jobs = processors > 0 ? (size_t)processors : 1;
	if (how->jobs > 1024)
		how->jobs = 1024;
}

static int run_reduce(int argument_count, char **arguments)
{
	struct options how;
	struct reduce_files files = {0};
	struct work work = {.options = &how, .files = &files};
	const char *error;
	int32_t own;

	parse(&how, argument_count, arguments);
	own = how.rank >= 0 ? how.rank : reduce_rank(NULL);
	if (how.mine && own < 0)
		errx(1, "--mine: no launcher variable gives this process's rank (RANK, "
			"OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, SLURM_PROCID)");
	for (int i = optind; i < argument_count; i++) {
		/* Without --mine the rank is only for %r. */
		bool marked = strstr(arguments[i], "%r") != NULL;

		if (reduce_add(&files, arguments[i], how.mine || how.rank >= 0 || marked ? own : -1, &error) <
			0)
			errx(1, "%s", error);
	}
	if (files.count == 0)
		errx(1, "%s: no trace of rank %d among these", arguments[optind], own);
	work.one_file = how.output && ends_with(how.output, ".pmsum");
	if (how.output && !work.one_file)
		make_folder(how.output);
	work.progress = how.form == PRINT_TEXT && files.count > 1 && isatty(STDERR_FILENO);
	work.rows = mem_alloc(files.count, sizeof(*work.rows));
	reduce_all(&files, &how.analysis, how.jobs, cmd_reduce_take, &work);
	if (work.one_file)
		save_together(&work);
	print_result(&work);
	for (size_t i = 0; i < files.count; i++) {
		free(work.rows[i].name);
		free(work.rows[i].result.data);
		free(work.rows[i].result.error);
	}
	free(work.rows);
	reduce_free(&files);
	return work.failed > 0;
}

static const struct option_row rows[] = {
	{"output", 'o', "PATH",
		"a folder, created if needed; a name that ends in .pmsum is a file for all "
		"summaries (default: beside each trace)"},
	{"mine", OPTION_MINE, NULL,
		"only the trace of this process's own rank, found by name; the rank is the first "
		"one set of RANK (torchrun), OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, "
		"PMIX_RANK, PMI_RANK and SLURM_PROCID. Prints nothing (default: all traces)"},
	{"rank", OPTION_RANK, "N", "only the trace of rank N"},
	{"jobs", OPTION_JOBS, "N",
		"traces read in parallel; each takes memory (default: the number of processors)"},
	{"json", CMD_JSON, NULL,
		"a table of the summaries: rank, trace, iterations used, iterations and "
		"collectives sampled, sizes in bytes"},
	{"csv", CMD_CSV, NULL, "the same as CSV"},
	{0},
};

const struct command cmd_reduce = {
	.name = "reduce",
	.summary = "summaries per rank, for jobs too large for one machine",
	.usage = "[OPTION]... TRACE...",
	.about = "Turns each trace (a *.pmtrace file, or those of a folder) into a summary of a "
		 "few kilobytes, NAME.RANK.pmsum, on the node that has it, without the other "
		 "ranks. 'pmanalyze report SUMMARIES...' then reads thousands of them as one job. "
		 "Under a launcher, one process per rank:\n"
		 "\n"
		 "  srun pmanalyze reduce --mine -o sums/ run/\n"
		 "  mpirun pmanalyze reduce -o sums/ run/train.%r.pmtrace\n"
		 "\n"
		 "A summary contains the rank's identity and the losses of its trace; mean, "
		 "standard deviation and quantiles over iterations of the iteration time, of each "
		 "phase (busy and exclusive) and of each layer; and start and end of the gradient "
		 "exchanges of sampled iterations: about 256 exchanges, of 4 to 256 iterations, "
		 "which all ranks select alike by a hash of the collectives' sequence number. Call "
		 "sites, single calls, messages between two ranks and everything between "
		 "iterations are not included.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "%r in a TRACE is replaced by the rank of this process, or by that of --rank. A "
		 "file is written under a temporary name and then renamed, so that readers of the "
		 "folder see complete summaries only.\n"
		 "\n"
		 "Exit status: 0 success, 1 a trace is unreadable or a summary could not be "
		 "written (the others are written), 2 usage error.\n",
	.run = run_reduce,
};
