/*
 * File input: wrappers of libc's open, read and close.
 *
 * They are in every process that has the library preloaded, so the first thing each does is to look whether
 * this process records. The path behind a descriptor is asked of the kernel at its first read and kept until
 * the number is opened or closed again. Only regular files count; libraries, scripts and the kernel's own
 * files do not.
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "call/left.h"
#include "call/window.h"
#include "describe/operation.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/resolve.h"
#include "guest/settings_hook.h"
#include "guest/state.h"
#include "guest/thread.h"
#include "trace/intern.h"
#include "trace/write.h"
#include "worker.h"

#define FILES 4096 /* descriptors beyond are not watched */

/* By descriptor: the number of the path's string, or one of these. */
static _Atomic uint32_t paths[FILES];
#define NOT_LOOKED 0
#define NOT_DATA UINT32_MAX      /* looked at, and of no interest */
#define IS_DATA (UINT32_MAX - 1) /* a data file, in a worker process, which gives paths no numbers */
#define UNKNOWN (UINT32_MAX - 2) /* looked at in vain: its input is lost, if not the next time */

static int pmh_fileno(FILE *stream)
{
	return stream ? fileno(stream) : -1;
}

static void forget(int fd)
{
	if (fd >= 0 && fd < FILES)
		atomic_store_explicit(&paths[fd], 0, memory_order_relaxed);
}

void pmh_files_forget(void)
{
	for (int fd = 0; fd < FILES; fd++)
		forget(fd);
}

static bool ends_with(const char *text, const char *ending)
{
	size_t n = strlen(text), m = strlen(ending);

	return n >= m && strcmp(text + n - m, ending) == 0;
}

static bool is_data(const char *path)
{
	static const char *const folders[] = {"/proc/", "/sys/", "/dev/", "/etc/", "/usr/lib/", "/lib/"};
	static const char *const endings[] = {".so", ".py", ".pyc", ".pmtrace"};

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return false;
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
		if (ends_with(path, endings[i]))
			return false;
	return path[0] == '/' && !strstr(path, ".so.");
}

static bool is_recording(void)
{
	return atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_RECORDING;
}

/* Of a regular file. */
static uint32_t look_at_path(int fd)
{
	char link[32], path[PATH_MAX];
	uint32_t number;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	if (n <= 0)
		return UNKNOWN;
	path[n] = 0;
	if (!is_data(path))
		return NOT_DATA;
	if (!is_recording())
		return IS_DATA;
	number = pmh_string(path);
	return number ? number : UNKNOWN;
}

static uint32_t look_at(int fd)
{
	uint32_t number;
	struct stat s;

	if (fstat(fd, &s) != 0)
		number = errno == EBADF ? NOT_DATA : UNKNOWN;
	else
		number = S_ISREG(s.st_mode) ? look_at_path(fd) : NOT_DATA;
	atomic_store_explicit(&paths[fd], number, memory_order_relaxed);
	return number;
}

/*
 * A process that records. Or one that has not decided, because it makes no device call: then it may be a
 * worker of one that does, which is found out at the first read of data.
 */
PMH_INLINE bool wanted(const uint64_t *mark)
{
	/* the settings come with it */
	const int state = atomic_load_explicit(&pmh_state, memory_order_acquire);

	if (state != PMH_UNDECIDED &&
		!(state == PMH_RECORDING && pmh_settings.files[1] == 'n' && pmh_window_open))
		return false;
	if (!pmh_local.thread)
		return !pmh_local.quiet && !pmh_local.seeking;
	return pmh_self.depth == 0 || !pmh_is_inside(mark, __builtin_return_address(0));
}

struct look {
	int fd;
	uint32_t path;
};

/* What a descriptor is, when that is not known yet; and who we are. */
static void look_closely(void *data)
{
	struct look *look = data;
	const int saved_errno = errno;

	if (look->path == NOT_LOOKED || look->path == UNKNOWN || (look->path == IS_DATA && is_recording()))
		look->path = look_at(look->fd);
	if (look->path != UNKNOWN && look->path != NOT_DATA && pmh_self.number == 0 && is_recording())
		pmh_thread_begin();
	errno = saved_errno;
}

