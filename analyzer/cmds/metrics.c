/* pmanalyze metrics: a run's figures for monitoring, once or again and again while it goes on. */
#include "base/output.h"
#include "cmd_common.h"
#include "output/metrics.h"
#include "snapshot.h"

#include <err.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_EVERY = OPTION_FIRST, OPTION_FROM };

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

/* Whether the run goes on. */
static bool write_once(struct snapshot_source *source, const char *path)
{
	struct snapshot *snapshot = snapshot_read(source);
	bool goes_on;

	if (snapshot->error)
		errx(1, "%s", snapshot->error);
	if (path)
		write_file(&snapshot->recent, path);
	else
		metrics_write(&snapshot->recent, stdout);
	goes_on = !snapshot->recent.ended;
	snapshot_free(snapshot);
	return goes_on;
}

static int run_metrics(int argument_count, char **arguments)
{
	const char *path = NULL;
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	static struct snapshot_source source;
	unsigned every_s = 0;

	for (int key; (key = command_option(&cmd_metrics, argument_count, arguments)) != -1;)
		switch (key) {
		case 'o':
			path = optarg;
			break;
		case OPTION_EVERY:
			every_s = (unsigned)command_count(&cmd_metrics, key, optarg, 1, 86400);
			break;
		case OPTION_FROM:
			source.from = snapshot_from(&cmd_metrics, key, optarg);
			break;
		default:
			if (!cmd_common_option(&cmd_metrics, &how, key, optarg))
				command_unhandled(&cmd_metrics, key);
		}
	if (optind >= argument_count)
		cmd_usage(&cmd_metrics, "no run given");
	if (every_s && !path)
		cmd_usage(&cmd_metrics, "--every needs a file: add --output FILE");
	snapshot_source_init(&source, &how, arguments + optind, (size_t)(argument_count - optind));
	cmd_keep_rule(source.paths[0]);
	while (write_once(&source, path) && every_s)
		sleep(every_s);
	return 0;
}

static const struct option_row rows[] = {
	{"output", 'o', "FILE", "output file, replaced as a whole (default: standard output)"},
	{"every", OPTION_EVERY, "SECONDS",
		"write the file again and again, with so much time between, until all processes have ended in order "
		"(default: once)"},
	SNAPSHOT_ROW(OPTION_FROM),
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
		"trace is read; of more than 64 ranks that run one page of each, in which the hook keeps figures of its own: "
		"phases and what a rank waits have no lines then. Summaries of pmanalyze reduce are read, too.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Example:\n"
		 "  pmanalyze metrics --every 15 -o /var/lib/node_exporter/train.prom run\n"
		 "\n"
		 "Exit status: 0 success, 1 the run cannot be read, 2 usage error.\n",
	.data = true,
	.run = run_metrics,
};
