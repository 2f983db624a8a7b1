/*
 * A table that grows: see export_table in export.h. Whoever writes has the file's lock, so the header that
 * was looked at is the one that the lines go under. The table with its new lines takes the old one's place
 * when it is whole.
 */
#include "export.h"
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
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
		status = fail(
			error, "%s: the header does not match these observations: nothing appended", path);
	else if (last != '\n')
		status = fail(error, "%s: the last line is incomplete: nothing appended", path);
	free(head);
	return status;
}

/* The old table, if it goes on, and the lines under it. */
static int write_table(FILE *out, int old, off_t size, const char *lines)
{
	char *kept = mem_alloc((size_t)size + 1, 1);
	int wrong = read_at(old, kept, (size_t)size, 0);

	if (size == 0)
		fprintf(out, "%s\n", export_observation_names());
	else if (wrong == 0)
		fwrite(kept, 1, (size_t)size, out);
	fputs(lines, out);
	free(kept);
	return wrong;
}

/* Opens the table, made if it is not there, with its lock; -errno. One that has been replaced while its lock
 * was waited for is not the table any more. */
static int open_locked(const char *path)
{
	for (;;) {
		struct stat mine, named;
		int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), wrong;

		if (file < 0)
			return -errno;
		wrong = flock(file, LOCK_EX) < 0 || fstat(file, &mine) < 0 ? errno : 0;
		if (!wrong && stat(path, &named) == 0 && mine.st_ino == named.st_ino &&
			mine.st_dev == named.st_dev)
			return file;
		close(file);
		if (wrong)
			return -wrong;
	}
}

/* An empty table that was made for its lock is not left behind. */
static int append_table(const char *path, const char *lines, char **error)
{
	int file = open_locked(path), wrong = file < 0 ? file : 0;
	struct pm_output output;
	struct stat status;

	if (wrong == 0 && fstat(file, &status) < 0)
		wrong = -errno;
	if (wrong == 0 && status.st_size > 0 && check_table(path, file, status.st_size, error) < 0) {
		close(file);
		return -1;
	}
	if (wrong == 0)
		wrong = pm_output_open(&output, path, false);
	if (wrong == 0) {
		FILE *out = pm_output_stream(&output);

		wrong = out ? write_table(out, file, status.st_size, lines) : -errno;
		wrong = pm_output_close(&output, -wrong);
	}
	if (wrong < 0 && file >= 0 && status.st_size == 0)
		unlink(path);
	if (file >= 0)
		close(file);
	return wrong < 0 ? fail(error, "%s: %s", path, strerror(-wrong)) : 0;
}

int export_table(const char *path, bool append, const char *lines, char **error)
{
	struct pm_output output;
	struct stat status;
	FILE *out;
	int wrong;

	if (append && (stat(path, &status) < 0 || S_ISREG(status.st_mode)))
		return append_table(path, lines, error);
	wrong = pm_output_open(&output, path, false);
	if (wrong == 0) {
		out = pm_output_stream(&output);
		wrong = out ? write_table(out, -1, 0, lines) : -errno;
		wrong = pm_output_close(&output, -wrong);
	}
	return wrong < 0 ? fail(error, "%s: %s", path, strerror(-wrong)) : 0;
}
