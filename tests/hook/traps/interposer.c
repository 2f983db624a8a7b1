/*
 * Another library that is preloaded beside the hook and wraps cudaMalloc, the next one found by RTLD_NEXT; it
 * prints at exit how many calls it saw. With OWN_DLSYM it wraps dlsym too, as the hook does, by an ordinary
 * call.
 */
#include <dlfcn.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

static int seen;

EXPORTED int cudaMalloc(void **memory, size_t size);
EXPORTED int cudaMalloc(void **memory, size_t size)
{
	int (*next)(void **, size_t) = (int (*)(void **, size_t))dlsym(RTLD_NEXT, "cudaMalloc");

	seen++;
	return next ? next(memory, size) : 999;
}

#ifdef OWN_DLSYM
EXPORTED void *dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *);

	if (!real)
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!real)
		*(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	void *volatile found = real(handle, name); /* no jump */
	return found;
}
EXPORTED void *dlvsym(void *handle, const char *name, const char *version);
#endif

__attribute__((destructor)) static void tell(void)
{
	if (seen)
		fprintf(stderr, "%s saw %d\n", NAME, seen);
}
