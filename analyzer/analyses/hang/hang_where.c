/*
 * Where a thread that makes no recorded call is: the system call that it is in, and on which file or socket,
 * as far as the system says it. Nothing is asked of the process.
 */
#include "base/table.h"
#include "hang_private.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* What a system call's arguments name. */
enum names { NAMES_NOTHING, NAMES_FILE, NAMES_PATH, NAMES_PATH_AT };

/* Those that may take long. */
static const struct call {
	long number;
	const char *name, *words; /* words: what it waits for; NULL: the name says it */
	enum names names;
} calls[] = {
	{SYS_read, "read", NULL, NAMES_FILE},
	{SYS_pread64, "pread64", NULL, NAMES_FILE},
	{SYS_readv, "readv", NULL, NAMES_FILE},
	{SYS_write, "write", NULL, NAMES_FILE},
	{SYS_pwrite64, "pwrite64", NULL, NAMES_FILE},
	{SYS_writev, "writev", NULL, NAMES_FILE},
	{SYS_close, "close", NULL, NAMES_FILE},
	{SYS_fsync, "fsync", NULL, NAMES_FILE},
	{SYS_fdatasync, "fdatasync", NULL, NAMES_FILE},
	{SYS_ftruncate, "ftruncate", NULL, NAMES_FILE},
	{SYS_fallocate, "fallocate", NULL, NAMES_FILE},
	{SYS_getdents64, "getdents64", NULL, NAMES_FILE},
	{SYS_flock, "flock", "another process has the lock", NAMES_FILE},
	{SYS_fcntl, "fcntl", NULL, NAMES_FILE},
	{SYS_ioctl, "ioctl", NULL, NAMES_FILE},
	{SYS_recvfrom, "recvfrom", NULL, NAMES_FILE},
	{SYS_recvmsg, "recvmsg", NULL, NAMES_FILE},
	{SYS_sendto, "sendto", NULL, NAMES_FILE},
	{SYS_sendmsg, "sendmsg", NULL, NAMES_FILE},
	{SYS_connect, "connect", NULL, NAMES_FILE},
	{SYS_accept, "accept", NULL, NAMES_FILE},
	{SYS_accept4, "accept4", NULL, NAMES_FILE},
	{SYS_openat, "openat", NULL, NAMES_PATH_AT},
	{SYS_newfstatat, "newfstatat", NULL, NAMES_PATH_AT},
	{SYS_futex, "futex", "a lock, or another thread", NAMES_NOTHING},
	{SYS_ppoll, "ppoll", "files or sockets, or a time", NAMES_NOTHING},
	{SYS_pselect6, "pselect6", "files or sockets, or a time", NAMES_NOTHING},
	{SYS_epoll_pwait, "epoll_pwait", "files or sockets", NAMES_NOTHING},
	{SYS_nanosleep, "nanosleep", "a time", NAMES_NOTHING},
	{SYS_clock_nanosleep, "clock_nanosleep", "a time", NAMES_NOTHING},
	{SYS_wait4, "wait4", "a child process", NAMES_NOTHING},
	{SYS_waitid, "waitid", "a child process", NAMES_NOTHING},
	{SYS_rt_sigtimedwait, "rt_sigtimedwait", "a signal", NAMES_NOTHING},
	{SYS_rt_sigsuspend, "rt_sigsuspend", "a signal", NAMES_NOTHING},
#ifdef SYS_open
	{SYS_open, "open", NULL, NAMES_PATH},
	{SYS_stat, "stat", NULL, NAMES_PATH},
	{SYS_poll, "poll", "files or sockets, or a time", NAMES_NOTHING},
	{SYS_select, "select", "files or sockets, or a time", NAMES_NOTHING},
	{SYS_epoll_wait, "epoll_wait", "files or sockets", NAMES_NOTHING},
	{SYS_pause, "pause", "a signal", NAMES_NOTHING},
#endif
};

static const struct call *find_call(long number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* A file of /proc/PID/task/TID, its first line without the end; "": it cannot be read. */
static void read_line(uint32_t pid, uint32_t tid, const char *name, char *line, int line_bytes)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", pid, tid, name);
	file = fopen(path, "re");
	if (!file || !fgets(line, line_bytes, file))
		*line = 0;
	line[strcspn(line, "\n")] = 0;
	if (file)
		(void)fclose(file);
}

