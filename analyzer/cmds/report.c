/* pmanalyze report: the phases of an iteration, of one run or of several side by side. */
#include "cmd_common.h"
#include "output/report.h"
#include "output/report_summary.h"

#include <err.h>

/* Ends the program if only some are. */
static bool are_summaries(char **paths, size_t path_count)
{
	size_t count = 0;
	const char *first = NULL, *other = NULL;

	for (size_t i = 0; i < path_count; i++)
		if (summary_looks(paths[i])) {
			first = count++ ? first : paths[i];
		} else {
			other = paths[i];
		}
	if (count > 0 && count < path_count)
		errx(2, "%s is or contains summaries, %s does not: they cannot be combined in one report",
			first, other);
	return count > 0;
}

static int report_job(const struct cmd_options *how, char **paths, size_t path_count)
{
	struct summaries job;
	char *error;
	int status;

	if (how->iterations || how->calls)
		cmd_usage(&cmd_report, "--%s: summaries have no single %s",
			how->calls ? "calls" : "iterations", how->calls ? "calls" : "iterations");
	if (summaries_open(&job, paths, path_count, &error) < 0)
		errx(1, "%s", error);
	if (how->form == PRINT_TEXT) {
		report_summaries(&job, how->ranks, stdout);
	} else if (how->form == PRINT_JSON) {
		print_json_end(report_summaries_json(&job, how->ranks), stdout);
	} else {
		const char **warnings = summaries_warnings(&job);

		report_summaries_csv(&job, stdout);
		fflush(stdout);
		for (size_t i = 0; warnings[i]; i++)
			warnx("%s", warnings[i]);
	}
	status = job.worker_count == 0;
	summaries_close(&job);
	return status;
}

