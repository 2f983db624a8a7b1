/*
 * A table that grows: see export_table in export.h. Whoever writes has the file's lock, so the header that
 * was looked at is the one that the lines go under, and a table to which they could not all be written gets
 * its old length back.
 */
#include "export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((format(printf, 2, 3))) static int fail(char **error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (vasprintf(error, format, list) < 0)
		*error = NULL;
	va_end(list);
	return -1;
}

/* Reads exactly so many bytes at an offset: 0 or -errno. */
static int read_at(int file, char *bytes, size_t count, off_t offset)
{
	while (count > 0) {
		ssize_t got = pread(file, bytes, count, offset);

		if (got == 0)
			return -EIO;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0) {
			bytes += got;
			offset += got;
			count -= (size_t)got;
		}
	}
	return 0;
}

static int write_all(int file, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t written = write(file, bytes, count);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			bytes += written;
			count -= (size_t)written;
		}
	}
	return 0;
}

/* Does the file, which is not empty, begin with our header line and end with a whole line? */
static int check_table(const char *path, int file, off_t size, char **error)
{
	const char *names = export_observation_names();
	size_t length = strlen(names) + 1;
	char *head = mem_alloc(length + 1, 1), last;
	size_t count = size < (off_t)length ? (size_t)size : length;
	int wrong = read_at(file, head, count, 0), status = 0;

	if (wrong == 0)
		wrong = read_at(file, &last, 1, size - 1);
	if (wrong < 0)
		status = fail(error, "%s: %s", path, strerror(-wrong));
	else if (count < length || strncmp(head, names, length - 1) != 0 || head[length - 1] != '\n')
		status = fail(error, "%s: the header is not that of these observations: nothing was appended",
			path);
	else if (last != '\n')
		status = fail(error, "%s: the last line has no end: nothing was appended", path);
	free(head);
	return status;
}

static int write_table(const char *path, int file, bool append, const char *lines, char **error)
{
	struct stat status;
	off_t size = 0;
	int wrong;

	if (flock(file, LOCK_EX) < 0 || fstat(file, &status) < 0)
		return fail(error, "%s: %s", path, strerror(errno));
	if (S_ISREG(status.st_mode)) {
		if (append)
			size = status.st_size;
		if (size > 0 && check_table(path, file, size, error) < 0)
			return -1;
		if (ftruncate(file, size) < 0 || lseek(file, size, SEEK_SET) < 0)
			return fail(error, "%s: %s", path, strerror(errno));
	}
	wrong = 0;
	if (size == 0) {
		wrong = write_all(file, export_observation_names(), strlen(export_observation_names()));
		if (wrong == 0)
			wrong = write_all(file, "\n", 1);
	}
	if (wrong == 0)
		wrong = write_all(file, lines, strlen(lines));
	if (wrong < 0 && S_ISREG(status.st_mode) && ftruncate(file, size) < 0)
		return fail(
			error, "%s: %s, and the lines begun could not be taken back", path, strerror(-wrong));
	return wrong < 0 ? fail(error, "%s: %s", path, strerror(-wrong)) : 0;
}

int export_table(const char *path, bool append, const char *lines, char **error)
{
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	int status;

	if (file < 0)
		return fail(error, "%s: %s", path, strerror(errno));
	status = write_table(path, file, append, lines, error);
	if (close(file) < 0 && status == 0)
		status = fail(error, "%s: %s", path, strerror(errno));
	return status;
}
