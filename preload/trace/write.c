/*
 * The trace file (pm_format.h), written through shared mappings: what has been stored survives the process,
 * however it ends.
 *
 * Each thread writes into a chunk of its own, so recording takes no lock; a full chunk is unmapped and the
 * next is made under the lock. Space is reserved on disk before it is mapped, because a store into a hole of
 * a full disk would kill the host; what happens when somebody truncates the file is in guest/sigbus.c. So
 * nothing is ever read back from the file: sizes, counts and clock pairs that are needed again are kept
 * beside it. No file descriptor is kept, nor even had by the process (pmh_run_in_clone_task): a host may
 * close or reuse any number. The file is opened again by its path for each chunk, and must still be the same
 * file.
 *
 * All system calls are made directly: the library's own wrappers of open and mmap stay out of it.
 */
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/map.h"
#include "guest/settings_hook.h"
#include "attempt.h"
#include "command.h"
#include "file.h"
#include "guest/sigbus.h"
#include "intern.h"
#include "live.h"
#include "ring.h"

#define HEADER_BYTES 4096u
#define DICTIONARY_BYTES (64u << 10)
#define FOOTER_BYTES (4u << 10)

static char path[PATH_MAX];
static struct pmh_map header_map, dictionary;
static uint32_t dictionary_used;
static uint64_t begin_ticks, begin_ns; /* the header's clock pair */
static dev_t file_device;
static ino_t file_inode;
static dev_t root_device;
static ino_t root_inode;
static uint64_t max_bytes;

struct pmh_file pmh_file = {.lock = ATOMIC_FLAG_INIT};

static int sys_open(const char *name, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, name, flags | O_CLOEXEC, mode);
}

static void sys_close(int fd)
{
	syscall(SYS_close, fd);
}

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_root_ours(void)
{
	struct stat s;

	return stat("/", &s) == 0 && s.st_dev == root_device && s.st_ino == root_inode;
}

/* Opens the file again; -errno: it cannot be opened now. What is not as we left it is left alone for good. */
static int reopen(void)
{
	int fd = sys_open(path, O_RDWR, 0);
	struct stat s;

	if (fd < 0) {
		const int error = errno;

		/* the program may come back out of another root folder */
		pmh_file.is_damaged |= (error == ENOENT || error == ENOTDIR) && is_root_ours();
		return pmh_file.is_damaged ? -ENOENT : -EACCES;
	}
	if (fstat(fd, &s) == 0 && s.st_dev == file_device && s.st_ino == file_inode &&
		(uint64_t)s.st_size >= pmh_file.byte_count)
		return fd;
	pmh_file.is_damaged = true;
	sys_close(fd);
	return -ENOENT;
}

struct extension {
	struct pmh_map *map;
	size_t byte_count;
};

static long map_more(void *data)
{
	const struct extension *e = data;
	int fd = reopen(), error = 0;

	if (fd < 0)
		return fd;
	if (!pmh_map_reserve(fd, pmh_file.byte_count, e->byte_count))
		error = errno;
	else if (!pmh_map(e->map, fd, pmh_file.byte_count, e->byte_count))
		error = ENOMEM;
	sys_close(fd);
	return -error;
}

static enum pm_loss cause_of(int error)
{
	switch (error) {
	case EFBIG:
		return PM_LOSS_FILE_LIMIT;
	case ENOMEM:
		return PM_LOSS_MAPPING;
	case EACCES:
		return PM_LOSS_UNREACHABLE;
	default:
		return PM_LOSS_NO_ROOM;
	}
}

bool pmh_file_extend(struct pmh_map *map, size_t byte_count)
{
	struct rlimit limit;
	long result;

	pmh_file.error = ENOSPC;
	pmh_file.why_not = pmh_file.is_closed ? PM_LOSS_AFTER_END : PM_LOSS_SIZE_LIMIT;
	if (pmh_file.is_closed || pmh_file.byte_count + byte_count > max_bytes)
		return false;
	pmh_file.why_not = PM_LOSS_NO_ROOM;
	if (pmh_file.is_damaged)
		return false;
	/* the kernel would end the host by SIGXFSZ */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && pmh_file.byte_count + byte_count > limit.rlim_cur) {
		pmh_file.error = EFBIG;
		pmh_file.why_not = PM_LOSS_FILE_LIMIT;
		return false;
	}
	pmh_sigbus_begin();
	result = pmh_run_in_clone_task_or_here(map_more, &(struct extension){map, byte_count});
	if (result < 0) {
		pmh_file.error = (int)-result;
		pmh_file.why_not = cause_of(pmh_file.error);
		return false;
	}
	pmh_file.byte_count += byte_count;
	return true;
}

