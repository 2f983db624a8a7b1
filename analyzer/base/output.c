/* Files that are there whole or not at all: see output.h. */
#include "output.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MOST 40

/*
 * Temporary files that would be left behind, for handlers of signals and for exit: a child of fork has a
 * copy, and is not to remove its parent's.
 */
#define LEFT_MOST 16
static struct {
	char *_Atomic path;
	pid_t owner;
} left[LEFT_MOST];

static void remove_left(void)
{
	for (size_t i = 0; i < LEFT_MOST; i++) {
		const char *path = left[i].path;

		if (path && left[i].owner == getpid())
			unlink(path);
	}
}

/* Its own default follows, so that whoever waits sees which signal it was. */
static void end_by(int number)
{
	int error = errno;

	remove_left();
	signal(number, SIG_DFL);
	raise(number);
	errno = error;
}

/* Signals that somebody else handles, or ignores, stay with them. */
static void watch(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGXCPU};
	static bool exits;
	struct sigaction old, ours = {.sa_handler = end_by};

	if (!exits)
		exits = atexit(remove_left) == 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
			old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &ours, NULL);
}

static bool remember(char *path)
{
	for (size_t i = 0; i < LEFT_MOST; i++) {
		char *none = NULL;

		if (atomic_load(&left[i].path))
			continue;
		left[i].owner = getpid();
		if (atomic_compare_exchange_strong(&left[i].path, &none, path))
			return true;
	}
	return false;
}

static void forget(const char *path)
{
	for (size_t i = 0; i < LEFT_MOST; i++)
		if (left[i].path == path)
			left[i].path = NULL;
}

/* The folder of a path, with its slash, or "". */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The number of this process's own open file that the path names, as /dev/fd/3 does; -1: none. */
static int descriptor_of(const char *path)
{
	char own[64], folder[PATH_MAX], copy[PATH_MAX];
	size_t length = folder_length(path);
	long number;
	char *end;

	if (length == 0 || length >= sizeof(copy))
		return -1;
	memcpy(copy, path, length);
	copy[length] = '\0';
	snprintf(own, sizeof(own), "/proc/%d/fd", (int)getpid());
	number = strtol(path + length, &end, 10);
	return end > path + length && !*end && number >= 0 && number < INT_MAX && realpath(copy, folder) &&
			       strcmp(folder, own) == 0
		       ? (int)number
		       : -1;
}

/*
 * Follows symbolic links to what is not one, or is not there. 0 or -errno; `*own` is the number of this
 * process's file that it leads to, or -1.
 */
static int follow(const char *path, char **found, int *own)
{
	char *at = strdup(path), target[PATH_MAX];

	*own = -1;
	for (int i = 0; at && i < LINKS_MOST; i++) {
		ssize_t length;
		char *next;

		*own = descriptor_of(at);
		length = *own >= 0 ? -1 : readlink(at, target, sizeof(target) - 1);
		if (length < 0) {
			*found = at;
			return 0;
		}
		target[length] = '\0';
		if (asprintf(&next, "%.*s%s", target[0] == '/' ? 0 : (int)folder_length(at), at, target) < 0)
			next = NULL;
		free(at);
		at = next;
	}
	free(at);
	return at ? -ELOOP : -ENOMEM;
}

/* The mode, and where it can be the owner, of the file that was there; else what the umask leaves. */
static int dress(int file, const struct stat *old)
{
	mode_t mask;

	if (old) {
		if ((old->st_uid != geteuid() || old->st_gid != getegid()) &&
			fchown(file, old->st_uid, old->st_gid) < 0)
			errno = 0; /* it is the writer's then */
		return fchmod(file, old->st_mode & 0777) < 0 ? -errno : 0;
	}
	mask = umask(0);
	umask(mask);
	return fchmod(file, 0666 & ~mask) < 0 ? -errno : 0;
}

