/* A library of stand-ins, made while the program runs. */
#ifndef SG_MADE_H
#define SG_MADE_H

#include <stddef.h>
#include <stdint.h>

/* A function that answers `result`, and says its name on stderr when it is first called. */
struct sg_made {
	const char *name; /* the caller's; not kept */
	intptr_t result;
};

/* Loads a library with these functions, under these names without a version, for all libraries that are
 * loaded from now on. It stays loaded. 0, or -1 where that cannot be done. Any thread; may change errno and
 * dlerror's text. `open` is dlopen. */
int sg_make(const struct sg_made *functions, size_t count, void *(*open)(const char *, int));

#endif
