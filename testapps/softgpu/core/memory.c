/*
 * Memory blocks: "device" memory is host memory, and a table of all blocks, sorted by address, says which
 * device a pointer belongs to and where its block ends.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGNMENT 256
#define LAZY_BYTES ((size_t)256 << 10) /* larger blocks that nobody computes with are only reserved */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sg_block *blocks; /* sorted by base, never overlapping */
static size_t block_count, block_room;
static size_t used_bytes[SG_DEVICE_LIMIT], most_bytes[SG_DEVICE_LIMIT]; /* now; ever at once */

/* Index of the first block whose base is above the address; the lock is held, as in the other static
 * functions. */
static size_t upper_bound(const char *address)
{
	size_t low = 0, high = block_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uintptr_t)blocks[middle].base <= (uintptr_t)address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct sg_block *containing(const void *address)
{
	size_t i = upper_bound(address);

	if (i == 0 || (uintptr_t)address - (uintptr_t)blocks[i - 1].base >= blocks[i - 1].size_bytes)
		return NULL;
	return &blocks[i - 1];
}

/* The lowest and the highest address that any device block ever had: what lies outside need not be looked up.
 */
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;

static void widen(const struct sg_block *block)
{
	uintptr_t base = (uintptr_t)block->base;

	if (block->kind != SG_DEVICE)
		return;
	if (base < atomic_load(&lowest))
		atomic_store(&lowest, base);
	if (base + block->size_bytes > atomic_load(&highest))
		atomic_store(&highest, base + block->size_bytes);
}

static int insert(const struct sg_block *block)
{
	size_t i = upper_bound(block->base);

	if (block_count == block_room) {
		size_t room = block_room == 0 ? 256 : 2 * block_room;
		struct sg_block *more = realloc(blocks, room * sizeof(*blocks));

		if (more == NULL)
			return -1;
		blocks = more;
		block_room = room;
	}
	memmove(&blocks[i + 1], &blocks[i], (block_count - i) * sizeof(*blocks));
	blocks[i] = *block;
	sg_known_init(&blocks[i]);
	widen(block);
	block_count++;
	return 0;
}

static int counted(enum sg_block_kind kind)
{
	return kind == SG_DEVICE || kind == SG_MANAGED;
}

/* Device memory without numerics costs nothing until somebody touches it, however much there is of it. */
static int is_lazy(size_t size_bytes, enum sg_block_kind kind)
{
	return kind == SG_DEVICE && size_bytes > LAZY_BYTES && !sg_numerics();
}

/*
 * SOFTGPU_ADDRESSES=fresh: no address is ever that of an earlier block, for tests of what must not depend on
 * them. Of a reserved range pages are used one after the other, and never again.
 */
#define FRESH_BYTES ((size_t)1 << 44)
#define PAGE_BYTES ((size_t)4096)

static pthread_once_t fresh_once = PTHREAD_ONCE_INIT;
static char *fresh; /* NULL: not asked for */
static _Atomic size_t fresh_used;

