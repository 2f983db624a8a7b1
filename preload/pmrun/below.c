/*
 * The processes that ranks have started, loaders' workers above all: a rank that is killed leaves them
 * after, with its memory and its GPU. They are listed while the rank, by which they are found, is still
 * there.
 */
#include "pmrun.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64 /* of processes below each other */

struct process {
	pid_t pid, parent, session;
	unsigned long long started; /* tells it from another with its number */
};

struct processes {
	struct process *items;
	size_t count;
};

static struct processes listed; /* below the ranks, as far as they were found */

/* False: there is no such process. */
static bool read_process(const char *pid, struct process *process)
{
	char path[64], text[1024], *at;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%.16s/stat", pid);
	file = fopen(path, "re");
	if (file) {
		size = fread(text, 1, sizeof text - 1, file);
		fclose(file);
	}
	text[size] = 0;
	at = strrchr(text, ')'); /* its name may have any characters */
	process->pid = atoi(pid);
	return at &&
	       sscanf(at + 1,
		       " %*c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		       &process->parent, &process->session, &process->started) == 3;
}

static void below_add(struct processes *list, const struct process *process)
{
	struct process *more = realloc(list->items, (list->count + 1) * sizeof *more);

	if (!more)
		return;
	list->items = more;
	list->items[list->count++] = *process;
}

static const struct process *find(const struct processes *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].pid == pid)
			return &list->items[i];
	return NULL;
}

/* Has the rank, or a process below it, started this one? One with a session of its own was meant to outlive
 * it. */
static bool is_below(const struct processes *all, const struct process *process, pid_t rank)
{
	const struct process *top = find(all, rank), *at = process;

	if (!top || process->pid == rank || process->session != top->session)
		return false;
	for (int depth = 0; at && depth < DEPTH; depth++) {
		if (at->parent == rank)
			return true;
		at = find(all, at->parent);
	}
	return false;
}

bool pmrun_is_below(pid_t pid, const pid_t *pids, int count)
{
	struct process process;
	char text[16];

	for (int depth = 0; pid > 1 && depth < DEPTH; depth++) {
		for (int i = 0; i < count; i++)
			if (pids[i] == pid)
				return true;
		snprintf(text, sizeof text, "%d", pid);
		if (!read_process(text, &process))
			return false;
		pid = process.parent;
	}
	return false;
}

void pmrun_list_below(const pid_t *pids, int count)
{
	DIR *folder = opendir("/proc");
	struct processes all = {0};
	struct process process;
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]) && read_process(entry->d_name, &process))
			below_add(&all, &process);
	if (folder)
		closedir(folder);
	for (size_t i = 0; i < all.count; i++)
		for (int r = 0; r < count; r++)
			if (pids[r] && !find(&listed, all.items[i].pid) &&
				is_below(&all, &all.items[i], pids[r]))
				below_add(&listed, &all.items[i]);
	free(all.items);
}

void pmrun_kill_below(void)
{
	struct process now;
	char pid[16];

	for (size_t i = 0; i < listed.count; i++) {
		snprintf(pid, sizeof pid, "%d", listed.items[i].pid);
		if (read_process(pid, &now) && now.started == listed.items[i].started)
			kill(now.pid, SIGKILL);
	}
	free(listed.items);
	listed = (struct processes){0};
}
