/* pmanalyze snap: keeps what a live run's traces have now, before a trace of constant size drops it. */
#include "snap.h"
#include "analyses/summary/reduce.h"
#include "base/output.h"
#include "base/text.h"
#include "trace/trace.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EVERY 15 /* seconds */
#define COPIES 3

enum { OPTION_SLOWER = OPTION_FIRST, OPTION_EVERY, OPTION_COPIES };

/* The copy of a trace, in the arena. */
static const char *copy_name(struct arena *arena, const char *folder, const char *path)
{
	const char *slash = strrchr(path, '/');

	return arena_format(arena, "%s/%s", folder, slash ? slash + 1 : path);
}

static void list_files(struct reduce_files *files, char **runs, size_t run_count)
{
	const char *error;

	for (size_t i = 0; i < run_count; i++)
		if (reduce_add(files, runs[i], -1, &error) < 0)
			errx(1, "%s", error);
}

/* Of one moment, as trace_open has it. */
static void keep(struct snap *snap, const char *path, const char *name)
{
	struct pm_output output;
	struct trace trace;
	FILE *stream;
	int rc;

	if (trace_open(&trace, path) < 0) {
		warnx("%s", trace.error);
		snap->failed++;
		trace_close(&trace);
		return;
	}
	rc = pm_output_open(&output, name, true);
	if (rc == 0) {
		stream = pm_output_stream(&output);
		rc = pm_output_close(&output,
			!stream || fwrite(trace.data, 1, trace.size_bytes, stream) != trace.size_bytes ? errno
												       : 0);
	}
	if (rc < 0) {
		warnx("%s: %s", name,
			rc == -EEXIST ? "already exists: name another folder with -o" : strerror(-rc));
		snap->failed++;
	} else {
		snap->count++;
		snap->bytes += trace.size_bytes;
		snap->moving += trace.ring && trace.ring->moving;
	}
	trace_close(&trace);
}

struct snap snap_copy(char **runs, size_t run_count, const char *folder)
{
	struct reduce_files files = {0};
	struct snap snap = {0};

	list_files(&files, runs, run_count);
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		err(1, "%s", folder);
	for (size_t i = 0; i < files.count; i++)
		keep(&snap, files.items[i], copy_name(&files.arena, folder, files.items[i]));
	reduce_free(&files);
	return snap;
}

void snap_remove(char **runs, size_t run_count, const char *folder)
{
	struct reduce_files files = {0};

	list_files(&files, runs, run_count);
	for (size_t i = 0; i < files.count; i++)
		unlink(copy_name(&files.arena, folder, files.items[i]));
	rmdir(folder);
	reduce_free(&files);
}

/* At once. */
static int copy(char **runs, size_t run_count, const char *folder)
{
	const struct snap snap = snap_copy(runs, run_count, folder);

	if (snap.moving)
		warnx("%zu trace%s written faster than %s could be copied: some records may be missing",
			snap.moving, snap.moving == 1 ? " was" : "s were", snap.moving == 1 ? "it" : "they");
	if (snap.count)
		printf("%zu trace%s, %.1f MB, in %s\n", snap.count, pm_text_plural(snap.count),
			(double)snap.bytes / 1e6, folder);
	return snap.failed > 0;
}

static int run_snap(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP, .whole = true};
	struct snap_watch watch = {.every_s = EVERY, .most = COPIES};
	bool watches = false; /* an option that nothing else needs */

	for (int key; (key = command_option(&cmd_snap, argument_count, arguments)) != -1;)
		switch (key) {
		case 'o':
			watch.folder = optarg;
			break;
		case OPTION_SLOWER:
			watch.slower = command_number(&cmd_snap, key, optarg, 1, 1e6);
			break;
		case OPTION_EVERY:
			watch.every_s = command_number(&cmd_snap, key, optarg, 0.1, 86400);
			watches = true;
			break;
		case OPTION_COPIES:
			watch.most = command_count(&cmd_snap, key, optarg, 1, 1000);
			watches = true;
			break;
		default:
			if (!cmd_common_option(&cmd_snap, &how, key, optarg))
				command_unhandled(&cmd_snap, key);
			watches = true;
		}
	if (optind >= argument_count)
		cmd_usage(&cmd_snap, "no run given");
	if (!watch.folder || !*watch.folder)
		cmd_usage(&cmd_snap, "no folder for the copies: add -o FOLDER");
	if (watches && !(watch.slower > 0))
		cmd_usage(
			&cmd_snap, "--every, --copies and the options that define iterations need --slower");
	umask(077); /* as the traces: what a program does is its user's affair */
	watch.runs = arguments + optind;
	watch.run_count = (size_t)(argument_count - optind);
	watch.how = cmd_run_options(&how);
	return watch.slower > 0 ? snap_watch(&watch) : copy(watch.runs, watch.run_count, watch.folder);
}

static const struct option_row rows[] = {
	{"output", 'o', "FOLDER",
		"folder for the copies, under the names of the traces; with --slower, a subfolder for each; created if missing"},
	{"slower", OPTION_SLOWER, "N",
		"until the run ends copy whenever a new iteration took at least N times the median of its "
		"rank's (default: copy once, now)"},
	{"every", OPTION_EVERY, "SECONDS",
		"with --slower: time from one look to the next, which is longer where a look takes over a fifth "
		"of it; a trace has to hold more than that (default: 15)"},
	{"copies", OPTION_COPIES, "N",
		"with --slower: copies to keep, those of the slowest iterations (default: 3)"},
	{0},
};

const struct command cmd_snap = {
	.name = "snap",
	.summary = "copy the traces of a live run as they are now",
	.usage = "-o FOLDER [--slower N] RUN...",
	.about =
		"Copies the traces of each RUN to FOLDER. A program with PMHOOK_MODE=ring goes on writing "
		"into its trace, and drops what is old: the copy keeps what is there now, the beginning, the last "
		"calls and the counts of those between, all of one moment. The ranks' moments differ by the time "
		"that copying takes. The program is not disturbed, and need not run any more.\n"
		"\n"
		"With --slower the slowest iterations of a run are kept whole, with all that its ranks did around "
		"them: the traces are read again and again, at a low priority, until all processes have ended or "
		"have recorded nothing for ten minutes, and copied to FOLDER/TIME where an iteration took long. "
		"Read a copy as any run: pmanalyze report FOLDER/TIME.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Example:\n"
		 "  pmanalyze snap --slower 1.5 -o slow run\n"
		 "\n"
		 "Exit status: 0 success, 1 a trace could not be read or copied, 2 usage error.\n",
	.run = run_snap,
};
