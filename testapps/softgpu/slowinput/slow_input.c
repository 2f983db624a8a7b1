/*
 * libslowinput.so: makes a rank's input slow, as a busy disk or file server would. For LD_PRELOAD, behind the
 * hook, which then sees calls that take longer. The rules are those of SOFTGPU_DISTURB with input=TIME: their
 * ranks select, other selectors do not matter here.
 *
 * The one idea: only what a program reads as data counts, so a regular file that is not code, /proc or /sys;
 * each such call sleeps after it has read.
 */
#include "core/rules.h"
#include "core/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED ssize_t read(int file, void *to, size_t bytes);
EXPORTED ssize_t pread(int file, void *to, size_t bytes, off_t offset);
EXPORTED ssize_t pread64(int file, void *to, size_t bytes, off64_t offset);
EXPORTED ssize_t readv(int file, const struct iovec *parts, int count);
EXPORTED size_t fread(void *to, size_t size, size_t count, FILE *file);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static double delay_ns;
static __thread int inside; /* our own reading of rules */

static void find_delay(void)
{
	const char *text = getenv("SOFTGPU_DISTURB");
	double scale = sg_text_time_scale();
	struct sg_rule *rules;
	char error[4500];
	int count, rank = sg_rules_rank();

	if (text == NULL || *text == '\0')
		return;
	inside = 1;
	count = sg_rules_read(text, &rules, error, sizeof(error));
	inside = 0;
	if (count >= 0 && scale == 0)
		snprintf(error, sizeof(error), "SOFTGPU_TIME_SCALE: expected a number from 0.001 to 1000000");
	if (count < 0 || scale == 0)
		fprintf(stderr, "slowinput: %s; no delays are injected\n", error);
	for (int i = 0; i < count; i++) {
		if (sg_rule_has_rank(&rules[i], rank))
			delay_ns += rules[i].input_ns * scale;
	}
	free(count >= 0 ? rules : NULL);
}

/* Whether a program's data is behind the descriptor. */
static int is_data(int file)
{
	char link[64], path[4096];
	struct stat status;
	ssize_t length;

	if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return 0;
	path[length] = '\0';
	return strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0 &&
	       strstr(path, ".so.") == NULL && (length < 3 || strcmp(path + length - 3, ".so") != 0);
}

static void delay(int file)
{
	const int saved_errno = errno;
	struct timespec left;

	if (inside)
		return;
	pthread_once(&once, find_delay);
	if (delay_ns > 0 && is_data(file)) {
		left.tv_sec = (time_t)(delay_ns / 1e9);
		left.tv_nsec = (long)(delay_ns - (double)left.tv_sec * 1e9);
		while (nanosleep(&left, &left) != 0 && errno == EINTR)
			;
	}
	errno = saved_errno;
}

/* The next function of a name; a library that is asked for a call always finds libc's. */
#define NEXT(name) \
	static __typeof__(&name) next; \
	__typeof__(&name) real = __atomic_load_n(&next, __ATOMIC_ACQUIRE); \
	if (real == NULL) { \
		real = (__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name); \
		__atomic_store_n(&next, real, __ATOMIC_RELEASE); \
	}

ssize_t read(int file, void *to, size_t bytes)
{
	NEXT(read)
	ssize_t got = real(file, to, bytes);

	delay(file);
	return got;
}

ssize_t pread(int file, void *to, size_t bytes, off_t offset)
{
	NEXT(pread)
	ssize_t got = real(file, to, bytes, offset);

	delay(file);
	return got;
}

ssize_t pread64(int file, void *to, size_t bytes, off64_t offset)
{
	NEXT(pread64)
	ssize_t got = real(file, to, bytes, offset);

	delay(file);
	return got;
}

ssize_t readv(int file, const struct iovec *parts, int count)
{
	NEXT(readv)
	ssize_t got = real(file, parts, count);

	delay(file);
	return got;
}

size_t fread(void *to, size_t size, size_t count, FILE *file)
{
	NEXT(fread)
	size_t got = real(to, size, count, file);

	delay(fileno(file));
	return got;
}
