/*
 * The shared memory of a communicator: how ranks find each other, wait for each other, and notice that one
 * has died.
 *
 * The one idea: the unique id names a POSIX shared memory object that exists only until every rank has mapped
 * it. From then on nothing outside the ranks' own mappings is left, however they end. Ranks killed earlier
 * leave a first page, which the next ncclGetUniqueId removes after a minute.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "nccl_private.h"

#define PAGE_BYTES ((size_t)4096)
#define SLOTS_BYTES ((size_t)8 << 20) /* of all ranks, both parities, where that leaves each enough */
#define SWEEP_AGE_S 60

/* The barrier's generation counts in steps of two; the lowest bit says that no barrier will be met any more.
 */
#define GENERATION_FAILED 1u
#define GENERATION_STEP 2u

static const struct timespec patience = {1, 0};

void nccl_segment_name(const struct nccl_token *token, char name[NCCL_NAME_BYTES])
{
	snprintf(name, NCCL_NAME_BYTES, "/softgpu-%lld-%016llx%016llx", (long long)token->pid,
		(unsigned long long)token->random[0], (unsigned long long)token->random[1]);
}

static size_t round_up(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Gives the segment its layout; everything follows from the number of ranks. */
static void lay_out(struct nccl_segment *segment, int rank_count)
{
	size_t n = (size_t)rank_count, offset = PAGE_BYTES, slot = SLOTS_BYTES / (2 * n);
	size_t ranks, channels, data, slots;

	slot = slot > (size_t)1 << 20 ? (size_t)1 << 20 : slot & ~(PAGE_BYTES - 1);
	if (slot < (size_t)64 << 10)
		slot = (size_t)64 << 10;
	ranks = offset;
	offset += round_up(n * sizeof(struct nccl_rank));
	channels = offset;
	offset += round_up(n * n * sizeof(struct nccl_channel));
	data = offset;
	offset += n * n * NCCL_CHANNEL_BYTES;
	slots = offset;
	offset += 2 * n * slot;
	segment->rank_count = rank_count;
	segment->slot_bytes = slot;
	segment->bytes = offset;
	if (segment->base == NULL)
		return;
	segment->header = (struct nccl_header *)(void *)segment->base;
	segment->ranks = (struct nccl_rank *)(void *)(segment->base + ranks);
	segment->channels = (struct nccl_channel *)(void *)(segment->base + channels);
	segment->channel_data = segment->base + data;
	segment->slots = segment->base + slots;
}

/* The libraries' own word for it is "unhandled system error", which names neither the file nor what to do. */
static ncclResult_t no_memory(const char *name, size_t bytes, int error)
{
	static __thread char sentence[256];
	static _Atomic int is_said;
	const char *remedy =
		error == ENOSPC
			? "give it more room (docker run --shm-size=1g; mount -o remount,size=1g /dev/shm) or remove "
			  "what others left there"
		: error == EACCES || error == EPERM || error == EROFS || error == ENOENT
			? "it must be a tmpfs that this user can write to (mount -t tmpfs -o mode=1777 tmpfs /dev/shm)"
			: "the limits of this process (ulimit -a) may forbid it";

	snprintf(sentence, sizeof(sentence), "no %zu KiB in /dev/shm%s: %s; %s", bytes >> 10, name,
		strerror(error), remedy);
	if (!atomic_exchange(&is_said, 1))
		fprintf(stderr, "softgpu: NCCL: %s\n", sentence);
	return nccl_fail(ncclSystemError, sentence);
}

static void ring(struct nccl_header *header)
{
	atomic_fetch_add(&header->bell, 1);
	sg_futex_wake(&header->bell, 1);
}

static void fail_header(struct nccl_header *header, ncclResult_t result)
{
	uint32_t none = ncclSuccess;

	atomic_compare_exchange_strong(&header->failed, &none, (uint32_t)result);
	/* A waiter that is about to sleep finds the word changed. */
	atomic_fetch_or(&header->generation, GENERATION_FAILED);
	sg_futex_wake(&header->generation, 1);
	ring(header);
}

void nccl_segment_fail(struct nccl_segment *segment, ncclResult_t result)
{
	fail_header(segment->header, result);
	for (int i = 0; i < segment->rank_count; i++) {
		atomic_fetch_add(&segment->ranks[i].bell, 1);
		sg_futex_wake(&segment->ranks[i].bell, 1);
	}
}

/* ---- names made by this process ---- */

struct made {
	struct made *next;
	struct nccl_token token;
};
static struct made *all_made;
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t made_by;

/* At exit: who still waits for ranks of ours would wait for ever. */
static void unmake(void)
{
	if (made_by != getpid())
		return;
	for (struct made *made = all_made; made != NULL; made = made->next)
		nccl_segment_spoil(&made->token, ncclRemoteError);
}

/* Removes first pages whose makers were killed a while ago, so that they never pile up. */
static void sweep(void)
{
	DIR *folder = opendir("/dev/shm");
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		char name[NCCL_NAME_BYTES];
		struct stat status;
		long pid;

		if (sscanf(entry->d_name, "softgpu-%ld-", &pid) != 1 || pid <= 0 ||
			kill((pid_t)pid, 0) == 0 || errno != ESRCH ||
			fstatat(dirfd(folder), entry->d_name, &status, 0) != 0 ||
			time(NULL) - status.st_mtime < SWEEP_AGE_S)
			continue;
		if (snprintf(name, sizeof(name), "/%s", entry->d_name) < (int)sizeof(name))
			shm_unlink(name);
	}
	if (folder != NULL)
		closedir(folder);
}

