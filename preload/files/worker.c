/*
 * File input of worker processes: data loaders that read for the training process and make no device call
 * themselves.
 *
 * They leave no trace. What they read is added up in the header of the trace of the process that they work
 * for, which is a shared mapping: a child made by fork has it anyway; one that was started anew finds it in
 * the maps of its parents, at its first read of a data file. One that runs another program than that process
 * reads for itself: compilers, as XLA starts them by the hundred, linkers, shells.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/map.h"
#include "guest/proc.h"
#include "guest/settings.h"
#include "guest/settings_hook.h"
#include "guest/sigbus.h"

#define GENERATIONS 4 /* parents that are looked at: a launcher may stand between */

static struct pm_header *_Atomic boss; /* the header of the process that we read for */
static _Atomic bool sought;
static _Atomic bool counted; /* we are among its workers */
static pmh_lock seeking = ATOMIC_FLAG_INIT;

/* The settings are not read yet in a process that has not decided. Under the lock, or in a child after fork.
 */
static bool is_asked_for(void)
{
	static char room[PMH_SETTINGS_BYTES];
	struct pmh_settings settings;

	pmh_settings_read(&settings, room, NULL, NULL);
	return strcmp(settings.files, "on") == 0 && strcmp(settings.mode, "full") == 0;
}

void pmh_worker_forked(struct pm_header *header)
{
	if (header) {
		atomic_store(&boss, is_asked_for() ? header : NULL);
		atomic_store(&sought, true);
	}
	atomic_store(&counted, false);
	pmh_lock_forget(&seeking);
}

static long sys_open(const char *path, int flags)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

/* Maps the header of a trace if it is that of the given process. */
static struct pm_header *map_header(const char *path, int pid)
{
	long fd = sys_open(path, O_RDWR);
	struct pm_header header;
	struct pmh_map map = {0};

	if (fd < 0)
		return NULL;
	if (syscall(SYS_pread64, fd, &header, sizeof header, (off_t)0) == (long)sizeof header &&
		memcmp(header.magic, PM_MAGIC, sizeof header.magic) == 0 && (int)header.pid == pid &&
		(header.version == PM_VERSION || header.version == PM_VERSION_WHOLE) &&
		header.byte_order == PM_BYTE_ORDER) {
		pmh_sigbus_begin();
		pmh_map(&map, (int)fd, 0, sizeof header);
	}
	syscall(SYS_close, fd);
	return map.start;
}

struct maps {
	int pid;
	struct pm_header *header;
};

/* Looks through a process's maps, in pieces. */
static long find_header(void *data)
{
	static char text[64 << 10]; /* under the lock */
	struct maps *maps = data;
	const int pid = maps->pid;
	char path[64];
	long fd, n;
	size_t used = 0;
	struct pm_header *header = NULL;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	fd = sys_open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	while (!header && (n = syscall(SYS_read, fd, text + used, sizeof text - used - 1)) > 0) {
		char *line = text, *end;

		used += (size_t)n;
		text[used] = 0;
		for (; !header && (end = strchr(line, '\n')); line = end + 1) {
			char *name = memchr(line, '/', (size_t)(end - line));

			*end = 0;
			if (name && end - name > 8 && strcmp(end - 8, ".pmtrace") == 0)
				header = map_header(name, pid);
		}
		used = strlen(line);
		memmove(text, line, used);
		if (used + 1 >= sizeof text)
			used = 0;
	}
	syscall(SYS_close, fd);
	maps->header = header;
	return 0;
}

/* The trace that a process writes: it has the header mapped. */
static struct pm_header *header_of(int pid)
{
	struct maps maps = {.pid = pid};

	pmh_run_in_clone_task_or_here(find_header, &maps);
	return maps.header;
}

/* A child of a worker is one more. In a child of a process that records, core/process.c sees to it. */
static void forked_again(void)
{
	atomic_store(&counted, false);
	pmh_lock_forget(&seeking);
}

static void seek(void *unused)
{
	struct pm_header *found = NULL;
	int pid = (int)getpid();

	(void)unused;
	pmh_acquire(&seeking);
	for (int i = 0; i < GENERATIONS && is_asked_for() && !found && !atomic_load(&sought); i++) {
		pid = pmh_proc_parent(pid);
		if (pid <= 1)
			break;
		found = header_of(pid);
	}
	if (found && !pmh_proc_same_program((int)getpid(), pid))
		found = NULL;
	if (!atomic_exchange(&sought, true)) {
		atomic_store(&boss, found);
		if (found)
			pthread_atfork(NULL, NULL, forked_again);
	}
	pmh_release(&seeking);
}

bool pmh_is_worker(void)
{
	const int saved_errno = errno;

	if (!atomic_load_explicit(&sought, memory_order_acquire)) {
		pmh_run_on_own_stack(seek, NULL);
		errno = saved_errno;
	}
	return atomic_load_explicit(&boss, memory_order_acquire) != NULL;
}

void pmh_worker_read(uint64_t ns, int64_t bytes)
{
	struct pm_header *header = atomic_load_explicit(&boss, memory_order_acquire);

	if (!header || bytes < 0)
		return;
	if (!atomic_exchange(&counted, true))
		__atomic_fetch_add(&header->worker_count, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&header->worker_reads, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&header->worker_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&header->worker_ns, ns, __ATOMIC_RELAXED);
}
