/*
 * What several processes have: files without names, and events in them.
 *
 * The one idea: the file is found through /proc by its owner's descriptor, and recognised by its inode, so
 * that a descriptor that was closed and used again is no other file. An event is two counters in a file: of
 * records, and of those that were reached; times of the model clock are CLOCK_MONOTONIC's, the same for all
 * processes.
 */
#include "model.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE_BYTES ((size_t)4096)

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

int sg_shared_file_again(struct sg_shared_file *file, int fd, size_t bytes)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -1;
	*file = (struct sg_shared_file){bytes, (uint64_t)status.st_ino, (int32_t)getpid(), fd};
	return 0;
}

int sg_shared_file_make(struct sg_shared_file *file, size_t bytes)
{
	int fd = memfd_create("softgpu", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)whole_pages(bytes)) == 0 && sg_shared_file_again(file, fd, bytes) == 0)
		return 0;
	close(fd);
	return -1;
}

int sg_shared_file_open(const struct sg_shared_file *file)
{
	struct stat status;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", file->process, file->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) == 0 && (uint64_t)status.st_ino == file->inode &&
		(uint64_t)status.st_size == whole_pages(file->bytes))
		return fd;
	close(fd);
	return -1;
}

/* ---- events ---- */

/* What all have: a slot of a file with many, as a program may have a thousand events and no more descriptors.
 */
struct slot {
	_Atomic uint32_t word;   /* changes when a record is reached */
	_Atomic int32_t process; /* that recorded last */
	_Atomic uint64_t recorded, reached;
	_Atomic uint64_t time_ns; /* of the latest that was reached */
	char padding[32];
};
#define SLOTS 1024

/* A file of this process's own. Files stay to its end, slots are used again: their counters only grow. */
struct slots {
	struct slots *next;
	struct sg_shared_file file;
	struct slot *all;
	unsigned char used[SLOTS];
};

struct sg_shared_event {
	_Atomic int references;
	struct slot *slot;
	struct slots *of; /* NULL: of another process */
	struct slot *all; /* what is mapped, where it is of another process */
	int number;
};

static const struct timespec patience = {1, 0};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slots *files;

static struct slot *map(int fd)
{
	void *all = mmap(NULL, SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return all != MAP_FAILED ? all : NULL;
}

/* The lock is held. */
static struct slots *add_file(void)
{
	struct slots *slots = calloc(1, sizeof(*slots));

	if (slots == NULL || sg_shared_file_make(&slots->file, SLOTS * sizeof(struct slot)) != 0) {
		free(slots);
		return NULL;
	}
	slots->all = map(slots->file.fd);
	if (slots->all == NULL) {
		close(slots->file.fd);
		free(slots);
		return NULL;
	}
	slots->next = files;
	files = slots;
	return slots;
}

/* One that is free: a number, or -1. The lock is held. */
static int take_slot(struct slots *slots)
{
	unsigned char *found = memchr(slots->used, 0, SLOTS);

	if (found == NULL)
		return -1;
	*found = 1;
	return (int)(found - slots->used);
}

struct sg_shared_event *sg_shared_event_make(void)
{
	struct sg_shared_event *event = calloc(1, sizeof(*event));
	int number = -1;

	if (event == NULL)
		return NULL;
	pthread_mutex_lock(&lock);
	for (event->of = files; event->of != NULL; event->of = event->of->next) {
		number = take_slot(event->of);
		if (number >= 0)
			break;
	}
	if (event->of == NULL)
		event->of = add_file();
	if (event->of != NULL && number < 0)
		number = take_slot(event->of);
	pthread_mutex_unlock(&lock);
	if (number < 0) {
		free(event);
		return NULL;
	}
	event->references = 1;
	event->number = number;
	event->slot = &event->of->all[number];
	return event;
}

struct sg_shared_event *sg_shared_event_open(const struct sg_shared_file *file, int number)
{
	int fd = file->bytes == SLOTS * sizeof(struct slot) && number >= 0 && number < SLOTS
			 ? sg_shared_file_open(file)
			 : -1;
	struct sg_shared_event *event = fd >= 0 ? calloc(1, sizeof(*event)) : NULL;