ncclResult_t nccl_segment_make(const struct nccl_token *token)
{
	struct made *made = malloc(sizeof(*made));
	char name[NCCL_NAME_BYTES];
	ncclResult_t result = ncclSystemError;
	int fd, error;

	sweep();
	nccl_segment_name(token, name);
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)PAGE_BYTES);
	if (error == 0 && made != NULL) {
		made->token = *token;
		pthread_mutex_lock(&made_lock);
		if (made_by != getpid()) {
			/* A forked child makes its own. */
			while (all_made != NULL) {
				struct made *next = all_made->next;

				free(all_made);
				all_made = next;
			}
			made_by = getpid();
			atexit(unmake);
		}
		made->next = all_made;
		all_made = made;
		pthread_mutex_unlock(&made_lock);
		result = ncclSuccess;
	} else {
		if (fd >= 0)
			shm_unlink(name);
		free(made);
		if (error != 0)
			no_memory(name, PAGE_BYTES, error);
	}
	if (fd >= 0)
		close(fd);
	return result;
}

void nccl_segment_spoil(const struct nccl_token *token, ncclResult_t result)
{
	char name[NCCL_NAME_BYTES];
	void *page;
	int fd;

	nccl_segment_name(token, name);
	fd = shm_open(name, O_RDWR | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		fail_header(page, result);
		munmap(page, PAGE_BYTES);
	}
	shm_unlink(name);
	close(fd);
}

/* ---- joining ---- */

static ncclResult_t claim(
	struct nccl_segment *segment, const char *name, int rank, const struct nccl_place *place)
{
	struct nccl_header *header = segment->header;
	uint32_t none = 0;

	if (!atomic_compare_exchange_strong(&segment->ranks[rank].taken, &none, 1)) {
		fail_header(header, ncclInvalidUsage);
		shm_unlink(name);
		return nccl_fail(ncclInvalidUsage, "two ranks of a communicator have the same number");
	}
	segment->ranks[rank].place = *place;
	atomic_store(&segment->ranks[rank].pid, (int32_t)getpid());
	/* Nobody waits for less than all: of many ranks, only the last wakes the others. */
	if (atomic_fetch_add(&header->joined, 1) + 1 == (uint32_t)segment->rank_count) {
		shm_unlink(name);
		ring(header);
	}
	return ncclSuccess;
}