static int run(int argument_count, char **arguments)
{
	static const struct option options[] = {
		CMD_OPTIONS,
		{"iterations", no_argument, NULL, 'i'},
		{"ranks", no_argument, NULL, 'r'},
		{"calls", no_argument, NULL, 'h'},
		{0},
	};
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	struct run *runs;
	size_t run_count;
	int option, status = 0;

	while ((option = getopt_long(argument_count, arguments, "", options, NULL)) != -1) {
		if (option == 'i')
			how.iterations = true;
		else if (option == 'r')
			how.ranks = true;
		else if (option == 'h')
			how.calls = true;
		else if (!cmd_common_option(&cmd_report, &how, option, optarg))
			cmd_wrong_option(&cmd_report, options, arguments);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_report, "no run given");
	if (are_summaries(arguments + optind, (size_t)(argument_count - optind)))
		return report_job(&how, arguments + optind, (size_t)(argument_count - optind));
	if (how.iterations && how.form != PRINT_CSV)
		cmd_usage(&cmd_report, "--iterations needs --csv");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.calls && run_count > 1)
		cmd_usage(&cmd_report, "--calls is of one run");
	if (how.calls && how.form == PRINT_CSV)
		report_calls(&runs[0], PRINT_CSV, stdout);
	else if (how.form == PRINT_TEXT && run_count == 1)
		report_run(&runs[0], how.ranks, stdout);
	else if (how.form == PRINT_TEXT)
		report_runs(runs, run_count, stdout);
	else if (how.form == PRINT_JSON)
		print_json_end(run_count == 1 ? report_run_json(&runs[0]) : report_runs_json(runs, run_count),
			stdout);
	else if (how.iterations)
		report_iterations_csv(runs, run_count, stdout);
	else if (run_count == 1)
		report_run_csv(&runs[0], stdout);
	else
		report_runs_csv(runs, run_count, stdout);
	if (how.calls && how.form == PRINT_TEXT)
		report_calls(&runs[0], PRINT_TEXT, stdout);
	for (size_t i = 0; i < run_count; i++) {
		if (how.form == PRINT_CSV || (how.form == PRINT_JSON && run_count > 1))
			cmd_print_warnings(&runs[i]);
		if (runs[i].analysis.worker_count == 0)
			status = 1;
	}
	cmd_free_runs(runs, run_count);
	return status;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "the phases of an iteration; of several runs, side by side",
	.run = run,
	.help = COMMAND_HELP(
		"pmanalyze report - the phases of an iteration\n"
		"\n"
		"usage: pmanalyze report [OPTION]... RUN...\n"
		"\n"
		"Finds the iterations of each rank, the phase and layer of each call, and\n"
		"prints what the run loses time to (FINDINGS), then the mean time of each\n"
		"phase. With several runs (folders): one row per run, then speed-up, balance,\n"
		"exposed communication, and the difference of runs of the same program and size\n"
		"from the first of them.\n"
		"\n"
		"  --skip N      leave out the first N usual iterations (default: 1)\n"
		"  --steps A-B   only the steps with these numbers: the program's, or places in\n"
		"                the run from 0\n" CMD_ITERATION_HELP "  --comm-pattern REGEX\n"
		"                other profilers' traces: kernels whose names match the extended\n"
		"                regular expression also count as communication (default: NCCL's\n"
		"                names)\n"
		"  --ranks       the tables by rank also for more than 6 ranks\n"
		"  --calls       also a table of the host's calls, by rank: calls in a step\n"
		"                and their time, the longest, how long the GPU is idle meanwhile,\n"
		"                and how much of that with work queued: that much the call does\n"
		"                not cause. --csv: this table alone\n"
		"  --json        everything, with medians and standard deviations; times in ns\n"
		"  --csv         one run: rank, gpu, phase, iterations, and mean, standard\n"
		"                deviation and median of busy and exclusive time; several: the\n"
		"                table of phases. Times in ns\n"
		"  --iterations  with --csv: a row per iteration and phase, including those left\n"
		"                out: run, rank, device, iteration, kind (used, warmup, uneven,\n"
		"                different), start_ns, end_ns, phase, busy, exclusive, and\n"
		"                begin_ns (start_ns under its old name, until the next version).\n"
		"                The phase \"iteration\" is the whole\n"
		"\n"
		"FINDINGS\n"
		"  The greatest three by what they can gain; --json has all, with rank, layer,\n"
		"  basis and strength. A gain is a bound: the idle or waiting time of a step that\n"
		"  would be gone, as all ranks have it; mean over the used iterations without\n"
		"  outliers (more than 1.5 times the median, a quarter of them at most), which\n"
		"  are a finding of their own. Strong: five or more iterations of all ranks;\n"
		"  likely: fewer, or some ranks; weak: one or two iterations, irregular ones, or\n"
		"  something that decides is not recorded. All commands that name a cause print\n"
		"  from the same list\n"
		"\n"
		"PHASES\n"
		"  input           t_io: file input\n"
		"  host to device  t_h2d: copies of the input to the GPU\n"
		"  batch split     t_md: copies between GPUs that feed the input; on the host,\n"
		"                  from the last read to the first copy\n"
		"  forward         t_f\n"
		"  backward        t_b, with the loss's gradient\n"
		"  communication   t_c: exchange of gradients\n"
		"  update          t_u: from gradients to parameters\n"
		"  graph           launches of captured graphs that hold several of these and\n"
		"                  have one device time; with device times of CUPTI there are\n"
		"                  none\n"
		"  other           other or unattributed work: results to the host, memory set,\n"
		"                  algorithm search, sums of losses\n"
		"  idle: host      launch-bound: the GPU waits for the host to launch work\n"
		"  idle: queue     work is enqueued and has not started: launch latency, or it\n"
		"                  waits for work of another queue or GPU\n"
		"  idle: sync      the host waits in a synchronization, and the GPU has no work\n"
		"  idle: unknown   none of these: before the first or after the last call\n"
		"  JSON and CSV call the first three io, h2d and md\n"
		"\n"
		"ACCOUNTINGS\n"
		"  busy       the time during which some work of the phase runs; overlapping\n"
		"             phases are each counted in full\n"
		"  exclusive  each instant belongs to one phase: the first of forward,\n"
		"             backward, update, graph, communication, batch split on the\n"
		"             GPU, host to device, other, input, batch split on the host that\n"
		"             is running then. The phases add up to t_iter. Exclusive\n"
		"             communication is exposed communication\n"
		"\n"
		"ITERATIONS\n"
		"  From one model update to the next. An update is a write to a parameter;\n"
		"  parameters are read by forward work and written only by updates. Where no\n"
		"  update is visible so (kernels of the program's own), updates are recognized\n"
		"  by names, of kernels and of functions at the call site; and where no name\n"
		"  says so, what repeats is used. Sizes and addresses do not matter.\n"
		"  Confidence is the share of the computations between the first and the last\n"
		"  iteration, evaluation aside, that are in iterations with the usual sequence\n"
		"  of calls; by names and by repetition, the probability that these are the\n"
		"  iterations. Below 50% they are unknown: the report names the candidates and\n"
		"  has no table of phases.\n"
		"\n"
		"RECORDING\n"
		"  Where the trace has it: the recorded windows of the run (nothing is measured\n"
		"  between them, and no iteration spans a gap); the overhead of the hook per run\n"
		"  and per call, from a sample of the calls; the file input of worker processes,\n"
		"  which make no device call and leave no trace.\n"
		"\n"
		"SUMMARIES\n"
		"  Where the arguments are summaries made by pmanalyze reduce (*.pmsum files,\n"
		"  or folders of them without traces), all of them are one job. Printed are the\n"
		"  same phases and layers, with the slowest rank, and under \"ranks\" the\n"
		"  deviation of the ranks' means; the distribution of the ranks' computing\n"
		"  times; and the stragglers, from the sampled exchanges, by which the hosts'\n"
		"  clocks are aligned. Means are exact, medians over ranks are those of the\n"
		"  ranks' medians, waiting is that of the sampled iterations. For more than 16\n"
		"  ranks the table by rank has the 10 most significant (--ranks: all); --csv\n"
		"  has all, and --json omits the phases of each rank for more than 64 (--ranks:\n"
		"  all). Causes are found as in pmanalyze balance, but from means of whole\n"
		"  layers: a slow link and stage imbalance are indistinguishable from other\n"
		"  causes.\n"
		"\n"
		"SPEED-UP\n"
		"  (3.6), N_g t_iter / t'_iter, relative to the run of the same program on one\n"
		"  GPU. Where the samples of an iteration are known, their ratio replaces N_g.\n"
		"\n"
		"JSON has phases_attributed_by, markers_agreement, incomplete,\n"
		"iterations_used_min and _max, wait_caused_ns and start_ns of windows also under\n"
		"their old names (phases_told_by, marks_agreement, broken_off,\n"
		"iterations_used_least and _most, inflicted_ns, begin_ns), until the next\n"
		"version.\n"
		"\n"
		"Exit status: 0 success, 1 no trace or no iterations, 2 usage error.\n"),
};