/* ---- files and sockets ---- */

/* "10.0.0.3:443" of a line's remote address, which is in the machine's order of bytes. */
static const char *peer_words(struct hang *hang, const char *address, unsigned port)
{
	unsigned bytes[4];

	if (strlen(address) == 8 &&
		sscanf(address, "%2x%2x%2x%2x", &bytes[3], &bytes[2], &bytes[1], &bytes[0]) == 4)
		return arena_format(
			&hang->arena, "%u.%u.%u.%u:%u", bytes[0], bytes[1], bytes[2], bytes[3], port);
	return arena_format(&hang->arena, "port %u of a host", port); /* IPv6 */
}

/* The peer of a TCP socket in one of the system's tables; NULL: it is not there. */
static const char *find_peer(struct hang *hang, uint32_t pid, const char *table, unsigned long inode)
{
	char path[64], line[512], address[33];
	const char *peer = NULL;
	unsigned long found;
	unsigned port;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/net/%s", pid, table);
	file = fopen(path, "re");
	while (file && !peer && fgets(line, sizeof(line), file))
		if (sscanf(line, " %*d: %*32[0-9A-Fa-f]:%*x %32[0-9A-Fa-f]:%x %*x %*s %*s %*s %*u %*d %lu",
			    address, &port, &found) == 3 &&
			found == inode)
			peer = peer_words(hang, address, port);
	if (file)
		(void)fclose(file);
	return peer;
}

static const char *file_words(struct hang *hang, uint32_t pid, unsigned long fd)
{
	char path[64], target[PATH_MAX];
	const char *peer;
	unsigned long inode;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/fd/%lu", pid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return arena_format(&hang->arena, "file descriptor %lu", fd);
	target[n] = 0;
	if (sscanf(target, "socket:[%lu]", &inode) != 1)
		return arena_format(&hang->arena, "%s (descriptor %lu)",
			strncmp(target, "pipe:", 5) == 0 ? "a pipe" : print_clean(&hang->arena, target), fd);
	peer = find_peer(hang, pid, "tcp", inode);
	peer = peer ? peer : find_peer(hang, pid, "tcp6", inode);
	return peer ? arena_format(&hang->arena, "a socket to %s (descriptor %lu)", peer, fd)
		    : arena_format(&hang->arena, "a socket (descriptor %lu)", fd);
}

/* A text in the memory of the process, where it may be read. */
static const char *path_words(struct hang *hang, uint32_t pid, unsigned long address)
{
	char text[PATH_MAX];
	size_t used = 0;

	while (used < sizeof(text) - 1) {
		const size_t page = 4096 - (address + used) % 4096, room = sizeof(text) - 1 - used;
		struct iovec to = {text + used, page < room ? page : room};
		struct iovec from = {
			(void *)(address + used), to.iov_len}; // NOLINT(performance-no-int-to-ptr)
		const ssize_t n = process_vm_readv((pid_t)pid, &to, 1, &from, 1, 0);

		if (n <= 0)
			return "a file";
		if (memchr(text + used, 0, (size_t)n))
			return print_clean(&hang->arena, text);
		used += (size_t)n;
	}
	return "a file";
}

/* ---- the thread ---- */

static const char *call_words(struct hang *hang, uint32_t pid, long number, const unsigned long *arguments)
{
	const struct call *call = find_call(number);

	if (!call)
		return arena_format(&hang->arena, "is in system call %ld", number);
	switch (call->names) {
	case NAMES_FILE:
		return arena_format(&hang->arena, "is in %s of %s%s%s", call->name,
			file_words(hang, pid, arguments[0]), call->words ? ": " : "",
			call->words ? call->words : "");
	case NAMES_PATH:
	case NAMES_PATH_AT:
		return arena_format(&hang->arena, "is in %s of %s", call->name,
			path_words(hang, pid, arguments[call->names == NAMES_PATH_AT]));
	case NAMES_NOTHING:
		break;
	}
	return arena_format(&hang->arena, "is in %s: it waits for %s", call->name, call->words);
}

