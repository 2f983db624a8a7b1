/*
 * A library to be preloaded: allocations of the program fail at a chosen moment.
 *
 *     NO_MEMORY_AT=K        the K-th allocation after the start fails; unset: none
 *     NO_MEMORY_ON=yes      and all after it
 *     NO_MEMORY_COUNT=PATH  the count of allocations is written there at the end
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* the C library's own */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static _Atomic long allocations;
static long fail_at;
static bool begun, goes_on;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("NO_MEMORY_AT"), *on = getenv("NO_MEMORY_ON");

	fail_at = at ? atol(at) : 0;
	goes_on = on && strcmp(on, "yes") == 0;
	begun = true;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("NO_MEMORY_COUNT");
	FILE *out;

	begun = false;
	out = path ? fopen(path, "w") : NULL;
	if (!out)
		return;
	fprintf(out, "%ld\n", (long)allocations);
	fclose(out);
}

static bool fails(void)
{
	long number;

	if (!begun)
		return false;
	number = atomic_fetch_add(&allocations, 1) + 1;
	if (!fail_at || number < fail_at || (number > fail_at && !goes_on))
		return false;
	errno = ENOMEM;
	return true;
}

EXPORTED void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(count, bytes);
}

EXPORTED void *realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(old, bytes);
}
