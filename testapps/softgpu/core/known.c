/*
 * What is known of device memory, and forgetting it.
 *
 * The one idea: what nothing was computed into reads as zeros. Bytes come into device memory by copies,
 * fills, collectives and twins, which say so here (sg_memory_written). A kernel or a library's call that is
 * not computed may have changed whatever its arguments point to; so each stretch that was written in one go,
 * and that one of them points into, becomes zeros from there to its end. A host then never takes what an
 * earlier tensor left in a block for a size or a count. A byte per granule says where stretches start and go
 * on; blocks are reserved, so that marks of gigabytes cost nothing where nobody writes.
 */
#include "core.h"

#include <string.h>
#include <sys/mman.h>

/* Allocators of programs place tensors at multiples of 512 bytes (PyTorch) or 256 (the runtime). */
#define GRANULE 256

enum { UNKNOWN, START, GOES_ON };

#define GIVEN_BACK_BYTES ((size_t)256 << 10)
#define GIVEN_BACK_PAGE ((uintptr_t)64 << 10) /* a multiple of whatever the machine's pages are */

static size_t marks_of(const struct sg_block *block)
{
	return block->size_bytes / GRANULE + 1;
}

void sg_known_init(struct sg_block *block)
{
	void *marks;

	if (block->kind != SG_DEVICE)
		return;
	marks = mmap(NULL, marks_of(block), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	block->marks = marks != MAP_FAILED ? marks : NULL;
}

void sg_known_free(struct sg_block *block)
{
	if (block->marks != NULL)
		munmap(block->marks, marks_of(block));
	block->marks = NULL;
}

void sg_known_write(struct sg_block *block, const char *address, size_t size_bytes)
{
	size_t offset = (size_t)(address - block->base), left = block->size_bytes - offset;
	size_t first = offset / GRANULE, last;

	if (block->marks == NULL || size_bytes == 0)
		return;
	last = (offset + (size_bytes < left ? size_bytes : left) - 1) / GRANULE;
	/* A part of a stretch stays a part of it. */
	if (block->marks[first] == UNKNOWN || offset % GRANULE == 0)
		block->marks[first] = START;
	if (last > first)
		memset(block->marks + first + 1, GOES_ON, last - first);
}

int sg_known_covers(const struct sg_block *block, const char *address, size_t size_bytes)
{
	size_t offset = (size_t)(address - block->base), left = block->size_bytes - offset;
	size_t first = offset / GRANULE, last;

	if (block->marks == NULL || size_bytes == 0 || size_bytes > left)
		return 0;
	last = (offset + size_bytes - 1) / GRANULE;
	return memchr(block->marks + first, UNKNOWN, last - first + 1) == NULL;
}

/* Whole pages of much memory are given back, and read as zeros: of anonymous memory, and of a file. */
static void clear(const struct sg_block *block, char *from, size_t size_bytes)
{
	const int advice = block->shared_fd != 0 ? MADV_REMOVE : MADV_DONTNEED;
	const uintptr_t page = GIVEN_BACK_PAGE;
	char *begin = from + (-(uintptr_t)from & (page - 1));
	size_t whole = 0;

	if (size_bytes >= GIVEN_BACK_BYTES) {
		whole = (size_bytes - (size_t)(begin - from)) & ~(page - 1);
		if (madvise(begin, whole, advice) != 0)
			whole = 0;
	}
	if (whole == 0) {
		memset(from, 0, size_bytes);
		return;
	}
	memset(from, 0, (size_t)(begin - from));
	memset(begin + whole, 0, size_bytes - whole - (size_t)(begin - from));
}

void sg_known_forget(struct sg_block *block, char *address)
{
	size_t offset = (size_t)(address - block->base);
	size_t first = offset / GRANULE, end = first + 1;
	size_t end_bytes;

	if (block->marks == NULL || block->marks[first] == UNKNOWN)
		return;
	while (end < marks_of(block) && block->marks[end] == GOES_ON)
		end++;
	end_bytes = end * GRANULE < block->size_bytes ? end * GRANULE : block->size_bytes;
	clear(block, address, end_bytes - offset);
	if (offset % GRANULE != 0)
		first++;
	memset(block->marks + first, UNKNOWN, end - first);
}

/* The next granule from `at` on of which something is known, or `end`; most marks are UNKNOWN, which is 0. */
static size_t next_known(const unsigned char *marks, size_t at, size_t end)
{
	while (at < end && marks[at] == UNKNOWN) {
		uint64_t eight = 1;

		if (end - at >= sizeof(eight))
			memcpy(&eight, marks + at, sizeof(eight));
		at += eight == 0 ? sizeof(eight) : 1;
	}
	return at;
}

void sg_known_forget_range(struct sg_block *block, char *address, size_t size_bytes)
{
	size_t offset = (size_t)(address - block->base), left = block->size_bytes - offset;
	size_t end_bytes = offset + (size_bytes < left ? size_bytes : left);
	size_t end = (end_bytes + GRANULE - 1) / GRANULE;

	if (block->marks == NULL || size_bytes == 0)
		return;
	for (size_t i = next_known(block->marks, offset / GRANULE, end); i < end;
		i = next_known(block->marks, i + 1, end)) {
		size_t from = i * GRANULE > offset ? i * GRANULE : offset;
		size_t to = (i + 1) * GRANULE < end_bytes ? (i + 1) * GRANULE : end_bytes;

		memset(block->base + from, 0, to - from);
		if (to - from == GRANULE)
			block->marks[i] = UNKNOWN;
	}
}

void sg_memory_forget_all_in(const void *data, size_t size_bytes)
{
	const char *bytes = data;

	for (size_t at = 0; at + sizeof(void *) <= size_bytes; at += sizeof(void *)) {
		void *address;

		memcpy(&address, bytes + at, sizeof(address));
		sg_memory_forget(address);
	}
}
