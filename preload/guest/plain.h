/*
 * Text without libc: for look-ups, which others start from inside their own string functions.
 *
 * A sanitizer, an allocator or a tracer that is preloaded beside us may have strcmp and the like itself, and
 * finds the real ones by dlsym, which is ours, when it is first called. So nothing that dlsym needs may call
 * such a function. The files that include this are compiled so that loops do not become calls
 * (CMakeLists.txt).
 */
#ifndef PLAIN_H
#define PLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the text begins so; `rest`, if not NULL, is what follows then. */
static inline bool plain_begins(const char *text, const char *beginning, const char **rest)
{
	while (*beginning && *text == *beginning) {
		text++;
		beginning++;
	}
	if (rest)
		*rest = text;
	return !*beginning;
}

static inline bool plain_equal(const char *a, const char *b)
{
	const char *rest;

	return plain_begins(a, b, &rest) && !*rest;
}

static inline bool plain_contains(const char *text, const char *part)
{
	for (; *text; text++)
		if (plain_begins(text, part, NULL))
			return true;
	return false;
}

/* A file's name without its folders. */
static inline const char *plain_base(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

#endif
