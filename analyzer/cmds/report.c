/* pmanalyze report: the phases of an iteration, of one run or of several side by side. */
#include "cmd_common.h"
#include "cmd_summaries.h"
#include "output/report.h"
#include "output/report_summary.h"

#include <err.h>

static int report_job(const struct cmd_options *how, char **paths, size_t path_count)
{
	struct summaries job;
	char *error;
	int status;

	const char *single = how->calls ? "calls" : how->ranges ? "ranges" : "iterations";

	if (how->iterations || how->calls || how->ranges)
		cmd_usage(&cmd_report, "--%s: summaries have no single %s", single, single);
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

/* "  input\tt_io: reading ..." of each phase, then " io h2d ...". */
#define PHASE_HELP(name, key, symbol, title, text, does, term, colour) \
	"  " title "\t" PHASE_SYMBOL_##term(symbol) text "\n"
#define PHASE_SYMBOL_SUM(symbol) symbol ": "
#define PHASE_SYMBOL_LONGEST(symbol) symbol ": "
#define PHASE_SYMBOL_NOT(symbol) /* the equation has none */
#define PHASE_KEY(name, key, ...) " " key
#define PHASES_HELP "PHASES\n" PHASE_LIST(PHASE_HELP) "  In JSON and CSV:" PHASE_LIST(PHASE_KEY) ".\n"

enum { OPTION_ITERATIONS = OPTION_FIRST, OPTION_RANKS, OPTION_CALLS, OPTION_RANGES };

static int run_report(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	struct run *runs;
	size_t run_count;
	int option, status = 0;

	while ((option = command_option(&cmd_report, argument_count, arguments)) != -1) {
		if (option == OPTION_ITERATIONS)
			how.iterations = true;
		else if (option == OPTION_RANKS)
			how.ranks = true;
		else if (option == OPTION_CALLS)
			how.calls = true;
		else if (option == OPTION_RANGES)
			how.ranges = true;
		else if (!cmd_common_option(&cmd_report, &how, option, optarg))
			command_unhandled(&cmd_report, option);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_report, "no run given");
	if (cmd_are_summaries(arguments + optind, (size_t)(argument_count - optind)))
		return report_job(&how, arguments + optind, (size_t)(argument_count - optind));
	if (how.iterations && how.form != PRINT_CSV)
		cmd_usage(&cmd_report, "--iterations needs --csv");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.calls && run_count > 1)
		cmd_usage(&cmd_report, "--calls is of one run");
	if (how.ranges && run_count > 1)
		cmd_usage(&cmd_report, "--ranges is of one run");
	if (how.ranges && how.form == PRINT_CSV)
		report_ranges(&runs[0], PRINT_CSV, stdout);
	else if (how.calls && how.form == PRINT_CSV)
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
	if (how.ranges && how.form == PRINT_TEXT)
		report_ranges(&runs[0], PRINT_TEXT, stdout);
	for (size_t i = 0; i < run_count; i++) {
		if (how.form == PRINT_CSV || (how.form == PRINT_JSON && run_count > 1))
			cmd_print_warnings(&runs[i]);
		if (runs[i].analysis.worker_count == 0)
			status = 1;
	}
	cmd_free_runs(runs, run_count);
	return status;
}

static const struct option_row rows[] = {
	{"ranks", OPTION_RANKS, NULL,
		"exclusive times by rank also for more than 6 ranks, and busy times by rank"},
	{"calls", OPTION_CALLS, NULL,
		"also a table of the host's calls, by rank: calls in a step and their time, the "
		"longest, how long the GPU is idle meanwhile, and how much of that with work "
		"queued: that much the call does not cause; then the operator or Python function "
		"around the host for the most of that idle time, with its share, or, where those are "
		"not recorded, where they were made, where that is one place (before a row's idle time in no "
		"call: the call that ends it). --csv: this table alone"},
	{"ranges", OPTION_RANGES, NULL,
		"also a table of the ranges that the program and its libraries name, by NVTX or PyTorch's "
		"record_function, of all ranks and the whole recording: how many, their time on the host in all and "
		"in the mean, and the GPU time of the work launched in them, summed over streams (that of "
		"a thread without ranges, as autograd's, counts to the range that is open on the thread with most of them); of "
		"the used iterations the share of their time that it covers, and how many (by their middle) in each: a range that is \"1, in each\" may serve as "
		"marker of iterations. --csv: this table alone"},
	{"json", CMD_JSON, NULL, "everything, with medians and standard deviations; times in ns"},
	{"csv", CMD_CSV, NULL,
		"one run: rank, gpu, phase, iterations, and mean, standard deviation and median "
		"of busy and exclusive time; several: the table of phases. Times in ns"},
	{"iterations", OPTION_ITERATIONS, NULL,
		"with --csv: a row per iteration and phase, including those left out: run, rank, "
		"device, iteration, kind (used, warmup, uneven, different, cut, untimed), start_ns, end_ns, "
		"phase, busy, exclusive. The phase \"iteration\" is the whole"},
	{0},
};

