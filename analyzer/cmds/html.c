/* pmanalyze html: the report as one HTML file. */
#include "cmd_common.h"
#include "base/output.h"
#include "output/html/html.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "RUN.html"; a folder without a name, as "..", gives "report.html". */
static char *default_path(struct arena *arena, const char *label)
{
	return strspn(label, "./") == strlen(label) ? arena_text(arena, "report.html", 11)
						    : arena_format(arena, "%s.html", label);
}

/* A file that was there stays as it is, unless `force`. */
static FILE *create(struct pm_output *output, const char *path, bool force)
{
	int status = pm_output_open(output, path, !force);
	FILE *out = status < 0 ? NULL : pm_output_stream(output);

	if (status == -EEXIST)
		errx(1, "%s: file exists; --force overwrites it", path);
	if (status < 0)
		errno = -status;
	if (!out)
		err(1, "%s", path);
	return out;
}

static void finish(struct pm_output *output, const char *path)
{
	int status = pm_output_close(output, 0);

	if (status < 0) {
		errno = -status;
		err(1, "%s", path);
	}
}

static int run(int argument_count, char **arguments)
{
	static const struct option options[] = {
		CMD_READ_OPTIONS,
		{"output", required_argument, NULL, 'o'},
		{"force", no_argument, NULL, 'f'},
		{"events", required_argument, NULL, 'e'},
		{0},
	};
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	const char *path = NULL;
	bool force = false;
	size_t event_most = HTML_EVENTS;
	struct pm_output output;
	struct run *runs;
	size_t run_count;
	int option, status = 0;
	FILE *out;

	while ((option = getopt_long(argument_count, arguments, "o:", options, NULL)) != -1) {
		if (option == 'o')
			path = optarg;
		else if (option == 'f')
			force = true;
		else if (option == 'e')
			event_most = (size_t)cmd_number(&cmd_html, "--events", optarg, 0);
		else if (!cmd_common_option(&cmd_html, &how, option, optarg))
			cmd_wrong_option(&cmd_html, options, arguments);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_html, "no run given");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (!path)
		path = default_path(&runs[0].analysis.timeline.arena, runs[0].label);
	out = strcmp(path, "-") == 0 ? stdout : create(&output, path, force);
	html_write(runs, run_count, event_most, isatty(STDERR_FILENO), out);
	if (out != stdout) {
		finish(&output, path);
		printf("%s\n", path);
	}
	for (size_t i = 0; i < run_count; i++)
		if (runs[i].analysis.worker_count == 0) {
			cmd_print_warnings(&runs[i]);
			status = 1;
		}
	cmd_free_runs(runs, run_count);
	return status;
}

const struct command cmd_html = {
	.name = "html",
	.summary = "the complete report as one HTML file with plots",
	.run = run,
	.help = COMMAND_HELP(
		"pmanalyze html - the report as one HTML file\n"
		"\n"
		"usage: pmanalyze html [OPTION]... RUN...\n"
		"\n"
		"Writes one self-contained file that needs no network. It starts with the time\n"
		"of a step and the findings of pmanalyze report, at most six: what each can\n"
		"gain, what it rests on and what to try; or that nothing stands out. Then, what\n"
		"is unavailable from the data. The plots and tables:\n"
		"\n"
		"  Optimization candidates\n"
		"                    predicted saving of single changes (pmanalyze whatif); the\n"
		"                    slowdown, and the imbalance\n"
		"  Critical path     the work that determines the iteration time, and one path\n"
		"                    over its ranks (pmanalyze path)\n"
		"  Phases, layers    by rank, with their imbalance over ranks\n"
		"  Iterations        one over all ranks; and all in sequence, with the exposed\n"
		"                    communication\n"
		"  Idle time by host call (pmanalyze report --calls)\n"
		"  Kernels           what runs on the devices, by name (pmanalyze kernels)\n"
		"  Waiting and stragglers, with causes\n"
		"  Model             predictions of each overlap assumption (pmanalyze model)\n"
		"  Roofline          where operations or bytes are known\n"
		"\n"
		"For traces of labelled phases, the slowdown by imbalance with a cell per\n"
		"worker (pmanalyze slowdown) replaces the first two. Several runs (folders) are\n"
		"compared side by side first. Hovering over a plot shows its numbers; colours\n"
		"follow the reader's light or dark mode, and the page is printable. Prints the\n"
		"name of the file.\n"
		"\n"
		"  -o FILE, --output FILE  output file (default: RUN.html in the current folder;\n"
		"                          - is standard output)\n"
		"  --force                 overwrite an existing file\n"
		"  --events N              events of a run for the timeline (default: 200000,\n"
		"                          some 2 MB; 0: none)\n"
		"  --skip N                leave out the first N usual iterations (default: 1)\n"
		"  --steps A-B             only the steps with these numbers: the program's, or\n"
		"                          places in the run from 0\n" CMD_ITERATION_HELP
		"  --comm-pattern REGEX    other profilers' traces: kernels whose names match\n"
		"                          the extended regular expression also count as\n"
		"                          communication (default: NCCL's names)\n"
		"\n"
		"SCRIPT\n"
		"  Everything can be read without script. With it, tables sort by a click on a\n"
		"  column and filter, findings lead to their layer and to the timeline, and the\n"
		"  timeline over ranks moves (drag, arrows), zooms (ctrl and wheel, + and -),\n"
		"  folds ranks (f) and searches kernels, layers and phases. It has as many\n"
		"  iterations around the one that is drawn as --events has room for, of all\n"
		"  ranks; if there is no room for one, some ranks.\n"
		"\n"
		"PLOTS\n"
		"  The iteration shown over ranks is the one nearest the first rank's median.\n"
		"  Each rank has three lanes: computation, communication, input and copies.\n"
		"  Calls too short to be visible are merged. The critical path shown is the one\n"
		"  nearest the median of the paths.\n"
		"  To keep the file small, some ranks and layers are shown and the others\n"
		"  folded or left out, with a note: 32 ranks over an iteration, 128 in the\n"
		"  layers' imbalance, 8 with all their iterations, 16 in tables; stragglers\n"
		"  first, then the slowest, then the first. Of layers, the 40 costliest; above\n"
		"  150 iterations a bar is the mean of several.\n"
		"\n"
		"Exit status: 0 success, 1 no trace, no iterations or write error, 2 usage\n"
		"error.\n"),
};
