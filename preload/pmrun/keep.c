/*
 * Where ranks are in Python while they make no call, kept beside their traces as NAME.stacks (--hang-after). Who
 * started a process may read its memory also where others of the same user may not (Yama's ptrace_scope 1), and
 * who reads the file may be anyone, on any host, also when the job has ended. The program is not touched.
 */
#include "pmrun.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/trace_live.h"
#include "trace/trace_name.h"

#define LONGEST_S 60 /* between two readings of a process that makes no call */

/* A trace of a process that pmrun started, or that one of these started. */
static struct trace {
	char name[NAME_MAX + 1];
	pid_t pid;
	uint64_t seen_ns; /* its last call, as far as it was known at the last reading */
	double next, wait_s;
} traces[PMRUN_RANKS];

static struct {
	int count;
	double next, wait_s; /* when the folder is looked through again */
} found;

static bool read_page(const char *folder, const char *name, struct trace_live *live)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
	       trace_live_read(path, live) && live->known;
}

static bool is_known(const char *name)
{
	for (int i = 0; i < found.count; i++)
		if (strcmp(traces[i].name, name) == 0)
			return true;
	return false;
}

/* Of a launcher's job the folder has the traces of all ranks, and this one's name has its rank. */
static bool may_be_own(const struct pmrun_options *o, const char *name)
{
	char part[32];

	snprintf(part, sizeof part, ".%d.", o->rank);
	return trace_name_stem(name) > 0 && (!o->launched || strstr(name, part)) && !is_known(name);
}

static void find_traces(const struct pmrun_options *o, const pid_t *pids, int count)
{
	char host[sizeof((struct pm_header *)0)->host] = "";
	DIR *folder = opendir(o->output);
	struct dirent *entry;
	struct trace_live live;

	gethostname(host, sizeof host - 1);
	while (folder && found.count < PMRUN_RANKS && (entry = readdir(folder)))
		if (may_be_own(o, entry->d_name) && read_page(o->output, entry->d_name, &live) &&
			strncmp(live.header.host, host, sizeof host) == 0 &&
			pmrun_is_below((pid_t)live.header.pid, pids, count)) {
			traces[found.count] = (struct trace){.pid = (pid_t)live.header.pid};
			strcpy(traces[found.count++].name, entry->d_name);
		}
	if (folder)
		closedir(folder);
}

static bool path_of(const struct pmrun_options *o, const struct trace *trace, const char *before, const char *end,
	char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s%.*s%s", o->output, before, (int)trace_name_stem(trace->name),
		       trace->name, end) < PATH_MAX;
}

/* A new file takes the place of the old one at once. Where the memory may not be read there is none. */
static void keep(const struct pmrun_options *o, const struct trace *trace)
{
	char trace_path[PATH_MAX], new_path[PATH_MAX], path[PATH_MAX];
	struct stat status;
	struct timespec now;
	bool is_written;
	FILE *file;
	int fd;

	if (!path_of(o, trace, "", ".pmtrace", trace_path) || stat(trace_path, &status) != 0 ||
		!path_of(o, trace, ".", ".stacks", new_path) || !path_of(o, trace, "", ".stacks", path))
		return;
	fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, status.st_mode & 0666);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	fprintf(file, "process %d at %lld\n", (int)trace->pid, (long long)now.tv_sec * 1000000000 + now.tv_nsec);
	is_written = pmrun_write_stacks(trace->pid, file) == NULL;
	if (fclose(file) != 0 || !is_written || rename(new_path, path) != 0)
		unlink(new_path);
}

static void look_at(const struct pmrun_options *o, struct trace *trace, double now)
{
	struct trace_live live;
	char path[PATH_MAX];

	if (now < trace->next || !read_page(o->output, trace->name, &live))
		return;
	if (live.figures.seen_ns != trace->seen_ns || trace->wait_s == 0) {
		trace->seen_ns = live.figures.seen_ns;
		trace->wait_s = o->hang_after > 4 ? o->hang_after / 4.0 : 1;
		if (path_of(o, trace, "", ".stacks", path))
			unlink(path);
	}
	trace->next = now + trace->wait_s;
	if (live.figures.ended_ns || now * 1e9 - (double)trace->seen_ns < 0.5e9 * o->hang_after)
		return;
	keep(o, trace);
	trace->wait_s = 2 * trace->wait_s < LONGEST_S ? 2 * trace->wait_s : LONGEST_S;
	trace->next = now + trace->wait_s;
}

void pmrun_keep_stacks(const struct pmrun_options *o, const pid_t *pids, int count, double now)
{
	if (o->hang_after == 0)
		return;
	if (now >= found.next && (!o->launched || found.count == 0)) {
		find_traces(o, pids, count);
		found.wait_s = found.wait_s == 0 ? 1 : 2 * found.wait_s < LONGEST_S ? 2 * found.wait_s : LONGEST_S;
		found.next = now + found.wait_s;
	}
	for (int i = 0; i < found.count; i++)
		look_at(o, &traces[i], now);
}

void pmrun_keep_end(const struct pmrun_options *o)
{
	struct trace_live live;
	char path[PATH_MAX];

	for (int i = 0; i < found.count; i++)
		if (read_page(o->output, traces[i].name, &live) && live.figures.ended_ns &&
			path_of(o, &traces[i], "", ".stacks", path))
			unlink(path);
}
