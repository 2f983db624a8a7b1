/*
 * Whether a rank that makes no call works: it writes a checkpoint, reads its data, compiles. The system is
 * asked twice, a moment apart, how long the process and all below it have had a processor and what they have
 * read and written.
 */
#include "hang_private.h"
#include "timeline/thresholds.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOMENT_NS 500000000
#define DEPTH 64             /* of processes below each other */

struct used {
	double processor_s, read, written;
	bool runs; /* one of its processes has a processor, or waits for one */
	size_t process_count;
};

struct process {
	uint32_t pid, parent;
	double processor_s;
	bool runs;
};

struct processes {
	struct process *items;
	size_t count, room;
};

/* False: it has ended. */
static bool read_process(const char *name, struct process *process)
{
	unsigned long user, system;
	char text[1024];
	const char *at = hang_process_stat(name, text, sizeof(text));

	if (!at || sscanf(at, "%*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &process->parent, &user,
			   &system) != 3)
		return false;
	process->runs = *at == 'R';
	process->pid = (uint32_t)strtoul(name, NULL, 10);
	process->processor_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return true;
}

static int by_pid(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static void read_processes(struct processes *processes)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	struct process process;

	while (folder && (entry = readdir(folder)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) && read_process(entry->d_name, &process))
			*MEM_PUSH(processes->items, processes->count, processes->room) = process;
	if (folder)
		(void)closedir(folder);
	if (processes->count > 1)
		qsort(processes->items, processes->count, sizeof(*processes->items), by_pid);
}

static void add_bytes(uint32_t pid, struct used *used)
{
	char path[32], line[64];
	unsigned long long bytes;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/io", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "rchar: %llu", &bytes) == 1)
			used->read += (double)bytes;
		else if (sscanf(line, "wchar: %llu", &bytes) == 1)
			used->written += (double)bytes;
	if (file)
		(void)fclose(file);
}

static bool is_below(const struct processes *processes, const struct process *process, uint32_t ancestor)
{
	for (int depth = 0; process && depth < DEPTH; depth++) {
		const struct process parent = {.pid = process->parent};

		if (process->pid == ancestor)
			return true;
		process = bsearch(&parent, processes->items, processes->count, sizeof(parent), by_pid);
	}
	return false;
}

static void read_used(const struct hang *hang, const size_t *ranks, size_t count, struct used *used)
{
	struct processes processes = {0};

	read_processes(&processes);
	for (size_t i = 0; i < count; i++) {
		used[i] = (struct used){0};
		for (size_t p = 0; p < processes.count; p++)
			if (is_below(&processes, &processes.items[p],
				    hang->ranks[ranks[i]]->trace.header.pid)) {
				used[i].processor_s += processes.items[p].processor_s;
				used[i].runs |= processes.items[p].runs;
				used[i].process_count++;
				add_bytes(processes.items[p].pid, &used[i]);
			}
	}
	free(processes.items);
}

/* A child that ended in between took its own with it. */
static double rate(double before, double after, double seconds)
{
	return after > before ? (after - before) / seconds : 0;
}

bool hang_progress_is_work(const struct hang_progress *progress)
{
	return progress->processors >= HANG_WORKS_PROCESSORS ||
	       progress->read_bytes + progress->written_bytes >= HANG_WORKS_BYTES;
}

void hang_look_at(struct hang *hang, const size_t *ranks, size_t count)
{
	size_t *seen = arena_alloc(&hang->arena, count, sizeof(*seen)), seen_count = 0;
	struct used *before = arena_alloc(&hang->arena, count, sizeof(*before)),
		    *after = arena_alloc(&hang->arena, count, sizeof(*after));
	const struct timespec moment = {.tv_nsec = MOMENT_NS};
	struct timespec from, to;
	double seconds;

	for (size_t i = 0; i < count && !hang->over; i++)
		if (hang->ranks[ranks[i]]->process == HANG_RUNS && !hang->ranks[ranks[i]]->progress.calls &&
			hang_class_of(hang, hang->ranks[ranks[i]]) == HANG_IS_OUTSIDE)
			seen[seen_count++] = ranks[i];
	if (seen_count == 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &from);
	read_used(hang, seen, seen_count, before);
	nanosleep(&moment, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	read_used(hang, seen, seen_count, after);
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	for (size_t i = 0; i < seen_count; i++) {
		struct hang_progress *p = &hang->ranks[seen[i]]->progress;

		p->processors = rate(before[i].processor_s, after[i].processor_s, seconds);
		p->read_bytes = rate(before[i].read, after[i].read, seconds);
		p->written_bytes = rate(before[i].written, after[i].written, seconds);
		p->works = hang_progress_is_work(p) || (before[i].runs && after[i].runs) ||
			   before[i].process_count != after[i].process_count;
	}
}

void hang_find_calls(struct hang *hang, const size_t *ranks, size_t count, int64_t patience_ns)
{
	for (size_t i = 0; i < count && !hang->over; i++) {
		struct hang_rank *rank = hang->ranks[ranks[i]];

		if (rank->process == HANG_RUNS &&
			hang->now_ns - hang_real_ns(rank, rank->standing.last_ns) < patience_ns)
			rank->progress.calls = rank->progress.works = true;
	}
}

const char *hang_progress_words(struct hang *hang, const struct hang_progress *progress)
{
	if (progress->calls)
		return "works: it makes calls on its own device";
	return arena_format(&hang->arena, "works: %.1f processors, %.1f MB/s read, %.1f MB/s written",
		progress->processors, progress->read_bytes / 1e6, progress->written_bytes / 1e6);
}