ncclResult_t nccl_segment_join(struct nccl_segment *segment, const struct nccl_token *token, int rank_count,
	int rank, const struct nccl_place *place, int make)
{
	char name[NCCL_NAME_BYTES];
	struct nccl_header *header;
	ncclResult_t result = ncclSystemError;
	uint32_t said = 0;
	void *map;
	int error;

	nccl_segment_name(token, name);
	memset(segment, 0, sizeof(*segment));
	segment->fd = shm_open(name, O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0), 0600);
	if (segment->fd < 0)
		return errno == ENOENT ? nccl_fail(ncclInvalidUsage,
						 "no communicator with this unique id waits for ranks")
				       : no_memory(name, PAGE_BYTES, errno);
	error = posix_fallocate(segment->fd, 0, (off_t)PAGE_BYTES);
	if (error != 0) {
		no_memory(name, PAGE_BYTES, error);
		goto fail;
	}
	map = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
	if (map == MAP_FAILED)
		goto fail;
	header = map;
	if (!atomic_compare_exchange_strong(&header->rank_count, &said, (uint32_t)rank_count) &&
		said != (uint32_t)rank_count) {
		result = nccl_fail(
			ncclInvalidUsage, "the ranks of a communicator disagree on the number of ranks");
		fail_header(header, result);
		shm_unlink(name);
	} else if (atomic_load(&header->failed) != ncclSuccess) {
		result = (ncclResult_t)atomic_load(&header->failed);
	} else {
		result = ncclSuccess;
	}
	munmap(map, PAGE_BYTES);
	if (result != ncclSuccess)
		goto fail;
	lay_out(segment, rank_count);
	result = ncclSystemError;
	if (ftruncate(segment->fd, (off_t)segment->bytes) != 0) {
		no_memory(name, segment->bytes, errno);
		goto spoil;
	}
	map = mmap(NULL, segment->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment->fd, 0);
	if (map == MAP_FAILED)
		goto spoil;
	segment->base = map;
	lay_out(segment, rank_count);
	error = posix_fallocate(segment->fd, 0, (off_t)(segment->channel_data - segment->base));
	if (error != 0) {
		no_memory(name, (size_t)(segment->channel_data - segment->base), error);
		goto spoil;
	}
	result = claim(segment, name, rank, place);
	if (result == ncclSuccess)
		return result;
	goto fail;
spoil:
	nccl_segment_spoil(token, ncclSystemError);
fail:
	nccl_segment_leave(segment);
	return result;
}

void nccl_segment_leave(struct nccl_segment *segment)
{
	if (segment->base != NULL)
		munmap(segment->base, segment->bytes);
	if (segment->fd >= 0)
		close(segment->fd);
	memset(segment, 0, sizeof(*segment));
	segment->fd = -1;
}

ncclResult_t nccl_segment_state(struct nccl_segment *segment)
{
	uint32_t failed = atomic_load(&segment->header->failed);

	if (failed != ncclSuccess)
		return (ncclResult_t)failed;
	if (atomic_load(&segment->header->joined) < (uint32_t)segment->rank_count)
		return ncclInProgress;
	return ncclSuccess;
}

/* ---- the dead ---- */

/* A process that has ended but was not waited for by its parent still takes signals. */
static int is_dead(pid_t pid)
{
	char path[32], text[512], *end;
	ssize_t size = -1;
	int fd;

	if (kill(pid, 0) != 0)
		return errno == ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
}

/* SOFTGPU_NCCL_FAULTS */
static int faults_are_waited_for(void)
{
	static _Atomic int known; /* 1: no, 2: yes */
	const char *setting;

	if (atomic_load(&known) == 0) {
		setting = getenv("SOFTGPU_NCCL_FAULTS");
		atomic_store(&known, setting != NULL && strcmp(setting, "wait") == 0 ? 2 : 1);
	}
	return atomic_load(&known) == 2;
}

ncclResult_t nccl_segment_refuse(struct nccl_segment *segment)
{
	_Atomic uint32_t *failed = &segment->header->failed;

	while (faults_are_waited_for() && atomic_load(failed) == 0)
		sg_futex_wait(failed, 0, &patience, 1);
	return atomic_load(failed) != 0 ? (ncclResult_t)atomic_load(failed) : ncclInvalidUsage;
}