/* Where the kernel has put the thread to sleep, which may be read where its call may not. */
static const char *sleep_words(struct hang *hang, uint32_t pid, uint32_t tid)
{
	char state[1024], channel[128];
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "%u/task/%u", pid, tid);
	at = hang_process_stat(path, state, sizeof(state));
	read_line(pid, tid, "wchan", channel, sizeof(channel));
	if (!at)
		return NULL;
	if (*at == 'R')
		return "is running: it computes";
	if (*channel && strcmp(channel, "0") != 0)
		return arena_format(
			&hang->arena, "sleeps in the kernel's %s", print_clean(&hang->arena, channel));
	return *at == 'D'
		       ? "sleeps in the kernel and takes no signals: a file system or device does not answer"
		       : NULL;
}

/* The thread whose state is the rank's; where it has made no call, the process's first. */
static uint32_t thread_of(const struct hang_rank *rank)
{
	return rank->thread && rank->thread->tid ? rank->thread->tid : rank->trace.header.pid;
}

/* NULL: the system does not say. */
static const char *kernel_words(struct hang *hang, uint32_t pid, uint32_t tid)
{
	unsigned long arguments[3];
	char line[256];
	long number;

	read_line(pid, tid, "syscall", line, sizeof(line));
	if (strncmp(line, "running", 7) == 0)
		return "is running: it computes";
	if (sscanf(line, "%ld 0x%lx 0x%lx 0x%lx", &number, &arguments[0], &arguments[1], &arguments[2]) ==
			4 &&
		number >= 0)
		return call_words(hang, pid, number, arguments);
	return sleep_words(hang, pid, tid);
}

#define FRAMES_FIRST \
	3 /* of many, so many of the innermost and of the outermost are shown; the table has all */
#define FRAMES_LAST 2

static const char *short_stack(struct hang *hang, const char *stack)
{
	const char *frames[64];
	size_t count = 0;

	for (const char *at = stack; at && count < sizeof(frames) / sizeof(*frames);
		at = at ? at + 3 : NULL) {
		frames[count++] = at;
		at = strstr(at, " < ");
	}
	if (count <= FRAMES_FIRST + FRAMES_LAST)
		return stack;
	return arena_format(&hang->arena, "%.*s... < %s", (int)(frames[FRAMES_FIRST] - stack), stack,
		frames[count - FRAMES_LAST]);
}

/* What the rank's own pmrun has read; the thread whose state is the rank's may not be of Python. */
static const char *kept_words(struct hang *hang, const struct hang_rank *rank, const char *python)
{
	return arena_format(&hang->arena, "was in Python at %s, as its pmrun read %s%s", short_stack(hang, python),
		hang->over ? hang_duration(hang, (double)(rank->stacks_ns - hang_real_ns(rank, rank->standing.last_ns)))
			   : hang_age(hang, rank->stacks_ns),
		hang->over ? " after its last call" : " ago");
}

const char *hang_where(struct hang *hang, struct hang_rank *rank)
{
	const uint32_t pid = rank->trace.header.pid, tid = thread_of(rank);
	const bool runs = rank->process == HANG_RUNS && !hang->over;
	const char *kernel, *python, *kept;

	kernel = runs ? kernel_words(hang, pid, tid) : NULL;
	hang_read_stacks(hang, rank);
	python = hang_python(rank, tid);
	if (!python)
		return kernel;
	if (rank->stacks_ns) {
		kept = kept_words(hang, rank, python);
		return kernel ? arena_format(&hang->arena, "%s, and %s", kernel, kept) : kept;
	}
	return arena_format(&hang->arena, "is in Python at %s%s%s", short_stack(hang, python),
		kernel ? ", and " : "", kernel ? kernel : "");
}

const char *hang_look_further(struct hang *hang, const struct hang_rank *rank)
{
	const struct pm_header *header = &rank->trace.header;
	const bool is_python = strncmp(header->program, "python", 6) == 0;

	return arena_format(&hang->arena, "Its stacks, on host %s: %s%u",
		print_clean(&hang->arena, header->host),
		is_python ? "py-spy dump --pid " : "gdb --batch -ex 'thread apply all bt' -p ", header->pid);
}
