/* Waiting for processors, as the kernel counts it for each task: see host_wait.h. */
#include "host_wait.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/proc.h"
#include "trace/intern.h"

#define MOST_TASKS 1024u /* of a process with more the first that the kernel lists */

/* An entry of getdents64, as the kernel lays it out. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t byte_count;
	uint8_t type;
	char name[];
};

static struct {
	int process; /* the task that looks has another number */
	uint64_t ran_ns, waited_ns;
	unsigned tasks;
} sum;

/* "ran waited slices", in nanoseconds. */
static void add_task(const char *task)
{
	char path[64], text[96];
	char *end;

	snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", sum.process, task);
	if (!pmh_proc_read_apart(path, text, sizeof text))
		return;
	sum.ran_ns += strtoull(text, &end, 10);
	sum.waited_ns += strtoull(end, NULL, 10);
	sum.tasks++;
}

static long add_tasks(void *unused)
{
	_Alignas(struct entry) char buffer[4096];
	char path[64];
	long got;
	int fd;

	(void)unused;
	snprintf(path, sizeof path, "/proc/%d/task", sum.process);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	while (sum.tasks < MOST_TASKS && (got = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
		for (long at = 0; at < got;) {
			const struct entry *entry = (const void *)(buffer + at);

			if (entry->name[0] != '.')
				add_task(entry->name);
			at += entry->byte_count;
		}
	syscall(SYS_close, fd);
	return 0;
}

void pmh_host_wait_note(void)
{
	char text[96];

	memset(&sum, 0, sizeof sum);
	sum.process = (int)getpid();
	pmh_run_in_clone_task_or_here(add_tasks, NULL);
	if (sum.ran_ns == 0)
		return;
	snprintf(text, sizeof text, "processors: waited %llu us, ran %llu us",
		(unsigned long long)(sum.waited_ns / 1000), (unsigned long long)(sum.ran_ns / 1000));
	pmh_note(text);
}
