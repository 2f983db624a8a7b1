/* pmanalyze metrics: a run's figures for monitoring, once or again and again while it goes on. */
#include "base/output.h"
#include "cmd_common.h"
#include "live.h"
#include "output/metrics.h"

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_EVERY = OPTION_FIRST };

static void write_file(const struct recent *recent, const char *path)
{
	struct pm_output output;
	FILE *stream;
	int error = pm_output_open(&output, path, false);

	if (error == 0) {
		stream = pm_output_stream(&output);
		if (stream)
			metrics_write(recent, stream);
		error = pm_output_close(&output, stream ? 0 : errno);
	}
	if (error < 0)
		errx(1, "%s: %s", path, strerror(-error));
}

static int run(int argument_count, char **arguments)
{
	const char *path = NULL;
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	unsigned every_s = 0;

	for (int key; (key = command_option(&cmd_metrics, argument_count, arguments)) != -1;)
		switch (key) {
		case 'o':
			path = optarg;
			break;
		case OPTION_EVERY:
			every_s = (unsigned)command_count(&cmd_metrics, key, optarg, 1, 86400);
			break;
		default:
			if (!cmd_common_option(&cmd_metrics, &how, key, optarg))
				command_unhandled(&cmd_metrics, key);
		}
	if (optind >= argument_count)
		cmd_usage(&cmd_metrics, "no run given");
	if (every_s && !path)
		cmd_usage(&cmd_metrics, "--every needs a file: add --output FILE");
	for (;;) {
		struct recent recent;
		struct run run;
		const struct run_options options = cmd_run_options(&how);
		const char *error = live_room(
			arguments + optind, (size_t)(argument_count - optind), &options.sample);

		if (error)
			errx(1, "%s", error);
		cmd_read_run(&run, &how, arguments + optind, (size_t)(argument_count - optind));
		recent_find(&run, 0, &recent);
		if (path)
			write_file(&recent, path);
		else
			metrics_write(&recent, stdout);
		recent_free(&recent);
		run_close(&run);
		if (!every_s || recent.ended)
			return 0;
		sleep(every_s);
	}
}

static const struct option_row rows[] = {
	{"output", 'o', "FILE", "output file, replaced as a whole (default: standard output)"},
	{"every", OPTION_EVERY, "SECONDS",
		"write the file again and again, with so much time between, until all processes have ended in order "
		"(default: once)"},
	{0},
};

const struct command cmd_metrics = {
	.name = "metrics",
	.summary = "figures of a live or finished run for Prometheus",
	.usage = "[OPTION]... RUN...",
	.about =
		"Writes the figures of one run as gauges in the text format that Prometheus reads, for the textfile "
		"collector of its node exporter: of each rank the iterations so far and the confidence in them, the "
		"time of an iteration, of computing, of waiting for the last rank, and of each phase as medians of "
		"the last 20 iterations, and what was recorded and lost; of the run the imbalance of computing. Times are in "
		"seconds, labels are run, rank, device and phase; at most 30 series a rank.\n"
		"\n"
		"The run may go on meanwhile: its traces are read, the program is not touched. Each time the whole "
		"trace is read.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Example:\n"
		 "  pmanalyze metrics --every 15 -o /var/lib/node_exporter/train.prom run\n"
		 "\n"
		 "Exit status: 0 success, 1 the run cannot be read, 2 usage error.\n",
	.data = true,
	.run = run,
};
