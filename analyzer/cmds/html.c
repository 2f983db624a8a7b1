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
		errx(1, "%s: there is such a file; --force overwrites it", path);
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
		{"skip", required_argument, NULL, 's'},
		{"output", required_argument, NULL, 'o'},
		{"force", no_argument, NULL, 'f'},
		{0},
	};
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	const char *path = NULL;
	bool force = false;
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
		else if (!cmd_common_option(&cmd_html, &how, option, optarg))
			cmd_usage(&cmd_html, "the command line is wrong");
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_html, "no run named");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (!path)
		path = default_path(&runs[0].analysis.timeline.arena, runs[0].label);
	out = strcmp(path, "-") == 0 ? stdout : create(&output, path, force);
	html_write(runs, run_count, isatty(STDERR_FILENO), out);
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
	.summary = "all of it as one HTML file with pictures",
	.run = run,
	.help = "pmanalyze html - the report as one HTML file\n"
		"\n"
		"usage: pmanalyze html [OPTION]... RUN...\n"
		"\n"
		"Writes one file that needs nothing else: no network and no script. First it\n"
		"says what bounds the run, then at most five findings: the rank, layer or cause,\n"
		"what it costs and what to try; or that nothing stands out. Then, what the data\n"
		"do not tell. The pictures:\n"
		"\n"
		"  What would help   what an iteration would save if one thing were changed, as\n"
		"                    pmanalyze whatif has it; the slowdown, and the imbalance\n"
		"  Critical path     what iterations wait for, and one of them over its ranks\n"
		"                    (pmanalyze path)\n"
		"  Phases, layers    by rank, with their imbalance over ranks\n"
		"  Iterations        one over all ranks; and all, one after another, with the\n"
		"                    communication that nothing hides\n"
		"  Who waits for whom, and why\n"
		"  Model             predicted by each assumption of overlap (pmanalyze model)\n"
		"  Roofline          where operations or bytes are known\n"
		"\n"
		"Of traces of labelled phases there is the slowdown by uneven work with a cell\n"
		"for each worker (pmanalyze slowdown) in place of the first two. Several runs\n"
		"(folders) are first put side by side. Pointing at a picture tells its numbers;\n"
		"colours follow the reader's choice of light or dark, and the page can be\n"
		"printed. Prints the name of the file.\n"
		"\n"
		"  -o FILE, --output FILE  where to (default: RUN.html here; - is standard\n"
		"                          output)\n"
		"  --force                 also over a file that is there\n"
		"  --skip N                usual iterations at the begin that are left out\n"
		"                          (default: 1)\n"
		"  --comm-pattern REGEX    of other profilers' traces: kernels whose name the\n"
		"                          extended regular expression finds are communication\n"
		"                          too (default: those with NCCL's names)\n"
		"\n"
		"PICTURES\n"
		"  The iteration shown over ranks is the one nearest the first rank's median.\n"
		"  Each rank has three lanes: computation, communication, input and copies.\n"
		"  Calls too short to be seen are drawn together. The iteration whose path is\n"
		"  drawn is the one nearest the median of the paths.\n"
		"  So that the file stays small, some ranks and layers are shown and the\n"
		"  others folded or left out, which is said there: 32 ranks over an iteration,\n"
		"  128 among the layers' imbalance, 8 with all their iterations, 16 in tables;\n"
		"  those that others wait for, the slowest, then the first. Of layers, the 40\n"
		"  dearest; above 150 iterations a bar is the mean of several.\n"
		"\n"
		"Exit status: 0 done, 1 no trace, no iterations or not written, 2 wrong usage.\n",
};
