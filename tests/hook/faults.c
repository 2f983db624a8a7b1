/*
 * A library to be preloaded behind the hook: what libpmhook.so asks of the system fails at a chosen moment.
 * Everybody else's calls go through. The hook itself knows nothing of it.
 *
 *     FAULTS_AT=K       the K-th call of the process fails; 0 or unset: none
 *     FAULTS_ON=yes     and all after it
 *     FAULTS_KIND=NAME  of the calls of one kind alone (map, open, write, read, look, load, thread, other)
 *     FAULTS_COUNT=PATH the count of calls is written there when the first process ends
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static uintptr_t hook_begin, hook_end;
static _Atomic long calls;
static long fault_at;
static bool goes_on;
static const char *kind, *count_path;
static pid_t first_process;

static int find_hook(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size, (void)data;
	if (!strstr(info->dlpi_name, "libpmhook.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			hook_begin = hook_begin ? hook_begin : info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			hook_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

/* The functions behind these, once they are looked up. */
static struct {
	long (*syscall)(long, ...);
	void *(*dlopen)(const char *, int);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*pthread_key_create)(pthread_key_t *, void (*)(void *));
	int (*pthread_setspecific)(pthread_key_t, const void *);
	int (*fstat)(int, struct stat *);
	ssize_t (*readlink)(const char *, char *, size_t);
	char *(*getcwd)(char *, size_t);
	int (*gethostname)(char *, size_t);
	int (*getrlimit)(__rlimit_resource_t, struct rlimit *);
	int (*madvise)(void *, size_t, int);
	ssize_t (*process_vm_readv)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
		unsigned long, unsigned long);
} real;

#define REAL(name) \
	({ \
		if (!real.name) \
			*(void **)&real.name = dlsym(RTLD_NEXT, #name); \
		real.name; \
	})

__attribute__((constructor(101))) static void begin(void)
{
	const char *at = getenv("FAULTS_AT"), *on = getenv("FAULTS_ON");

	fault_at = at ? atol(at) : 0;
	goes_on = on && strcmp(on, "yes") == 0;
	kind = getenv("FAULTS_KIND");
	count_path = getenv("FAULTS_COUNT");
	first_process = getpid();
	(void)REAL(syscall);
	(void)REAL(dlopen);
	(void)REAL(pthread_create);
	(void)REAL(pthread_key_create);
	(void)REAL(pthread_setspecific);
	(void)REAL(fstat);
	(void)REAL(readlink);
	(void)REAL(getcwd);
	(void)REAL(gethostname);
	(void)REAL(getrlimit);
	(void)REAL(madvise);
	(void)REAL(process_vm_readv);
	dl_iterate_phdr(find_hook, NULL);
}

__attribute__((destructor)) static void end(void)
{
	char text[32];
	int fd, n;

	if (!count_path || getpid() != first_process)
		return;
	/* not by functions that are hooked */
	fd = (int)real.syscall(SYS_openat, AT_FDCWD, count_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	n = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
	if (fd >= 0 && real.syscall(SYS_write, fd, text, (size_t)n) != n)
		abort();
}

/* Whether a call fails, which came from `caller`. */
static bool fails(const void *caller, const char *of_kind)
{
	long n;

	if ((uintptr_t)caller < hook_begin || (uintptr_t)caller >= hook_end ||
		(kind && *kind && strcmp(kind, of_kind) != 0))
		return false;
	n = atomic_fetch_add(&calls, 1) + 1;
	return fault_at && (n == fault_at || (goes_on && n > fault_at));
}

static const struct {
	long number;
	const char *kind;
	int error;
} numbers[] = {
	{SYS_mmap, "map", ENOMEM},
	{SYS_munmap, "map", ENOMEM},
	{SYS_openat, "open", EMFILE},
	{SYS_pwrite64, "write", ENOSPC},
	{SYS_write, "write", EAGAIN},
	{SYS_ftruncate, "write", EIO},
	{SYS_fallocate, "write", ENOSPC},
	{SYS_read, "read", EIO},
	{SYS_pread64, "read", EIO},
	{SYS_msync, "write", EIO},
	{SYS_memfd_create, "open", EMFILE},
	{SYS_fstat, "look", EIO},
#ifdef SYS_newfstatat
	{SYS_newfstatat, "look", EIO},
#endif
	{SYS_process_vm_readv, "read", EPERM},
};

EXPORTED long syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (numbers[i].number == number && fails(__builtin_return_address(0), numbers[i].kind)) {
			errno = numbers[i].error;
			return -1;
		}
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define FAILS(of_kind) fails(__builtin_return_address(0), of_kind)

EXPORTED void *dlopen(const char *file, int flags)
{
	return FAILS("load") ? NULL : REAL(dlopen)(file, flags);
}

EXPORTED int pthread_create(
	pthread_t *thread, const pthread_attr_t *attributes, void *(*f)(void *), void *data)
{
	return FAILS("thread") ? EAGAIN : REAL(pthread_create)(thread, attributes, f, data);
}

EXPORTED int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	return FAILS("thread") ? EAGAIN : REAL(pthread_key_create)(key, destructor);
}

EXPORTED int pthread_setspecific(pthread_key_t key, const void *value)
{
	return FAILS("thread") ? ENOMEM : REAL(pthread_setspecific)(key, value);
}

/* Those that set errno. */
#define ANSWER(of_kind, error, failed, call) \
	if (FAILS(of_kind)) { \
		errno = error; \
		return failed; \
	} \
	return call

EXPORTED int fstat(int fd, struct stat *s)
{
	ANSWER("look", EIO, -1, REAL(fstat)(fd, s));
}

EXPORTED ssize_t readlink(const char *path, char *text, size_t size)
{
	ANSWER("look", EACCES, -1, REAL(readlink)(path, text, size));
}

EXPORTED char *getcwd(char *text, size_t size)
{
	ANSWER("look", ENOENT, NULL, REAL(getcwd)(text, size));
}

EXPORTED int gethostname(char *text, size_t size)
{
	ANSWER("look", ENAMETOOLONG, -1, REAL(gethostname)(text, size));
}

EXPORTED int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	ANSWER("look", EPERM, -1, REAL(getrlimit)(resource, limit));
}

EXPORTED int madvise(void *address, size_t size, int advice)
{
	ANSWER("map", EINVAL, -1, REAL(madvise)(address, size, advice));
}

EXPORTED ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long to_count,
	const struct iovec *from, unsigned long from_count, unsigned long flags)
{
	ANSWER("read", EPERM, -1, REAL(process_vm_readv)(pid, to, to_count, from, from_count, flags));
}
