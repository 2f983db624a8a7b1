/* Files of /proc, read by system calls of our own: see proc.h. */
#include "proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

struct content {
	const char *path;
	char *text;
	size_t text_bytes;
};

size_t pmh_proc_read_apart(const char *path, char *text, size_t text_bytes)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), n;
	size_t used = 0;

	if (fd < 0)
		return 0;
	while (used + 1 < text_bytes && (n = syscall(SYS_read, fd, text + used, text_bytes - used - 1)) > 0)
		used += (size_t)n;
	syscall(SYS_close, fd);
	text[used] = 0;
	return used;
}

static long read_content(void *data)
{
	const struct content *c = data;

	return (long)pmh_proc_read_apart(c->path, c->text, c->text_bytes);
}

size_t pmh_proc_read(const char *path, char *text, size_t text_bytes)
{
	struct content c = {path, text, text_bytes};

	return (size_t)pmh_run_in_clone_task_or_here(read_content, &c);
}

int pmh_proc_parent(int pid)
{
	char path[64], text[1024];
	const char *end;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	/* pid (name) state parent: the name may hold anything */
	if (!pmh_proc_read(path, text, sizeof text) || !(end = strrchr(text, ')')) || strlen(end) < 5)
		return 0;
	return atoi(end + 4);
}

static long program_of(int pid, char *path, size_t path_bytes)
{
	char link[64];

	snprintf(link, sizeof link, "/proc/%d/exe", pid);
	return syscall(SYS_readlinkat, AT_FDCWD, link, path, path_bytes);
}

bool pmh_proc_same_program(int pid, int other)
{
	char path[1024], other_path[1024];
	const long n = program_of(pid, path, sizeof path);

	return n > 0 && program_of(other, other_path, sizeof other_path) == n &&
	       memcmp(path, other_path, (size_t)n) == 0;
}