/* Of a descriptor that has no place in `paths`. */
static void lose_input(int fd)
{
	const int saved_errno = errno;
	struct stat s;

	if (is_recording() && fstat(fd, &s) == 0 && S_ISREG(s.st_mode))
		pmh_lose(PM_LOSS_FILES, 1);
	errno = saved_errno;
}

static bool file_enter(const uint64_t *mark, enum pm_call call, int fd)
{
	struct look look = {.fd = fd};
	struct pmh_frame *f;

	if (fd < 0)
		return false;
	if (fd >= FILES) {
		lose_input(fd);
		return false;
	}
	look.path = atomic_load_explicit(&paths[fd], memory_order_relaxed);
	if (look.path == NOT_DATA)
		return false;
	if (!pmh_self_make()) {
		pmh_lose(PM_LOSS_THREADS, 1);
		return false;
	}
	f = &pmh_self.frame;
	pmh_frame_begin(mark);
	if (look.path == NOT_LOOKED || look.path == UNKNOWN ||
		(is_recording() && (look.path == IS_DATA || pmh_self.number == 0)))
		pmh_run_on_own_stack(look_closely, &look);
	if (look.path == UNKNOWN && is_recording())
		pmh_lose(PM_LOSS_FILES, 1);
	if (look.path == UNKNOWN || look.path == NOT_DATA ||
		(look.path == IS_DATA && (is_recording() || !pmh_is_worker()))) {
		pmh_frame_end(&pmh_self);
		return false;
	}
	f->begin = look.path == IS_DATA ? pmh_monotonic_ns() : pmh_ticks();
	f->path = look.path;
	f->pushed = false;
	f->flags = 0;
	f->interval.ring = NULL;
	f->place = (struct pmh_place){0};
	if (look.path != IS_DATA)
		f->call = (uint16_t)call;
	return true;
}

static void file_leave(const uint64_t *mark, enum pm_call call, int64_t bytes)
{
	struct pmh_frame *f = &pmh_self.frame;
	int saved_errno;

	if (!pmh_has_frame(mark))
		return;
	f->call = PM_CALL_NONE;
	if (f->path == IS_DATA) {
		if (pmh_rows[call].kind == PM_KIND_READ)
			pmh_worker_read(pmh_monotonic_ns() - f->begin, bytes);
		pmh_frame_end(&pmh_self);
		return;
	}
	uint64_t end = pmh_ticks();
	const bool is_mapping = pmh_rows[call].role == PM_ROLE_MAPS_FILE;
	/* the bytes of a read are in its record, those of a mapping say which mapping it is */
	const uint64_t words[] = {call, f->path, is_mapping && bytes > 0 ? (uint64_t)bytes : 0};
	int32_t result = bytes < 0 ? -1 : bytes > INT32_MAX ? INT32_MAX : (int32_t)bytes;

	saved_errno = errno;
	pmh_append_slowly(&pmh_self,
		&(struct pmh_record){
			.begin = f->begin, .end = end, .op = pmh_operation(words, 3), .kind = PM_RECORD_CALL},
		&(struct pm_more){.result = result});
	pmh_frame_end(&pmh_self);
	errno = saved_errno;
}