void pmh_chunk_time(struct pm_chunk *chunk)
{
	pmh_clock_pair(&chunk->ticks, &chunk->monotonic_ns);
	chunk->real_ns = real_ns();
}

void pmh_chunk_write(void *start, struct pm_chunk *chunk)
{
	pmh_chunk_time(chunk);
	chunk->magic = 0;
	memcpy(start, chunk, sizeof *chunk);
	chunk->magic = PM_CHUNK_MAGIC;
	__atomic_store_n(&((struct pm_chunk *)start)->magic, PM_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

struct pm_chunk pmh_chunk_head(enum pm_chunk_kind kind, size_t byte_count, const struct pmh_thread *self)
{
	return (struct pm_chunk){.chunk_bytes = (uint32_t)byte_count,
		.kind = (uint16_t)kind,
		.thread = self ? self->number : 0,
		.tid = (uint32_t)syscall(SYS_gettid),
		.sequence = self ? self->chunk_count : 0,
		.lost_records = self ? self->lost_count : 0};
}

bool pmh_chunk_open(struct pmh_map *map, enum pm_chunk_kind kind, size_t byte_count,
	const struct pmh_thread *self, struct pm_chunk *head)
{
	struct pm_chunk chunk = pmh_chunk_head(kind, byte_count, self);

	if (!pmh_file_extend(map, byte_count))
		return false;
	pmh_chunk_write(map->start, &chunk);
	if (head)
		*head = chunk;
	return true;
}

static int number_in_environment(const char *const *names)
{
	for (; *names; names++) {
		const char *text = getenv(*names);
		char *end;
		long n;

		if (!text || !*text)
			continue;
		n = strtol(text, &end, 10);
		if (!*end && n >= 0 && n < INT_MAX)
			return (int)n;
	}
	return -1;
}

/* Where launchers say which rank a process is, of how many, and which on its host. */
static const char *const rank_names[] = {PMH_RANK_VARIABLES, NULL};
static const char *const world_names[] = {
	"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
static const char *const local_names[] = {
	"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", NULL};

int pmh_trace_launched_rank(void)
{
	return number_in_environment(rank_names);
}

static void program_name(char *name, size_t name_bytes)
{
	char target[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", target, sizeof target - 1);
	const char *base;

	target[n > 0 ? n : 0] = 0;
	base = strrchr(target, '/');
	snprintf(name, name_bytes, "%s", base && base[1] ? base + 1 : "program");
}

struct creation {
	const char *program;
	int rank, pid;
};

/* The last folder of the path, which ends in a file's name. That it is there, or could not be made, shows
 * when the file is opened. */
static void make_folder(const char *base)
{
	char *end = path + strlen(path) - strlen(base) - strlen("/.pmtrace");

	*end = 0;
	mkdir(path, 0777);
	*end = '/';
}

/* Makes the file under a name that is not taken: NAME.RANK.pmtrace, or the process number where the rank is
 * not known. 0, or -errno. */
static long create(void *data)
{
	const struct creation *c = data;
	const char *out = pmh_settings.out;
	const mode_t mode = (mode_t)strtoul(pmh_settings.file_mode, NULL, 8);
	char folder[PATH_MAX], base[128];
	struct stat s, root;
	int fd = -1, error;

	if (out[0] == '/' || !getcwd(folder, sizeof folder - 1))
		folder[0] = 0;
	else
		strcat(folder, "/");
	if (c->rank >= 0)
		snprintf(base, sizeof base, "%s.%d", c->program, c->rank);
	else
		snprintf(base, sizeof base, "%s.pid%d", c->program, c->pid);
	for (int i = 1; i < 10000; i++) {
		char more[16] = "";

		if (i > 1)
			snprintf(more, sizeof more, ".%d", i);
		if (snprintf(path, sizeof path, "%s%s/%s%s.pmtrace", folder, out, base, more) >=
			(int)sizeof path)
			return -ENAMETOOLONG;
		fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL, mode);
		if (fd < 0 && errno == ENOENT && i == 1) {
			make_folder(base);
			fd = sys_open(path, O_RDWR | O_CREAT | O_EXCL, mode);
		}
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0)
		return -errno;
	error = fstat(fd, &s) == 0 && stat("/", &root) == 0 ? 0 : errno;
	sys_close(fd);
	if (error)
		unlink(path);
	file_device = s.st_dev;
	file_inode = s.st_ino;
	root_device = root.st_dev;
	root_inode = root.st_ino;
	return -error;
}

int pmh_trace_open(void)
{
	const int rank = pmh_trace_launched_rank();
	struct pm_header h = {.byte_order = PM_BYTE_ORDER,
		.version = PM_VERSION_WHOLE,
		.record_bytes = sizeof(struct pm_record),
		.header_bytes = HEADER_BYTES,
		.chunk_header_bytes = sizeof(struct pm_chunk),
		.clock = pmh_clock,
		.pid = (uint32_t)getpid(),
		.rank = rank};
	uint64_t magic;
	long error;

	program_name(h.program, sizeof h.program);
	error = pmh_run_in_clone_task_or_here(create, &(struct creation){h.program, rank, (int)getpid()});
	if (error < 0) {
		path[0] = 0;
		return (int)error;
	}
	pmh_file.byte_count = 0;
	pmh_file.is_damaged = false;
	pmh_file.is_closed = false;
	max_bytes = strtoull(pmh_settings.max_mb, NULL, 10) << 20;
	if (max_bytes == 0)
		max_bytes = UINT64_MAX;
	if (!pmh_file_extend(&header_map, HEADER_BYTES) || !pmh_ring_begin()) {
		error = pmh_file.error;
		pmh_ring_forget();
		pmh_unmap(&header_map);
		unlink(path);
		path[0] = 0;
		return (int)-error;
	}
	h.world = number_in_environment(world_names);
	h.local_rank = number_in_environment(local_names);
	if (pmh_ring_is_on())
		h.version = PM_VERSION;
	pmh_clock_pair(&h.ticks, &h.monotonic_ns);
	h.real_ns = real_ns();
	begin_ticks = h.ticks;
	begin_ns = h.monotonic_ns;
	gethostname(h.host, sizeof h.host - 1);
	pmh_file.header = header_map.start;
	memcpy(pmh_file.header, &h, sizeof h);
	/* the magic last: until then the file is no trace */
	memcpy(&magic, PM_MAGIC, sizeof magic);
	__atomic_store_n((uint64_t *)(void *)pmh_file.header->magic, magic, __ATOMIC_RELEASE);
	pmh_live_begin();
	pmh_command_note(h.program);
	pmh_attempt_note();
	pmh_ring_note();
	return 0;
}

void pmh_trace_entry(
	enum pm_entry_type type, const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes)
{
	size_t entry_bytes = (sizeof(struct pm_entry) + fixed_bytes + tail_bytes + 7) & ~(size_t)7;
	struct pm_chunk *chunk;
	struct pm_entry *entry;

	if (!dictionary.start || dictionary_used + entry_bytes > dictionary.byte_count - sizeof *chunk) {
		size_t chunk_bytes = sizeof *chunk + entry_bytes;
		struct pmh_map next;
		bool is_open, is_late;

		chunk_bytes = (chunk_bytes + DICTIONARY_BYTES - 1) / DICTIONARY_BYTES * DICTIONARY_BYTES;
		pmh_acquire(&pmh_file.lock);
		is_open = pmh_file.header &&
			  pmh_chunk_open(&next, PM_CHUNK_DICTIONARY, chunk_bytes, NULL, NULL);
		is_late = pmh_file.is_closed;
		pmh_release(&pmh_file.lock);
		if (!is_open) {
			pmh_lose(is_late ? PM_LOSS_AFTER_END : PM_LOSS_DICTIONARY, 1);
			return;
		}
		pmh_unmap(&dictionary);
		dictionary = next;
		dictionary_used = 0;
	}
	chunk = dictionary.start;
	entry = (struct pm_entry *)(void *)((char *)(chunk + 1) + dictionary_used);
	entry->entry_bytes = (uint32_t)entry_bytes;
	entry->type = (uint16_t)type;
	if (fixed_bytes)
		memcpy(entry + 1, fixed, fixed_bytes);
	if (tail_bytes)
		memcpy((char *)(entry + 1) + fixed_bytes, tail, tail_bytes);
	dictionary_used += (uint32_t)entry_bytes;
	__atomic_store_n(&chunk->used_bytes, dictionary_used, __ATOMIC_RELEASE);
}

void pmh_trace_rank(int rank, int world)
{
	if (!pmh_file.header)
		return;
	if (world >= 0)
		pmh_file.header->world = world;
	pmh_file.header->rank = rank;
}

void pmh_trace_device_source(enum pm_device_source source)
{
	if (pmh_file.header)
		pmh_file.header->device_source = source;
}

/* What is lost this way is in no trace, so it is said. */
static void say_damaged(void)
{
	static char text[PATH_MAX + 128];
	int n = snprintf(text, sizeof text,
		"pmhook: %s was truncated, removed or replaced while process %d wrote it: it is "
		"incomplete\n",
		path, (int)getpid());

	if (n > 0)
		syscall(SYS_write, STDERR_FILENO, text, (size_t)n);
}

/* Whether the file is as we left it; else it is damaged. */
static long look_again(void *unused)
{
	int fd = reopen();

	(void)unused;
	if (fd >= 0)
		sys_close(fd);
	return fd >= 0;
}

void pmh_trace_close(const struct pm_footer *footer)
{
	struct pmh_map map;
	struct pm_chunk head;

	pmh_live_end();
	pmh_acquire(&pmh_file.lock);
	pmh_file.is_damaged |= pmh_map_is_lost(&header_map) || pmh_map_is_lost(&dictionary);
	if (pmh_file.header && pmh_run_in_clone_task_or_here(look_again, NULL) &&
		pmh_chunk_open(&map, PM_CHUNK_FOOTER, FOOTER_BYTES, NULL, &head)) {
		struct pm_footer f = *footer;
		struct pm_chunk *chunk = map.start;

		f.ticks = head.ticks;
		f.monotonic_ns = head.monotonic_ns;
		f.real_ns = head.real_ns;
		memcpy(chunk + 1, &f, sizeof f);
		__atomic_store_n(&chunk->used_bytes, (uint32_t)sizeof f, __ATOMIC_RELEASE);
		pmh_unmap(&map);
	}
	if (pmh_file.header && pmh_file.is_damaged)
		say_damaged();
	pmh_file.is_closed = true;
	pmh_release(&pmh_file.lock);
}

struct pm_header *pmh_trace_forget(void)
{
	/* the parent's other threads' chunks stay mapped, and its header: nobody here writes to the first */
	struct pm_header *const parents = pmh_file.header;

	/* nothing more goes into the thread's chunk, which is the parent's, as is the slot of a call there */
	if (pmh_local.thread) {
		pmh_self.next = pmh_self.end = pmh_self.polled = NULL;
		if (pmh_ring_is_on())
			pmh_self.chunk = (struct pmh_map){0};
		pmh_self.ring_chunk = 0;
	}
	pmh_ring_forget();
	pmh_rests_forget();
	pmh_unmap(&dictionary);
	pmh_file.header = NULL;
	header_map = (struct pmh_map){0};
	path[0] = 0;
	pmh_file.byte_count = max_bytes = 0;
	pmh_lock_forget(&pmh_file.lock);
	return parents;
}

bool pmh_trace_begin(uint64_t *ticks, uint64_t *monotonic_ns)
{
	if (!pmh_file.header)
		return false;
	*ticks = begin_ticks;
	*monotonic_ns = begin_ns;
	return true;
}

const char *pmh_trace_path(void)
{
	return path;
}
