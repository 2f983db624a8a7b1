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
		errx(2, "%s is or has summaries, %s does not: they cannot be reported together", first,
			other);
	return count > 0;
}

static int report_job(const struct cmd_options *how, char **paths, size_t path_count)
{
	struct summaries job;
	char *error;
	int status;

	if (how->iterations)
		cmd_usage(&cmd_report, "--iterations: summaries do not have single iterations");
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
		else if (!cmd_common_option(&cmd_report, &how, option, optarg))
			cmd_usage(&cmd_report, "the command line is wrong");
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_report, "no run named");
	if (are_summaries(arguments + optind, (size_t)(argument_count - optind)))
		return report_job(&how, arguments + optind, (size_t)(argument_count - optind));
	if (how.iterations && how.form != PRINT_CSV)
		cmd_usage(&cmd_report, "--iterations needs --csv");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.form == PRINT_TEXT && run_count == 1)
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
	.help = "pmanalyze report - the phases of an iteration\n"
		"\n"
		"usage: pmanalyze report [OPTION]... RUN...\n"
		"\n"
		"Finds the iterations of each rank, the phase and layer of each call, and\n"
		"prints the mean time of each phase. With several runs (folders): one row a\n"
		"run, then speed-up, balance, exposed communication, and how runs of the same\n"
		"program and size differ from the first of them.\n"
		"\n"
		"  --skip N      usual iterations at the begin that are left out (default: 1)\n"
		"  --comm-pattern REGEX\n"
		"                of other profilers' traces: kernels whose name the extended\n"
		"                regular expression finds are communication too (default: those\n"
		"                with NCCL's names)\n"
		"  --ranks       the tables by rank also for more than 6 ranks\n"
		"  --json        everything, with medians and standard deviations; times in ns\n"
		"  --csv         one run: rank, gpu, phase, iterations, and mean, standard\n"
		"                deviation and median of busy and exclusive time; several: the\n"
		"                table of phases. Times in ns\n"
		"  --iterations  with --csv: a row for each iteration and phase, those left out\n"
		"                included: run, rank, device, iteration, kind (used, warmup,\n"
		"                uneven, different), begin, end, phase, busy, exclusive. The\n"
		"                phase \"iteration\" is the whole\n"
		"\n"
		"PHASES\n"
		"  io             t_io: file input\n"
		"  h2d            t_h2d: copies of the input to the GPU\n"
		"  md             t_md: division of the batch: copies between GPUs that feed\n"
		"                 the input; on the host, from the last read to the first copy\n"
		"  forward        t_f\n"
		"  backward       t_b, with the loss's gradient\n"
		"  communication  t_c: exchange of gradients\n"
		"  update         t_u: from gradients to parameters\n"
		"  graph          launches of captured graphs that hold several of these and have\n"
		"                 one device time; with device times of CUPTI there are none\n"
		"  other          work that is none of these: results to the host, memory\n"
		"                 set, search for algorithms, sums of losses\n"
		"  idle: host     the GPU waits for the host to launch work\n"
		"  idle: queue    work was launched and has not begun: the latency of a launch,\n"
		"                 or it waits for work of another queue or GPU\n"
		"  idle: sync     the host waits in a synchronisation, and the GPU has nothing\n"
		"                 to do\n"
		"  idle: unknown  none of these: before the first or after the last call\n"
		"\n"
		"ACCOUNTINGS\n"
		"  busy       the time during which some work of the phase was done; phases\n"
		"             that overlap are each counted in full\n"
		"  exclusive  each instant belongs to one phase: the first of forward,\n"
		"             backward, update, graph, communication, md on the GPU, h2d,\n"
		"             other, io, md on the host that is at work then. The phases add up\n"
		"             to t_iter. The exclusive time of communication is the exposed one\n"
		"\n"
		"ITERATIONS\n"
		"  From one model update to the next. An update is a write to a parameter;\n"
		"  parameters are what forward work reads and only updates write. Where no\n"
		"  update can be seen (a kernel of the application's own), the period of the\n"
		"  calls is taken. Confidence is the share of the computations between the\n"
		"  first and the last iteration, evaluation aside, that lie in iterations with\n"
		"  the usual sequence of calls.\n"
		"\n"
		"RECORDING\n"
		"  Where the trace tells: which windows of the run were recorded (nothing is\n"
		"  measured between them, and no iteration reaches over a gap); what the hook\n"
		"  itself took of the run and of a call, from a sample of the calls; the file\n"
		"  input of worker processes, which make no device call and leave no trace.\n"
		"\n"
		"SUMMARIES\n"
		"  Where the arguments are summaries that pmanalyze reduce made (*.pmsum files,\n"
		"  or folders of them without traces), all of them are one job. The same\n"
		"  phases and layers, with the slowest rank, and under \"ranks\" the deviation of\n"
		"  the ranks' means; how the ranks' computing times are distributed; and who\n"
		"  holds the others up, from the exchanges that the summaries keep, by which\n"
		"  the hosts' clocks are settled. Means are exact, medians over ranks are those\n"
		"  of the ranks' medians, waiting is that of the sampled iterations. Of more\n"
		"  than 16 ranks the table by rank names the 10 most telling (--ranks: all);\n"
		"  --csv has all, and --json leaves out the phases of each of more than 64\n"
		"  (--ranks: all). Causes are told as by pmanalyze balance, but from means of\n"
		"  whole layers: a slow link and an uneven pipeline are not told apart from\n"
		"  other reasons.\n"
		"\n"
		"SPEED-UP\n"
		"  (3.6), N_g t_iter / t'_iter, against the run of the same program on one GPU.\n"
		"  Where the samples of an iteration are known, their ratio stands for N_g.\n"
		"\n"
		"Exit status: 0 done, 1 no trace or no iterations, 2 wrong usage.\n",
};