#define PM_HOOK(...)
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) \
	PMH_EXPORT result name PM_PARAMETERS pairs; \
	PMH_EXPORT result name PM_PARAMETERS pairs \
	{ \
		__typeof__(&name) pm_real = (__typeof__(&name))pmh_real(PM_CALL_##name); \
		uint64_t pm_mark = PMH_MARK; \
\
		if (!wanted(&pm_mark) || !file_enter(&pm_mark, PM_CALL_##name, fd)) \
			return pm_real PM_ARGUMENTS pairs; \
		result pm_result = pm_real PM_ARGUMENTS pairs; \
		file_leave(&pm_mark, PM_CALL_##name, (int64_t)(bytes)); \
		return pm_result; \
	}
#include "pm_hooks.def"

/* ---- by hand ---- */

/* An open is recorded with the path that the kernel has for it; begin is when it was asked for. */
static void opened(const uint64_t *mark, uint64_t begin, enum pm_call call, int fd)
{
	forget(fd);
	if (!is_recording() || !file_enter(mark, call, fd))
		return;
	pmh_self.frame.begin = begin;
	file_leave(mark, call, 0);
}

static bool needs_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

PMH_INLINE int open_with(enum pm_call call, const char *path, int flags, mode_t mode)
{
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))pmh_real(call);
	uint64_t mark = PMH_MARK;
	const bool watched = wanted(&mark);
	const uint64_t begin = watched ? pmh_ticks() : 0;
	int fd = real(path, flags, mode);

	if (watched)
		opened(&mark, begin, call, fd);
	return fd;
}

PMH_INLINE int openat_with(enum pm_call call, int directory, const char *path, int flags, mode_t mode)
{
	int (*real)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))pmh_real(call);
	uint64_t mark = PMH_MARK;
	const bool watched = wanted(&mark);
	const uint64_t begin = watched ? pmh_ticks() : 0;
	int fd = real(directory, path, flags, mode);

	if (watched)
		opened(&mark, begin, call, fd);
	return fd;
}

/* The mode is there only when the flags ask for it. */
#define TAKE_MODE(mode, flags) \
	mode_t mode = 0; \
	if (needs_mode(flags)) { \
		va_list more; \
		va_start(more, flags); \
		mode = va_arg(more, mode_t); \
		va_end(more); \
	}

PMH_EXPORT int open(const char *path, int flags, ...)
{
	TAKE_MODE(mode, flags)
	return open_with(PM_CALL_open, path, flags, mode);
}

PMH_EXPORT int open64(const char *path, int flags, ...)
{
	TAKE_MODE(mode, flags)
	return open_with(PM_CALL_open64, path, flags, mode);
}

PMH_EXPORT int openat(int directory, const char *path, int flags, ...)
{
	TAKE_MODE(mode, flags)
	return openat_with(PM_CALL_openat, directory, path, flags, mode);
}

PMH_EXPORT int openat64(int directory, const char *path, int flags, ...)
{
	TAKE_MODE(mode, flags)
	return openat_with(PM_CALL_openat64, directory, path, flags, mode);
}

PMH_INLINE FILE *fopen_with(enum pm_call call, const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) pmh_real(call);
	uint64_t mark = PMH_MARK;
	const bool watched = wanted(&mark);
	const uint64_t begin = watched ? pmh_ticks() : 0;
	FILE *stream = real(path, mode);

	if (watched)
		opened(&mark, begin, call, pmh_fileno(stream));
	return stream;
}

PMH_EXPORT FILE *fopen(const char *path, const char *mode)
{
	return fopen_with(PM_CALL_fopen, path, mode);
}

PMH_EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return fopen_with(PM_CALL_fopen64, path, mode);
}

/* The number is free before the call returns, and another thread may open it at once: look first, forget
 * first. */
PMH_EXPORT int close(int fd)
{
	int (*real)(int) = (int (*)(int))pmh_real(PM_CALL_close);
	uint64_t mark = PMH_MARK;
	bool watched =
		wanted(&mark) && fd >= 0 && fd < FILES && paths[fd] && file_enter(&mark, PM_CALL_close, fd);
	int result;

	forget(fd);
	result = real(fd);
	if (watched)
		file_leave(&mark, PM_CALL_close, result);
	return result;
}

PMH_EXPORT int fclose(FILE *stream)
{
	int (*real)(FILE *) = (int (*)(FILE *))pmh_real(PM_CALL_fclose);
	uint64_t mark = PMH_MARK;
	int fd = wanted(&mark) ? pmh_fileno(stream) : -1, result;
	bool watched = fd >= 0 && fd < FILES && paths[fd] && file_enter(&mark, PM_CALL_fclose, fd);

	forget(fd);
	result = real(stream);
	if (watched)
		file_leave(&mark, PM_CALL_fclose, result);
	return result;
}

PMH_EXPORT int dup2(int from, int to)
{
	int (*real)(int, int) = (int (*)(int, int))pmh_real(PM_CALL_dup2);

	forget(to);
	return real(from, to);
}