void nccl_segment_look_for_peer(struct nccl_segment *segment, const struct nccl_rank *peer)
{
	pid_t pid = atomic_load(&peer->pid);

	if (!faults_are_waited_for() && pid != 0 && is_dead(pid))
		nccl_segment_fail(segment, ncclRemoteError);
}

void nccl_segment_look_for_dead(struct nccl_segment *segment)
{
	for (int i = 0; i < segment->rank_count; i++)
		nccl_segment_look_for_peer(segment, &segment->ranks[i]);
}

/* ---- memory that is really there ---- */

static ncclResult_t reserve(struct nccl_segment *segment, const char *start, size_t bytes)
{
	int error = posix_fallocate(segment->fd, (off_t)(start - segment->base), (off_t)bytes);

	return error == 0 ? ncclSuccess : no_memory("", bytes, error);
}

ncclResult_t nccl_segment_reserve_slots(struct nccl_segment *segment)
{
	ncclResult_t result = ncclSuccess;

	if (!segment->slots_ready)
		result = reserve(
			segment, segment->slots, 2 * (size_t)segment->rank_count * segment->slot_bytes);
	segment->slots_ready = result == ncclSuccess;
	return result;
}

ncclResult_t nccl_segment_reserve_channel(struct nccl_segment *segment, int from, int to)
{
	size_t index = (size_t)from * (size_t)segment->rank_count + (size_t)to;
	ncclResult_t result = ncclSuccess;

	if (atomic_load(&segment->channels[index].ready))
		return result;
	result = reserve(segment, segment->channel_data + index * NCCL_CHANNEL_BYTES, NCCL_CHANNEL_BYTES);
	if (result == ncclSuccess)
		atomic_store(&segment->channels[index].ready, 1);
	return result;
}

/* ---- the barrier ---- */

/* 1 when the barrier entered at `generation` need not be waited for any more. */
static int is_over(struct nccl_header *header, uint32_t generation)
{
	return atomic_load_explicit(&header->generation, memory_order_acquire) != generation;
}

static void sleep_in_barrier(struct nccl_segment *segment, uint32_t generation)
{
	struct nccl_header *header = segment->header;

	atomic_fetch_add(&header->sleepers, 1);
	while (atomic_load(&header->generation) == generation) {
		uint64_t begin_ns = sg_now_ns();

		sg_futex_wait(&header->generation, generation, &patience, 1);
		if (sg_now_ns() - begin_ns > 900000000u && !is_over(header, generation))
			nccl_segment_look_for_dead(segment);
	}
	atomic_fetch_sub(&header->sleepers, 1);
}

ncclResult_t nccl_barrier(struct nccl_segment *segment, void (*last)(void *arg), void *arg)
{
	struct nccl_header *header = segment->header;
	uint32_t generation = atomic_load(&header->generation);
	uint64_t begin_ns;
	unsigned turn = 0;

	if (generation & GENERATION_FAILED)
		return (ncclResult_t)atomic_load(&header->failed);
	if (atomic_fetch_add(&header->arrived, 1) + 1 == (uint32_t)segment->rank_count) {
		if (last != NULL)
			last(arg);
		atomic_store(&header->arrived, 0);
		atomic_fetch_add(&header->generation, GENERATION_STEP);
		if (atomic_load(&header->sleepers) != 0)
			sg_futex_wake(&header->generation, 1);
		return ncclSuccess;
	}
	begin_ns = sg_now_ns();
	while (!is_over(header, generation)) {
		if (sg_modelled() || sg_spin_over(begin_ns, &turn))
			sleep_in_barrier(segment, generation);
	}
	/* Met by all before it failed is met. */
	if ((atomic_load(&header->generation) & ~GENERATION_FAILED) != generation)
		return ncclSuccess;
	return (ncclResult_t)atomic_load(&header->failed);
}