const struct command cmd_report = {
	.name = "report",
	.summary = "the phases of an iteration; of several runs, side by side",
	.usage = "[OPTION]... RUN...",
	.about = "Finds the iterations of each rank, the phase and layer of each call, and prints "
		 "what the run loses time to (FINDINGS), then the mean time of each phase. With "
		 "several runs (folders): one row per run, then speed-up, balance, exposed "
		 "communication, and the difference of runs of the same program and size from the "
		 "first of them.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after =
		"FINDINGS\n"
		"  The greatest three by what they can gain; --json has all, with rank, layer, "
		"basis and strength. A gain is a bound: the idle or waiting time of a step that "
		"would be gone, as all ranks have it; mean over the used iterations without "
		"outliers (more than 1.5 times the median, a quarter of them at most), which are "
		"a finding of their own. Strong: five or more iterations of all ranks; likely: "
		"fewer, or some ranks; weak: one or two iterations, irregular ones, or something "
		"that decides is not recorded. All commands that name a cause print from the same "
		"list\n"
		"\n" PHASES_HELP "\n"
		"ACCOUNTINGS\n"
		"  busy\tthe time during which some work of the phase runs; overlapping phases are "
		"each counted in full\n"
		"  exclusive\teach instant belongs to one phase: the first of forward, backward, "
		"update, graph, communication, batch split on the GPU, host to device, other, "
		"input, batch split on the host that is running then. The phases add up to t_iter. "
		"Exclusive communication is exposed communication\n"
		"\n"
		"ITERATIONS\n"
		"  From one model update to the next. An update is a write to a parameter; "
		"parameters are read by forward work and written only by updates. Where no update "
		"is visible so (kernels of the program's own), updates are recognized by names, "
		"of kernels and of functions at the call site; and where no name says so, what "
		"repeats is used. Sizes and addresses do not matter. Confidence is the share of "
		"the computations between the first and the last iteration, evaluation aside, "
		"that are in iterations with the usual sequence of calls; by names and by "
		"repetition, the probability that these are the iterations. Below 50% they are "
		"unknown: the candidates are named, and the recording counts as one, as where nothing "
		"repeats, in all commands; in JSON step.unknown says what is not looked for, and "
		"iterations_rejected what was found and is not believed.\n"
		"\n"
		"RECORDING\n"
		"  Where the trace has it: the recorded windows of the run (nothing is measured "
		"between them, and no iteration spans a gap); the overhead of the hook as a "
		"share of a step and per call: an estimate from a sample of the calls, or, with "
		"PMHOOK_COST=measure, by alternating stretches with and without recording; the file input of worker processes, "
		"which make no device call and leave no trace.\n"
		"\n"
		"SUMMARIES\n"
		"  Where the arguments are summaries made by pmanalyze reduce (*.pmsum files, or "
		"folders of them without traces), all of them are one job. Printed are the same "
		"phases and layers, with the slowest rank, and under \"ranks\" the deviation of the "
		"ranks' means; the distribution of the ranks' computing times; and the "
		"stragglers, from the sampled exchanges, by which the hosts' clocks are aligned. "
		"Means are exact, medians over ranks are those of the ranks' medians, waiting is "
		"that of the sampled iterations. For more than 16 ranks the table by rank has the "
		"10 most significant (--ranks: all); --csv has all, and --json omits the phases "
		"of each rank for more than 64 (--ranks: all). Causes are found as in pmanalyze "
		"balance, but from means of whole layers: a slow link and stage imbalance are "
		"indistinguishable from other causes.\n"
		"\n"
		"SPEED-UP\n"
		"  (3.6), N_g t_iter / t'_iter, relative to the run of the same program on one "
		"GPU. Where the samples of an iteration are known, their ratio replaces N_g.\n"
		"\n"
		"Exit status: 0 success, 1 no trace or no iterations, 2 usage error.\n",
	.run = run_report,
};