static void reserve_fresh(void)
{
	const char *wanted = getenv("SOFTGPU_ADDRESSES");
	void *range;

	if (wanted == NULL || strcmp(wanted, "fresh") != 0)
		return;
	range = mmap(NULL, FRESH_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	fresh = range == MAP_FAILED ? NULL : range;
}

static int is_fresh(enum sg_block_kind kind)
{
	pthread_once(&fresh_once, reserve_fresh);
	return fresh != NULL && kind == SG_DEVICE;
}

static size_t whole_pages(size_t size_bytes)
{
	return (size_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

static char *allocate_fresh(size_t size_bytes)
{
	const size_t bytes = whole_pages(size_bytes);
	char *memory;

	if (bytes > FRESH_BYTES - atomic_load(&fresh_used))
		return NULL;
	memory = fresh + atomic_fetch_add(&fresh_used, bytes);
	return mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0 ? memory : NULL;
}

static void release_fresh(char *base, size_t size_bytes)
{
	mmap(base, whole_pages(size_bytes), PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static char *allocate(size_t size_bytes, enum sg_block_kind kind)
{
	void *memory;

	if (is_fresh(kind))
		return allocate_fresh(size_bytes);
	/* Whole pages, which can be shared with another process. */
	if (kind == SG_DEVICE && !is_lazy(size_bytes, kind))
		return aligned_alloc(PAGE_BYTES, whole_pages(size_bytes));
	if (!is_lazy(size_bytes, kind))
		return aligned_alloc(ALIGNMENT, (size_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
	memory = mmap(
		NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	/* One touched byte should cost one page. */
	madvise(memory, size_bytes, MADV_NOHUGEPAGE);
	return memory;
}

static void release(char *base, size_t size_bytes, enum sg_block_kind kind)
{
	if (base == NULL || kind == SG_REGISTERED)
		return;
	if (is_fresh(kind))
		release_fresh(base, size_bytes);
	else if (is_lazy(size_bytes, kind))
		munmap(base, size_bytes);
	else
		free(base);
}

/* Before the memory goes back to where it came from. */
static void make_private(const struct sg_block *block)
{
	if (block->shared_fd == 0)
		return;
	mmap(block->base, whole_pages(block->size_bytes), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	close(block->shared_fd - 1);
}

/* Into a file of zeros, but for pages that are zeros, as most are that nothing was computed into. */
static int copy_to_file(int fd, const char *from, size_t bytes)
{
	static const char zeros[PAGE_BYTES];

	for (size_t at = 0; at < bytes; at += PAGE_BYTES) {
		size_t part = bytes - at < PAGE_BYTES ? bytes - at : PAGE_BYTES;

		if (memcmp(from + at, zeros, part) != 0 &&
			pwrite(fd, from + at, part, (off_t)at) != (ssize_t)part)
			return -1;
	}
	return 0;
}

cudaError_t sg_block_share(void *pointer, struct sg_shared_file *file)
{
	cudaError_t error = cudaErrorInvalidValue;
	struct sg_block *found;

	pthread_mutex_lock(&lock);
	found = containing(pointer);
	if (found == NULL || found->base != pointer || found->kind != SG_DEVICE || found->reserved) {
		pthread_mutex_unlock(&lock);
		return error;
	}
	error = cudaErrorMemoryAllocation;
	if (found->shared_fd != 0) {
		error = sg_shared_file_again(file, found->shared_fd - 1, found->size_bytes) == 0 ? cudaSuccess
												 : error;
	} else if (sg_shared_file_make(file, found->size_bytes) == 0) {
		if (copy_to_file(file->fd, found->base, found->size_bytes) == 0 &&
			mmap(found->base, whole_pages(found->size_bytes), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file->fd, 0) != MAP_FAILED) {
			found->shared_fd = file->fd + 1;
			error = cudaSuccess;
		} else {
			close(file->fd);
		}
	}
	pthread_mutex_unlock(&lock);
	return error;
}

/* The lock is held. */
static void use(int device, size_t size_bytes)
{
	used_bytes[device] += size_bytes;
	if (used_bytes[device] > most_bytes[device])
		most_bytes[device] = used_bytes[device];
}

cudaError_t sg_block_reserve(void **pointer, size_t size_bytes, size_t alignment, int device)
{
	struct sg_block block = {
		NULL, size_bytes, SG_DEVICE, device, 0, 1, sg_context_current(), NULL, NULL, 0};
	char *memory;
	size_t before;
	int inserted;

	if (size_bytes > SIZE_MAX - alignment)
		return cudaErrorMemoryAllocation;
	memory = mmap(NULL, size_bytes + alignment, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return cudaErrorMemoryAllocation;
	/* what is before and after the aligned range is given back */
	before = (alignment - (uintptr_t)memory % alignment) % alignment;
	block.base = memory + before;
	if (before > 0)
		munmap(memory, before);
	munmap(block.base + size_bytes, alignment - before);
	madvise(block.base, size_bytes, MADV_NOHUGEPAGE);
	pthread_mutex_lock(&lock);
	inserted = insert(&block) == 0;
	pthread_mutex_unlock(&lock);
	if (!inserted) {
		munmap(block.base, size_bytes);
		return cudaErrorMemoryAllocation;
	}
	*pointer = block.base;
	return cudaSuccess;
}

cudaError_t sg_block_open(void **pointer, const struct sg_shared_file *file, int device)
{
	int fd = sg_shared_file_open(file);
	struct sg_block *found;
	cudaError_t error;

	if (fd < 0)
		return cudaErrorInvalidResourceHandle;
	error = sg_block_reserve(pointer, (size_t)file->bytes, (size_t)2 << 20, device);
	if (error == cudaSuccess) {
		pthread_mutex_lock(&lock);
		found = containing(*pointer);
		if (found != NULL && mmap(found->base, found->size_bytes, PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) != MAP_FAILED)
			found->shared_fd = fd + 1;
		else
			error = cudaErrorMemoryAllocation;
		pthread_mutex_unlock(&lock);
	}
	if (error != cudaSuccess)
		close(fd);
	return error;
}

void sg_block_set_device(const void *address, int device)
{
	struct sg_block *found;

	pthread_mutex_lock(&lock);
	found = containing(address);
	if (found != NULL)
		found->device = device;
	pthread_mutex_unlock(&lock);
}

int sg_memory_count(int device, size_t size_bytes)
{
	int room;

	pthread_mutex_lock(&lock);
	room = size_bytes <= sg_memory_limit() - used_bytes[device];
	if (room)
		use(device, size_bytes);
	pthread_mutex_unlock(&lock);
	return room;
}

void sg_memory_uncount(int device, size_t size_bytes)
{
	pthread_mutex_lock(&lock);
	used_bytes[device] -= size_bytes;
	pthread_mutex_unlock(&lock);
}

cudaError_t sg_block_alloc(void **pointer, size_t size_bytes, enum sg_block_kind kind, int device)
{
	struct sg_block block = {NULL, size_bytes, kind, device, 0, 0, sg_context_current(), NULL, NULL, 0};
	cudaError_t error = cudaErrorMemoryAllocation;

	if (size_bytes > SIZE_MAX - ALIGNMENT)
		return error;
	pthread_mutex_lock(&lock);
	if (counted(kind) && size_bytes > sg_memory_limit() - used_bytes[device]) {
		pthread_mutex_unlock(&lock);
		return error;
	}
	if (counted(kind))
		use(device, size_bytes);
	pthread_mutex_unlock(&lock);
	block.base = allocate(size_bytes, kind);
	pthread_mutex_lock(&lock);
	if (block.base != NULL && insert(&block) == 0) {
		*pointer = block.base;
		error = cudaSuccess;
	} else {
		release(block.base, size_bytes, kind);
		if (counted(kind))
			used_bytes[device] -= size_bytes;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t sg_block_register(void *pointer, size_t size_bytes, int device)
{
	struct sg_block block = {
		pointer, size_bytes, SG_REGISTERED, device, 0, 0, sg_context_current(), NULL, NULL, 0};
	cudaError_t error = cudaSuccess;
	size_t i;

	pthread_mutex_lock(&lock);
	i = upper_bound(pointer);
	if (containing(pointer) != NULL ||
		(i < block_count && (uintptr_t)blocks[i].base - (uintptr_t)pointer < size_bytes))
		error = cudaErrorHostMemoryAlreadyRegistered;
	else if (insert(&block) != 0)
		error = cudaErrorMemoryAllocation;
	pthread_mutex_unlock(&lock);
	return error;
}

int sg_block_take(const void *pointer, struct sg_block *block)
{
	struct sg_block *found;

	pthread_mutex_lock(&lock);
	found = containing(pointer);
	if (found != NULL && found->base == pointer) {
		*block = *found;
		sg_known_free(block);
		memmove(found, found + 1, (size_t)(blocks + block_count - (found + 1)) * sizeof(*found));
		block_count--;
	} else {
		found = NULL;
	}
	pthread_mutex_unlock(&lock);
	return found != NULL;
}

int sg_block_mark(const void *pointer)
{
	struct sg_block *found;
	int marked = 0;

	pthread_mutex_lock(&lock);
	found = containing(pointer);
	if (found != NULL && found->base == pointer && counted(found->kind) && !found->reserved &&
		!found->freeing) {
		found->freeing = 1;
		marked = 1;
	}
	pthread_mutex_unlock(&lock);
	return marked;
}

void sg_block_release(const struct sg_block *block)
{
	make_private(block);
	if (block->reserved)
		munmap(block->base, block->size_bytes);
	else
		release(block->base, block->size_bytes, block->kind);
	if (!counted(block->kind) || block->reserved)
		return;
	if (block->pool != NULL)
		sg_memory_pool_uncount(block->pool, block->size_bytes);
	pthread_mutex_lock(&lock);
	used_bytes[block->device] -= block->size_bytes;
	pthread_mutex_unlock(&lock);
}

int sg_block_find(const void *address, struct sg_block *block)
{
	struct sg_block *found;

	pthread_mutex_lock(&lock);
	found = containing(address);
	if (found != NULL)
		*block = *found;
	pthread_mutex_unlock(&lock);
	return found != NULL;
}

void sg_block_free_device(int device, const struct sg_context *context)
{
	size_t kept = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < block_count; i++) {
		/* a range of addresses outlives what was mapped there */
		if (blocks[i].reserved || blocks[i].device != device ||
			(context != NULL && blocks[i].context != context)) {
			blocks[kept++] = blocks[i];
			continue;
		}
		if (counted(blocks[i].kind))
			used_bytes[device] -= blocks[i].size_bytes;
		if (blocks[i].pool != NULL)
			sg_memory_pool_uncount(blocks[i].pool, blocks[i].size_bytes);
		sg_known_free(&blocks[i]);
		make_private(&blocks[i]);
		release(blocks[i].base, blocks[i].size_bytes, blocks[i].kind);
	}
	block_count = kept;
	pthread_mutex_unlock(&lock);
}

void sg_memory_written(const void *address, size_t size_bytes)
{
	struct sg_block *found;

	pthread_mutex_lock(&lock);
	found = containing(address);
	if (found != NULL)
		sg_known_write(found, address, size_bytes);
	pthread_mutex_unlock(&lock);
}

/* Without the lock, as most arguments are no addresses of device memory. */
static int may_be_device(const void *address)
{
	return (uintptr_t)address >= atomic_load_explicit(&lowest, memory_order_relaxed) &&
	       (uintptr_t)address < atomic_load_explicit(&highest, memory_order_relaxed);
}

int sg_memory_is_known(const void *address, size_t size_bytes)
{
	struct sg_block *found;
	int known;

	pthread_mutex_lock(&lock);
	found = containing(address);
	known = found != NULL && sg_known_covers(found, address, size_bytes);
	pthread_mutex_unlock(&lock);
	return known;
}

void sg_memory_forget(void *address)
{
	struct sg_block *found;

	if (!may_be_device(address))
		return;
	pthread_mutex_lock(&lock);
	found = containing(address);
	if (found != NULL)
		sg_known_forget(found, address);
	pthread_mutex_unlock(&lock);
}

void sg_memory_forget_range(void *address, size_t size_bytes)
{
	struct sg_block *found;

	pthread_mutex_lock(&lock);
	found = containing(address);
	if (found != NULL)
		sg_known_forget_range(found, address, size_bytes);
	pthread_mutex_unlock(&lock);
}

/* Bytes of a device, under the lock. */
static size_t bytes_now(const size_t *bytes, int device)
{
	size_t now;

	pthread_mutex_lock(&lock);
	now = bytes[device];
	pthread_mutex_unlock(&lock);
	return now;
}

size_t sg_memory_used(int device)
{
	return bytes_now(used_bytes, device);
}

size_t sg_memory_most(int device)
{
	return bytes_now(most_bytes, device);
}

void sg_block_set_pool(const void *pointer, struct sg_memory_pool *pool)
{
	struct sg_block *found;

	pthread_mutex_lock(&lock);
	found = containing(pointer);
	if (found != NULL) {
		found->pool = pool;
		sg_memory_pool_count(pool, found->size_bytes);
	}
	pthread_mutex_unlock(&lock);
}

enum sg_side sg_block_side(const void *address, size_t size_bytes, cudaError_t *error)
{
	struct sg_block block;

	if (!sg_block_find(address, &block))
		return SG_SIDE_PAGEABLE;
	if (size_bytes > block.size_bytes - ((uintptr_t)address - (uintptr_t)block.base)) {
		/* Only a part of the application's own memory may be registered. */
		if (block.kind == SG_REGISTERED)
			return SG_SIDE_PAGEABLE;
		*error = cudaErrorInvalidValue;
	}
	return block.kind == SG_DEVICE ? SG_SIDE_DEVICE : SG_SIDE_PINNED;
}

cudaError_t sg_memory_alloc(void **pointer, size_t size_bytes)
{
	*pointer = NULL;
	if (sg_ready() != 0)
		return cudaErrorInitializationError;
	return size_bytes == 0 ? cudaSuccess : sg_block_alloc(pointer, size_bytes, SG_DEVICE, sg_self.device);
}

cudaError_t sg_memory_free(void *pointer)
{
	struct sg_block block;

	if (pointer == NULL)
		return cudaSuccess;
	if (sg_ready() != 0)
		return cudaErrorInitializationError;
	if (!sg_block_find(pointer, &block) || block.base != pointer || !counted(block.kind) ||
		block.reserved || block.freeing)
		return cudaErrorInvalidValue;
	/* Work under way may still use it. */
	sg_device_drain(block.device);
	if (!sg_block_take(pointer, &block))
		return cudaErrorInvalidValue;
	sg_block_release(&block);
	return cudaSuccess;
}
