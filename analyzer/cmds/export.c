/* pmanalyze export: a run in the formats of other programs. */
#include "cmd_common.h"
#include "output/export/export.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct how {
	struct cmd_options common;
	bool perfetto, kineto, observations, append;
	const char *path; /* NULL: standard output; of --kineto the folder */
};

static int run_perfetto(const struct how *how, char **paths, size_t path_count)
{
	size_t run_count;
	struct run *runs = cmd_read_runs(&how->common, paths, path_count, &run_count);
	struct export_out out;
	int wrong;

	if (run_count != 1)
		cmd_usage(&cmd_export, "--perfetto takes exactly one run");
	wrong = export_open(&out, how->path);
	if (wrong == 0) {
		export_trace(&out, &runs[0]);
		wrong = export_close(&out);
	}
	if (wrong < 0)
		errx(1, "%s: %s", how->path ? how->path : "standard output", strerror(-wrong));
	cmd_print_warnings(&runs[0]);
	cmd_free_runs(runs, run_count);
	return 0;
}

/* A file a worker, whole or not at all. */
static void write_worker(const struct run *run, size_t worker, const char *folder)
{
	struct arena arena = {0};
	char *path = arena_format(&arena, "%s/rank%zu.pt.trace.json.gz", folder, worker);
	struct export_out out;
	int wrong = export_open(&out, path);

	if (wrong == 0) {
		export_kineto(&out, run, worker);
		wrong = export_close(&out);
	}
	if (wrong < 0)
		errx(1, "%s: %s", path, strerror(-wrong));
	arena_free(&arena);
}

static int run_kineto(const struct how *how, char **paths, size_t path_count)
{
	size_t run_count;
	struct run *runs = cmd_read_runs(&how->common, paths, path_count, &run_count);
	size_t workers = runs[0].analysis.worker_count + runs[0].analysis.idle_count;

	if (run_count != 1)
		cmd_usage(&cmd_export, "--kineto takes exactly one run");
	cmd_print_warnings(&runs[0]);
	if (workers == 0)
		errx(1, "%s: no GPU work to export", runs[0].label);
	if (mkdir(how->path, 0777) < 0 && errno != EEXIST)
		err(1, "%s", how->path);
	for (size_t i = 0; i < workers; i++)
		write_worker(&runs[0], i, how->path);
	cmd_free_runs(runs, run_count);
	return 0;
}

/* How many of the paths are one run: a folder, or files side by side. */
static size_t run_paths(char **paths, size_t path_count)
{
	struct stat status;
	size_t count = 0;

	while (count < path_count && !(stat(paths[count], &status) == 0 && S_ISDIR(status.st_mode)))
		count++;
	return count ? count : 1;
}

/* The rows of the runs that have iterations; what is wrong with a run goes to stderr. One run is in memory at
 * a time. */
static int print_rows(const struct how *how, char **paths, size_t path_count, FILE *out)
{
	int status = 0;

	for (size_t first = 0, count; first < path_count; first += count) {
		size_t run_count;
		struct run *runs;

		count = run_paths(paths + first, path_count - first);
		runs = cmd_read_runs(&how->common, paths + first, count, &run_count);
		cmd_print_warnings(&runs[0]);
		if (runs[0].analysis.worker_count > 0)
			export_observation(&runs[0], out);
		else
			status = 1;
		cmd_free_runs(runs, run_count);
	}
	return status;
}

static int run_observations(const struct how *how, char **paths, size_t path_count)
{
	char *lines = NULL, *error;
	size_t length;
	FILE *out = open_memstream(&lines, &length);
	int status;

	if (!out)
		err(1, "memory");
	status = print_rows(how, paths, path_count, out);
	if (fclose(out) != 0)
		err(1, "memory");
	if (!how->path) {
		printf("%s\n%s", export_observation_names(), lines);
	} else if (export_table(how->path, how->append, lines, &error) < 0) {
		errx(1, "%s", error);
	}
	free(lines);
	return status;
}

