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
	bool perfetto, kineto, observations, times, append;
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
		if (runs[0].analysis.worker_count > 0 && !runs[0].analysis.is_whole)
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

static int run_times(const struct how *how, char **paths, size_t path_count)
{
	char *lines = NULL;
	size_t run_count, length, count;
	struct run *runs = cmd_read_runs(&how->common, paths, path_count, &run_count);
	FILE *memory = open_memstream(&lines, &length), *out = stdout;
	const char *name = how->path ? how->path : "standard output";

	if (run_count != 1)
		cmd_usage(&cmd_export, "--times takes exactly one run");
	if (!memory)
		err(1, "memory");
	cmd_print_warnings(&runs[0]);
	count = export_times(&runs[0], paths, path_count, memory);
	if (fclose(memory) != 0)
		err(1, "memory");
	if (count == 0)
		errx(1,
			"%s: no operation with its device time and its shape; expected a run recorded by "
			"pmhook with CUPTI, or by torch.profiler",
			runs[0].label);
	if (how->path && !(out = fopen(how->path, "we")))
		err(1, "%s", name);
	if (fwrite(lines, 1, length, out) != length || (how->path ? fclose(out) : fflush(out)) != 0)
		err(1, "%s", name);
	free(lines);
	cmd_free_runs(runs, run_count);
	return 0;
}

enum { OPTION_PERFETTO = OPTION_FIRST, OPTION_KINETO, OPTION_OBSERVATIONS, OPTION_TIMES, OPTION_APPEND };

static int run_export(int argument_count, char **arguments)
{
	struct how how = {.common = {.skip = ANALYSIS_SKIP, .whole = true}};
	int option, formats;

	while ((option = command_option(&cmd_export, argument_count, arguments)) != -1) {
		if (option == OPTION_PERFETTO)
			how.perfetto = true;
		else if (option == OPTION_KINETO)
			how.kineto = true;
		else if (option == OPTION_OBSERVATIONS)
			how.observations = true;
		else if (option == OPTION_TIMES)
			how.times = true;
		else if (option == OPTION_APPEND)
			how.append = true;
		else if (option == 'o')
			how.path = optarg;
		else if (!cmd_common_option(&cmd_export, &how.common, option, optarg))
			command_unhandled(&cmd_export, option);
	}
	formats = how.perfetto + how.kineto + how.observations + how.times;
	if (formats != 1)
		cmd_usage(&cmd_export,
			formats > 1
				? "choose one of --perfetto, --kineto, --observations and --times: an export has one format"
				: "choose a format: --perfetto, --kineto, --observations or --times");
	if (how.kineto && !how.path)
		cmd_usage(&cmd_export, "--kineto needs -o FOLDER");
	if (how.append && (!how.observations || !how.path))
		cmd_usage(&cmd_export, "--append needs --observations and -o FILE");
	if (optind >= argument_count)
		cmd_usage(&cmd_export, "no run given");
	return (how.perfetto ? run_perfetto
		: how.kineto ? run_kineto
		: how.times  ? run_times
			     : run_observations)(&how, arguments + optind, (size_t)(argument_count - optind));
}

static const struct option_row rows[] = {
	{"perfetto", OPTION_PERFETTO, NULL,
		"a trace that ui.perfetto.dev and chrome://tracing open: a process per rank, all "
		"ranks on one clock; in it a track for the iterations and one for the phases of "
		"each GPU, one per host thread, one per thread with ranges of NVTX or record_function, and one per "
		"stream. Work that overlaps other work "
		"of its track is on an additional one. Arrows lead from a call to its work; a "
		"slice shows its phase, layer and iteration. Phases are as in the report's "
		"exclusive times, idle time with its cause"},
	{"kineto", OPTION_KINETO, NULL,
		"traces as the PyTorch profiler writes them, for tools that read those "
		"(HolisticTraceAnalysis, Perfetto): FOLDER, created if needed, gets "
		"rankN.pt.trace.json.gz per GPU. Iterations are annotations ProfilerStep#N; "
		"library calls are operators; kernels, copies and sets have correlations, "
		"streams, phase and layer, and of collectives sizes and group. Launches inside a "
		"library's call were not recorded one by one: they share the call's time"},
	{"observations", OPTION_OBSERVATIONS, NULL,
		"a table for pmfit, CSV with a row per RUN: hyperparameters, number of GPUs, and "
		"median times"},
	{"times", OPTION_TIMES, NULL,
		"how long each operation took on the GPU, for softgpu: a run under SOFTGPU_TIMES=FILE takes "
		"these times. Tab-separated: kind, name, shape, count, median in ns. Needs a trace of pmhook "
		"with device times from CUPTI, or one of torch.profiler with record_shapes=True, which lacks the work of "
		"what cuDNN computes beside convolutions; the whole run counts"},
	{"append", OPTION_APPEND, NULL,
		"append the rows to FILE, which must have the same columns; FILE is created if "
		"missing"},
	{"output", 'o', "FILE",
		"write to FILE instead of standard output; a trace is gzipped if the name ends in "
		".gz"},
	{0},
};

const struct command cmd_export = {
	.name = "export",
	.summary = "export to other programs: Perfetto, HTA, pmfit, softgpu",
	.usage = "--perfetto [-o FILE] [--skip N] RUN\n"
		 "--kineto -o FOLDER [--skip N] RUN\n"
		 "--observations [-o FILE [--append]] [--skip N] RUN...\n"
		 "--times [-o FILE] RUN",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Columns of the table; a value that a run does not have is empty:\n"
		 "\n"
		 "  run\tname of the folder\n"
		 "  gpus, batch, gpu_batch\tworkers; samples of an iteration over all of them, and "
		 "of one\n"
		 "  hosts, stages\tstages: of a pipeline, else 1\n"
		 "  channels, height, width\tof the first layer's input\n"
		 "  inputs\tsize of a sample, in values\n"
		 "  kernel, filters, stride, padding\tof the first convolution; padding in points, "
		 "0: none; the largest side\n"
		 "  pool, pool_stride, pooling\tof the first pooling layer; max or avg\n"
		 "  units\toutputs of the first fully connected layer\n"
		 "  dropout\tprobability of the first dropout layer, 0: none\n"
		 "  activation\tthe first one\n"
		 "  parameters, layers\tof the model; layers that have parameters\n"
		 "  conv_layers, ...\tlayers of each kind\n"
		 "  iterations\tnumber of iterations in the medians\n"
		 "  iteration_ms\tmedian time of an iteration over all workers\n"
		 "  forward_ms, ...\tmedian of each phase's busy time\n"
		 "  communication_exposed_ms\tmedian of the exposed communication\n"
		 "  communication_wait_ms\tmedian of its waiting for the last rank\n"
		 "  device_ms\tsum of the median exclusive times of all work on the devices, without "
		 "that waiting\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, or a run without iterations (no row), 2 usage "
		 "error.\n",
	.data = true,
	.run = run_export,
};
