/*
 * A library that is preloaded beside the hook and wraps what everybody calls: string functions, malloc, file
 * input. Each finds the next one by dlsym when it is first called, as sanitizers and allocators do; so dlsym
 * is called from inside strcmp, before any constructor has run.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#define EXPORTED __attribute__((visibility("default")))

#define WRAP(result, name, parameters, arguments) \
	EXPORTED result name parameters; \
	EXPORTED result name parameters \
	{ \
		static result(*next) parameters; \
\
		if (!next) { \
			/* a name that might be one of the hook's, so that its table is needed */ \
			dlsym(RTLD_DEFAULT, "__libc_start_main"); \
			*(void **)&next = dlsym(RTLD_NEXT, #name); \
		} \
		return next arguments; \
	}
WRAP(int, strcmp, (const char *a, const char *b), (a, b))
WRAP(int, strncmp, (const char *a, const char *b, size_t n), (a, b, n))
WRAP(size_t, strlen, (const char *a), (a))
WRAP(char *, strchr, (const char *a, int c), (a, c))
WRAP(char *, strrchr, (const char *a, int c), (a, c))
WRAP(char *, strstr, (const char *a, const char *b), (a, b))
WRAP(void *, memcpy, (void *restrict a, const void *restrict b, size_t n), (a, b, n))
WRAP(void *, memset, (void *a, int c, size_t n), (a, c, n))
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n))
WRAP(void *, malloc, (size_t n), (n))
WRAP(ssize_t, read, (int fd, void *a, size_t n), (fd, a, n))
WRAP(int, close, (int fd), (fd))

EXPORTED int open(const char *path, int flags, ...)
{
	static int (*next)(const char *, int, ...);
	mode_t mode;
	va_list more;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "open");
	return next(path, flags, mode);
}

/* Before any of the program's own: what a library does in its constructor. */
__attribute__((constructor)) static void begin(void)
{
	char text[16];
	int fd = open("/proc/self/stat", O_RDONLY);

	if (fd >= 0 && read(fd, text, sizeof text) > 0)
		close(fd);
	dlsym(RTLD_DEFAULT, "cudaMalloc");
}
