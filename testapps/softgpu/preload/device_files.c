/*
 * Whether the driver's device files are there. JAX looks for them before it loads any library, and without
 * them computes on the processor without a word.
 *
 * The one idea: a question about the driver's control file is answered about /dev/null, which is a character
 * device too. Only the questions are: nothing opens it, softgpu has no driver in the kernel.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static const char *stand_in(const char *path)
{
	return path != NULL && strcmp(path, "/dev/nvidiactl") == 0 ? "/dev/null" : path;
}

EXPORTED int stat(const char *restrict path, struct stat *restrict to)
{
	return fstatat(AT_FDCWD, stand_in(path), to, 0);
}

EXPORTED int access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, stand_in(path), mode, 0);
}

/* The names that programs call which were built with large files, and, before glibc 2.33, all of them. */
#ifdef __GLIBC__
int stat64(const char *restrict path, struct stat64 *restrict to);
int __xstat(int version, const char *path, struct stat *to);
int __xstat64(int version, const char *path, struct stat64 *to);

EXPORTED int stat64(const char *restrict path, struct stat64 *restrict to)
{
	return fstatat64(AT_FDCWD, stand_in(path), to, 0);
}

EXPORTED int __xstat(int version, const char *path, struct stat *to)
{
	(void)version;
	return fstatat(AT_FDCWD, stand_in(path), to, 0);
}

EXPORTED int __xstat64(int version, const char *path, struct stat64 *to)
{
	(void)version;
	return fstatat64(AT_FDCWD, stand_in(path), to, 0);
}
#endif