static int open_beside(struct pm_output *output, const struct stat *old)
{
	int status;

	if (old && access(output->path, W_OK) < 0)
		return -errno;
	if (asprintf(&output->temporary, "%.*s.pm-XXXXXX", (int)folder_length(output->path), output->path) <
		0) {
		output->temporary = NULL;
		return -ENOMEM;
	}
	watch();
	output->file = mkostemp(output->temporary, O_CLOEXEC);
	if (output->file < 0) {
		status = -errno;
		free(output->temporary);
		output->temporary = NULL;
		return status;
	}
	return remember(output->temporary) ? dress(output->file, old) : -EMFILE;
}

int pm_output_open(struct pm_output *output, const char *path, bool fresh)
{
	struct stat old;
	bool exists;
	int own, status;

	*output = (struct pm_output){.file = -1, .fresh = fresh};
	status = follow(strcmp(path, "-") == 0 ? "/dev/stdout" : path, &output->path, &own);
	if (status < 0)
		return status;
	exists = own < 0 && stat(output->path, &old) == 0;
	if (exists && S_ISDIR(old.st_mode)) {
		status = -EISDIR;
	} else if (exists && fresh && S_ISREG(old.st_mode)) {
		status = -EEXIST;
	} else if (own >= 0) {
		output->file = fcntl(own, F_DUPFD_CLOEXEC, 3);
		status = output->file < 0 ? -errno : 0;
	} else if (exists && !S_ISREG(old.st_mode)) {
		output->file = open(output->path, O_WRONLY | O_CLOEXEC);
		status = output->file < 0 ? -errno : 0;
	} else {
		status = open_beside(output, exists ? &old : NULL);
	}
	if (status < 0)
		pm_output_close(output, -status);
	return status;
}

FILE *pm_output_stream(struct pm_output *output)
{
	if (!output->stream)
		output->stream = fdopen(output->file, "w");
	return output->stream;
}

/* Not over a file that has come meanwhile, where the file system can tell. */
static int place(const struct pm_output *output)
{
	if (output->fresh) {
		if (renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
	}
	return rename(output->temporary, output->path) < 0 ? -errno : 0;
}

int pm_output_close(struct pm_output *output, int error)
{
	if (output->stream) {
		errno = 0;
		if ((fflush(output->stream) != 0 || ferror(output->stream)) && !error)
			error = errno ? errno : EIO;
	}
	/* a disk that is full may say so only now; what is no file cannot be synchronised */
	if (!error && output->temporary && fsync(output->file) < 0 && errno != EINVAL && errno != ENOTSUP)
		error = errno;
	if (output->stream ? fclose(output->stream) != 0 && !error
			   : output->file >= 0 && close(output->file) < 0 && !error)
		error = errno;
	if (!error && output->temporary)
		error = -place(output);
	if (output->temporary) {
		if (error)
			unlink(output->temporary);
		forget(output->temporary);
	}
	free(output->temporary);
	free(output->path);
	*output = (struct pm_output){.file = -1};
	return -error;
}

FILE *pm_output_create(struct pm_output *output, const char *path, bool fresh)
{
	int status = pm_output_open(output, path, fresh);
	FILE *stream = status < 0 ? NULL : pm_output_stream(output);

	if (status == -EEXIST)
		errx(1, "%s: file exists; --force overwrites it", path);
	if (status < 0)
		errno = -status;
	if (!stream)
		err(1, "%s", path);
	return stream;
}

void pm_output_finish(struct pm_output *output, const char *path)
{
	int status = pm_output_close(output, 0);

	if (status < 0) {
		errno = -status;
		err(1, "%s", path);
	}
}

int pm_output_write(const char *path, const void *bytes, size_t count)
{
	struct pm_output output;
	size_t done = 0;
	int error = -pm_output_open(&output, path, false);

	if (error)
		return -error;
	while (done < count && !error) {
		ssize_t wrote = write(output.file, (const char *)bytes + done, count - done);

		if (wrote > 0)
			done += (size_t)wrote;
		else if (wrote < 0 && errno != EINTR)
			error = errno;
	}
	return pm_output_close(&output, error);
}
