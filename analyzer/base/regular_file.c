/* Files that are no pipes: see regular_file.h. */
#include "regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHER (-10000) /* none of the system's errors */

int regular_file_open(const char *path)
{
	/* without O_NONBLOCK the open waits for a pipe's writer, and a terminal might become the process's */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), status = 0;
	struct stat info;

	if (file < 0)
		return errno == ENXIO || errno == ENODEV ? OTHER : -errno;
	if (fstat(file, &info) < 0)
		status = -errno;
	else if (!S_ISREG(info.st_mode))
		status = S_ISDIR(info.st_mode) ? -EISDIR : OTHER;
	if (status == 0)
		return file;
	close(file);
	return status;
}

const char *regular_file_trouble(int status)
{
	return status == OTHER     ? "not a regular file"
	       : status == -EISDIR ? "a folder, expected a file"
				   : strerror(-status);
}

const char *regular_file_check(const char *path)
{
	int file = regular_file_open(path);

	if (file < 0)
		return regular_file_trouble(file);
	close(file);
	return NULL;
}