	if (event != NULL)
		event->all = map(fd);
	if (fd >= 0)
		close(fd);
	if (event == NULL || event->all == NULL) {
		free(event);
		return NULL;
	}
	event->references = 1;
	event->number = number;
	event->slot = &event->all[number];
	return event;
}

const struct sg_shared_file *sg_shared_event_file(const struct sg_shared_event *event, int *number)
{
	*number = event->number;
	return event->of != NULL ? &event->of->file : NULL;
}

void sg_shared_event_let_go(struct sg_shared_event *event)
{
	if (atomic_fetch_sub(&event->references, 1) != 1)
		return;
	if (event->of != NULL) {
		pthread_mutex_lock(&lock);
		event->of->used[event->number] = 0;
		pthread_mutex_unlock(&lock);
	} else {
		munmap(event->all, SLOTS * sizeof(struct slot));
	}
	free(event);
}

uint64_t sg_shared_event_record(struct sg_shared_event *event)
{
	atomic_fetch_add(&event->references, 1);
	atomic_store(&event->slot->process, (int32_t)getpid());
	return atomic_fetch_add(&event->slot->recorded, 1) + 1;
}

static void raise_to(_Atomic uint64_t *number, uint64_t value)
{
	uint64_t before = atomic_load(number);

	while (before < value && !atomic_compare_exchange_weak(number, &before, value))
		;
}

void sg_shared_event_reach(struct sg_shared_event *event, uint64_t record, uint64_t time_ns)
{
	struct slot *slot = event->slot;

	/* The time first: who finds the record reached goes by it. */
	raise_to(&slot->time_ns, time_ns);
	raise_to(&slot->reached, record);
	atomic_fetch_add(&slot->word, 1);
	sg_futex_wake(&slot->word, 1);
	sg_shared_event_let_go(event);
}

int sg_shared_event_is_over(struct sg_shared_event *event)
{
	struct slot *slot = event->slot;

	return atomic_load(&slot->reached) >= atomic_load(&slot->recorded) &&
	       (!sg_modelled() || atomic_load(&slot->time_ns) <= sg_now_ns());
}

static void await(struct slot *slot, uint64_t record)
{
	for (;;) {
		uint32_t word = atomic_load(&slot->word);
		pid_t process = atomic_load(&slot->process);

		if (atomic_load(&slot->reached) >= record || sg_stopped() ||
			(kill(process, 0) != 0 && errno == ESRCH))
			return;
		sg_futex_wait(&slot->word, word, &patience, 1);
	}
}

void sg_shared_event_wait(struct sg_shared_event *event)
{
	await(event->slot, atomic_load(&event->slot->recorded));
	if (sg_modelled())
		sg_sleep_until(atomic_load(&event->slot->time_ns));
}

struct wait_arg {
	struct sg_shared_event *event;
	uint64_t record;
};

static void wait_work(void *arg)
{
	struct wait_arg *wait = arg;
	struct slot *slot = wait->event->slot;
	struct sg_stream *stream = sg_self.worker;

	sg_wait_begin();
	await(slot, wait->record);
	sg_wait_end();
	if (stream != NULL && stream->ends != NULL && stream->model_ns < atomic_load(&slot->time_ns))
		stream->model_ns = atomic_load(&slot->time_ns);
	sg_shared_event_let_go(wait->event);
}

cudaError_t sg_shared_event_queue(struct sg_shared_event *event, struct sg_stream *stream)
{
	struct wait_arg wait = {event, atomic_load(&event->slot->recorded)};
	cudaError_t error;

	atomic_fetch_add(&event->references, 1);
	error = sg_queue_now(stream, NULL, wait_work, &wait, sizeof(wait), NULL);
	if (error != cudaSuccess)
		sg_shared_event_let_go(event);
	return error;
}