static int run(int argument_count, char **arguments)
{
	static const struct option options[] = {
		{"perfetto", no_argument, NULL, 'p'},
		{"kineto", no_argument, NULL, 'k'},
		{"observations", no_argument, NULL, 'b'},
		{"append", no_argument, NULL, 'a'},
		CMD_READ_OPTIONS,
		{0},
	};
	struct how how = {.common = {.skip = ANALYSIS_SKIP}};
	int option;

	while ((option = getopt_long(argument_count, arguments, "o:", options, NULL)) != -1) {
		if (option == 'p')
			how.perfetto = true;
		else if (option == 'k')
			how.kineto = true;
		else if (option == 'b')
			how.observations = true;
		else if (option == 'a')
			how.append = true;
		else if (option == 'o')
			how.path = optarg;
		else if (!cmd_common_option(&cmd_export, &how.common, option, optarg))
			cmd_wrong_option(&cmd_export, options, arguments);
	}
	if (how.perfetto + how.kineto + how.observations != 1)
		cmd_usage(&cmd_export, "one of --perfetto, --kineto and --observations is needed");
	if (how.kineto && !how.path)
		cmd_usage(&cmd_export, "--kineto needs -o FOLDER");
	if (how.append && (!how.observations || !how.path))
		cmd_usage(&cmd_export, "--append needs --observations and -o FILE");
	if (optind >= argument_count)
		cmd_usage(&cmd_export, "no run given");
	return (how.perfetto ? run_perfetto
		: how.kineto ? run_kineto
			     : run_observations)(&how, arguments + optind, (size_t)(argument_count - optind));
}

const struct command cmd_export = {
	.name = "export",
	.summary = "export to other programs: Perfetto, HTA, pmfit",
	.run = run,
	.help = COMMAND_HELP(
		"pmanalyze export - export to other programs\n"
		"\n"
		"usage: pmanalyze export --perfetto [-o FILE] [--skip N] RUN\n"
		"       pmanalyze export --kineto -o FOLDER [--skip N] RUN\n"
		"       pmanalyze export --observations [-o FILE [--append]] [--skip N] RUN...\n"
		"\n"
		"  --perfetto      a trace that ui.perfetto.dev and chrome://tracing open: a\n"
		"                  process per rank, all ranks on one clock; in it a track for\n"
		"                  the iterations and one for the phases of each GPU, one per\n"
		"                  host thread and one per stream. Work that overlaps other\n"
		"                  work of its track is on an additional one. Arrows lead from\n"
		"                  a call to its work; a slice shows its phase, layer and\n"
		"                  iteration. Phases are as in the report's exclusive times,\n"
		"                  idle time with its cause\n"
		"  --kineto        traces as the PyTorch profiler writes them, for tools that\n"
		"                  read those (HolisticTraceAnalysis, Perfetto): FOLDER, created\n"
		"                  if needed, gets rankN.pt.trace.json.gz per GPU. Iterations\n"
		"                  are annotations ProfilerStep#N; library calls are operators;\n"
		"                  kernels, copies and sets have correlations, streams, phase\n"
		"                  and layer, and of collectives sizes and group. Launches\n"
		"                  inside a library's call were not recorded one by one: they\n"
		"                  share the call's time\n"
		"  --observations  a table for pmfit, CSV with a row per RUN: hyperparameters,\n"
		"                  number of GPUs, and median times\n"
		"  --append        append the rows to FILE, which must have the same columns;\n"
		"                  FILE is created if missing\n"
		"  -o FILE         write to FILE instead of standard output; a trace is gzipped\n"
		"                  if the name ends in .gz\n"
		"  --skip N        leave out the first N usual iterations (default: 1)\n"
		"  --steps A-B     only the steps with these numbers: the program's, or places\n"
		"                  in the run from 0\n" CMD_ITERATION_HELP "  --comm-pattern REGEX\n"
		"                  other profilers' traces: kernels whose names match the\n"
		"                  extended regular expression also count as communication\n"
		"                  (default: NCCL's names)\n"
		"\n"
		"Columns of the table; a value that a run does not have is empty:\n"
		"\n"
		"  run                       name of the folder\n"
		"  gpus, batch, gpu_batch    workers; samples of an iteration over all of them,\n"
		"                            and of one\n"
		"  hosts, stages             stages: of a pipeline, else 1\n"
		"  channels, height, width   of the first layer's input\n"
		"  inputs                    size of a sample, in values\n"
		"  kernel, filters, stride, padding   of the first convolution; padding in\n"
		"                            points, 0: none; the largest side\n"
		"  pool, pool_stride, pooling         of the first pooling layer; max or avg\n"
		"  units                     outputs of the first fully connected layer\n"
		"  dropout                   probability of the first dropout layer, 0: none\n"
		"  activation                the first one\n"
		"  parameters, layers        of the model; layers that have parameters\n"
		"  conv_layers, ...          layers of each kind\n"
		"  iterations                number of iterations in the medians\n"
		"  iteration_ms              median time of an iteration over all workers\n"
		"  forward_ms, ...           median of each phase's busy time\n"
		"  communication_exposed_ms  median of the exposed communication\n"
		"  communication_wait_ms     median of its waiting for the last rank\n"
		"\n"
		"Exit status: 0 success, 1 failure, or a run without iterations (no row), 2\n"
		"usage error.\n"),
};
