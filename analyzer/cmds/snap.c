/* pmanalyze snap: keeps what a live run's traces have now, before a trace of constant size drops it. */
#include "analyses/summary/reduce.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd.h"
#include "trace/trace.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct snap {
	const char *folder;
	struct arena arena;
	size_t count, failed, moving;
	uint64_t bytes;
};

/* Of one moment, as trace_open has it. */
static void keep(struct snap *snap, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = arena_format(&snap->arena, "%s/%s", snap->folder, slash ? slash + 1 : path);
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
			rc == -EEXIST ? "is there already: name another folder with -o" : strerror(-rc));
		snap->failed++;
	} else {
		snap->count++;
		snap->bytes += trace.size_bytes;
		snap->moving += trace.ring && trace.ring->moving;
	}
	trace_close(&trace);
}

static int run(int argument_count, char **arguments)
{
	struct reduce_files files = {0};
	struct snap snap = {0};
	const char *error;

	for (int option; (option = command_option(&cmd_snap, argument_count, arguments)) != -1;)
		if (option == 'o')
			snap.folder = optarg;
		else
			command_unhandled(&cmd_snap, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_snap, "no run given");
	if (!snap.folder || !*snap.folder)
		cmd_usage(&cmd_snap, "no folder for the copies: add -o FOLDER");
	for (int i = optind; i < argument_count; i++)
		if (reduce_add(&files, arguments[i], -1, &error) < 0)
			errx(1, "%s", error);
	umask(077); /* as the traces: what a program does is its user's affair */
	if (mkdir(snap.folder, 0777) < 0 && errno != EEXIST)
		err(1, "%s", snap.folder);
	for (size_t i = 0; i < files.count; i++)
		keep(&snap, files.items[i]);
	if (snap.moving)
		warnx("%zu trace%s written faster than %s could be copied: some records may be missing",
			snap.moving, snap.moving == 1 ? " was" : "s were", snap.moving == 1 ? "it" : "they");
	if (snap.count)
		printf("%zu trace%s, %.1f MB, in %s\n", snap.count, pm_text_plural(snap.count),
			(double)snap.bytes / 1e6, snap.folder);
	reduce_free(&files);
	arena_free(&snap.arena);
	return snap.failed > 0;
}

static const struct option_row rows[] = {
	{"output", 'o', "FOLDER", "for the copies, under the names of the traces; made if it is not there"},
	{0},
};

const struct command cmd_snap = {
	.name = "snap",
	.summary = "keep what the traces of a live run have now",
	.usage = "-o FOLDER RUN...",
	.about =
		"Copies the traces of each RUN to FOLDER. A program with PMHOOK_MODE=ring goes on writing "
		"into its trace, and drops what is old: the copy keeps what is there now, the beginning, the last "
		"calls and the counts of those between, all of one moment. The ranks' moments differ by the time "
		"that copying takes. The program is not disturbed, and need not run any more.\n",
	.options = OPTION_TABLES(rows),
	.after = "Exit status: 0 success, 1 a trace could not be copied, 2 usage error.\n",
	.run = run,
};
