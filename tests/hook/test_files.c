/*
 * File input as the trace tells it: reads through every function of libc that is watched give the bytes that
 * were read, under the path of the file; what is no data file, what is read before the first device call, and
 * descriptors that were closed and opened again as something else do not disturb it.
 *
 * Run with libpmhook.so preloaded and PMHOOK_OUT set to an empty folder.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "peek.h"
#include "pm_abi.h"

cudaError_t cudaSetDevice(int device);
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room);
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t count, FILE *stream);

#define FILE_BYTES 10000

static char buffer[FILE_BYTES];
static char data_path[4096];
static unsigned bad;

static void check(bool right, const char *what)
{
	if (!right) {
		printf("wrong: %s\n", what);
		bad++;
	}
}

static void read_in_every_way(void)
{
	struct iovec parts[2] = {{buffer, 100}, {buffer + 100, 50}};
	int fd = open(data_path, O_RDONLY);
	FILE *f = fopen(data_path, "r");
	void *map;

	if (fd < 0 || !f)
		err(1, "%s", data_path);
	check(read(fd, buffer, 11) == 11, "read");
	check(__read_chk(fd, buffer, 12, sizeof buffer) == 12, "__read_chk");
	check(pread(fd, buffer, 13, 1) == 13, "pread");
	check(pread64(fd, buffer, 14, 1) == 14, "pread64");
	check(__pread_chk(fd, buffer, 15, 1, sizeof buffer) == 15, "__pread_chk");
	check(__pread64_chk(fd, buffer, 16, 1, sizeof buffer) == 16, "__pread64_chk");
	check(readv(fd, parts, 2) == 150, "readv");
	check(preadv(fd, parts, 2, 1) == 150, "preadv");
	check(preadv64(fd, parts, 2, 1) == 150, "preadv64");
	check(fread(buffer, 4, 5, f) == 5, "fread");
	check(fread_unlocked(buffer, 4, 6, f) == 6, "fread_unlocked");
	check(__fread_chk(buffer, sizeof buffer, 4, 7, f) == 7, "__fread_chk");
	map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	check(map != MAP_FAILED, "mmap");
	munmap(map, FILE_BYTES);
	map = mmap64(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
	check(map != MAP_FAILED, "mmap64");
	munmap(map, FILE_BYTES);
	/* the end of the file, and an error */
	check(pread(fd, buffer, 10, FILE_BYTES) == 0, "pread at the end");
	check(read(-1, buffer, 10) == -1, "read of no file");
	close(fd);
	fclose(f);
}

/* The same number as the data file had, but a pipe's: not a data file. */
static void reuse_descriptor(void)
{
	int ends[2], fd = open(data_path, O_RDONLY);

	check(read(fd, buffer, 1) == 1, "read before reuse");
	if (pipe(ends) != 0)
		err(1, "pipe");
	dup2(ends[0], fd);
	check(write(ends[1], "abc", 3) == 3 && read(fd, buffer, 3) == 3, "read from a pipe");
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

struct totals {
	const struct peek *trace;
	int64_t bytes;
	unsigned reads, mappings, opens, closes, foreign;
};

static void add(const struct peek_record *r, uint32_t thread, void *data)
{
	struct totals *t = data;
	const struct pm_entry_operation *op = peek_operation(t->trace, r->op);
	const char *text = peek_function(t->trace, op->function);

	(void)thread;
	if (strncmp(text, "libc ", 5) != 0)
		return;
	t->foreign += strcmp(peek_string(t->trace, (uint32_t)op->values[0]), data_path) != 0;
	if (strncmp(text, "libc READ", 9) == 0) {
		t->reads++;
		t->bytes += r->result;
	} else if (strstr(text, "mmap")) {
		t->mappings += op->values[1] == FILE_BYTES;
	} else if (strstr(text, "open")) {
		t->opens++;
	} else if (strstr(text, "close")) {
		t->closes++;
	}
}

int main(void)
{
	int fd;
	struct totals t = {0};
	struct peek trace;

	if (!getenv("PMHOOK_OUT")) {
		puts("PMHOOK_OUT is not set");
		return 77;
	}
	snprintf(data_path, sizeof data_path, "%s/data.bin", getenv("SCRATCH"));
	fd = open(data_path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, buffer, sizeof buffer) != sizeof buffer)
		err(1, "%s", data_path);
	/* no device call yet: not recorded */
	check(pread(fd, buffer, 5, 0) == 5, "read before the first device call");
	close(fd);
	check(access(peek_only(getenv("PMHOOK_OUT")), F_OK) != 0, "no trace before the first device call");

	cudaSetDevice(0);
	read_in_every_way();
	reuse_descriptor();
	fd = open("/proc/self/status", O_RDONLY);
	check(read(fd, buffer, 10) == 10, "read of a file of the kernel");
	close(fd);

	trace = peek_open(peek_only(getenv("PMHOOK_OUT")));
	t.trace = &trace;
	peek_records(&trace, add, &t);
	check(t.reads == 14, "the number of reads");
	check(t.bytes == 11 + 12 + 13 + 14 + 15 + 16 + 3 * 150 + 4 * (5 + 6 + 7) + 1, "the bytes read");
	check(t.mappings == 2, "the mappings");
	check(t.opens == 3 && t.closes >= 2, "opens and closes");
	check(t.foreign == 0, "only the data file is named");
	printf("%u reads, %lld bytes, %u mappings, %u opens, %u closes\n", t.reads, (long long)t.bytes,
		t.mappings, t.opens, t.closes);
	return bad != 0;
}
