/* pmanalyze html: the report as one HTML file. */
#include "cmd_common.h"
#include "base/output.h"
#include "output/html/html.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "RUN.html"; a folder without a name, as "..", gives "report.html". */
static char *default_path(struct arena *arena, const char *label)
{
	return strspn(label, "./") == strlen(label) ? arena_text(arena, "report.html", 11)
						    : arena_format(arena, "%s.html", label);
}

enum { OPTION_FORCE = OPTION_FIRST, OPTION_EVENTS };

static int run_html(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	const char *path = NULL;
	bool force = false;
	size_t event_most = HTML_EVENTS;
	struct pm_output output;
	struct run *runs;
	size_t run_count;
	int option, status = 0;
	FILE *out;

	while ((option = command_option(&cmd_html, argument_count, arguments)) != -1) {
		if (option == 'o')
			path = optarg;
		else if (option == OPTION_FORCE)
			force = true;
		else if (option == OPTION_EVENTS)
			event_most = command_count(&cmd_html, option, optarg, 0, SIZE_MAX);
		else if (!cmd_common_option(&cmd_html, &how, option, optarg))
			command_unhandled(&cmd_html, option);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_html, "no run given");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (!path)
		path = default_path(&runs[0].analysis.timeline.arena, runs[0].label);
	out = strcmp(path, "-") == 0 ? stdout : pm_output_create(&output, path, !force);
	html_write(runs, run_count, event_most, isatty(STDERR_FILENO), out);
	if (out != stdout) {
		pm_output_finish(&output, path);
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

static const struct option_row rows[] = {
	{"output", 'o', "FILE",
		"output file (default: RUN.html in the current folder; - is standard output)"},
	{"force", OPTION_FORCE, NULL, "overwrite an existing file"},
	{"events", OPTION_EVENTS, "N",
		"events of a run for the timeline (default: 200000, some 2 MB; 0: none)"},
	{0},
};

const struct command cmd_html = {
	.name = "html",
	.summary = "the complete report as one HTML file with plots",
	.usage = "[OPTION]... RUN...",
	.about = "Writes one self-contained file that needs no network. It starts with the "
		 "time of a step and the findings of pmanalyze report, at most six: what each can "
		 "gain, what it rests on and what to try; or that nothing stands out. Then, what "
		 "is unavailable from the data. The plots and tables:\n"
		 "\n"
		 "  Optimization candidates\tpredicted saving of single changes (pmanalyze whatif); "
		 "the slowdown, and the imbalance\n"
		 "  Critical path\tthe work that determines the iteration time, and one path over "
		 "its ranks (pmanalyze path)\n"
		 "  Phases, layers\tby rank, with their imbalance over ranks\n"
		 "  Iterations\tone over all ranks; and all in sequence, with the exposed "
		 "communication\n"
		 "  Idle time by host call\tpmanalyze report --calls\n"
		 "  Kernels\twhat runs on the devices, by name (pmanalyze kernels)\n"
		 "  Waiting and stragglers\twith causes\n"
		 "  Model\tpredictions of each overlap assumption (pmanalyze model)\n"
		 "  Roofline\twhere operations or bytes are known\n"
		 "\n"
		 "For traces of labelled phases, the slowdown by imbalance with a cell per worker "
		 "(pmanalyze slowdown) replaces the first two. Several runs (folders) are compared "
		 "side by side first. Hovering over a plot shows its numbers; colours follow the "
		 "reader's light or dark mode, and the page is printable. Prints the name of the "
		 "file.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "SCRIPT\n"
		 "  Everything can be read without script. With it, tables sort by a click on a column "
		 "and filter, findings lead to their layer and to the timeline, and the timeline over "
		 "ranks moves (a and d, arrows, drag, the overview above it), zooms (w and s, + and -, "
		 "ctrl and wheel, after a click the wheel alone), folds ranks (f) and searches kernels, "
		 "host calls, layers and phases; a click on a box of the flame graph makes it as wide "
		 "as the page. The timeline has as many iterations around the one that "
		 "is drawn as --events has room for, of all ranks; if there is no room for one, some "
		 "ranks.\n"
		 "\n"
		 "PLOTS\n"
		 "  The iteration shown over ranks and on the critical path is the one of the first "
		 "rank whose phases are nearest its medians. Each rank has lanes of the host, ranges "
		 "of NVTX and record_function, the layer that the host is in and its calls, in the "
		 "colour of the work that they launch or apart where it is blocked, and of the GPU: "
		 "compute, communication, copies. Calls too short to be visible are merged. The flame "
		 "graph has GPU time by module, by operator where PyTorch's were recorded, and by "
		 "kernel. To keep the file small, some ranks and layers are shown "
		 "and the others folded or left out, with a note: 32 ranks over an iteration, 128 "
		 "in the layers' imbalance, 8 with all their iterations, 16 in tables; stragglers "
		 "first, then the slowest, then the first. Of layers, the 40 costliest; above 150 "
		 "iterations a bar is the mean of several.\n"
		 "\n"
		 "Exit status: 0 success, 1 no trace, no iterations or write error, 2 usage error.\n",
	.data = true,
	.run = run_html,
};
