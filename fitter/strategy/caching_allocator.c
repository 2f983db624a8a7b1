/* PyTorch's caching allocator, replayed: see caching_allocator.h. */
#include "caching_allocator.h"

#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)
#define ROUND 512 /* sizes of blocks */
#define SMALL MIB /* the largest small block */
#define SMALL_SEGMENT (2 * MIB)
#define LARGE (10 * MIB) /* from here on a block has a segment of its own */
#define LARGE_SEGMENT (20 * MIB)
#define NONE SIZE_MAX

struct caching_block {
	uint64_t bytes;
	size_t before, behind; /* in its segment; NONE: it begins or ends there */
	int stream;
	bool is_small, is_free;
};

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

static uint64_t segment_of(uint64_t bytes)
{
	if (bytes <= SMALL)
		return SMALL_SEGMENT;
	return bytes < LARGE ? LARGE_SEGMENT : round_up(bytes, SMALL_SEGMENT);
}

/* Its number, or NONE. */
static size_t caching_allocator_add(struct caching_allocator *a, struct caching_block block)
{
	if (a->gone) {
		size_t at = a->gone - 1;

		a->gone = a->blocks[at].behind;
		a->blocks[at] = block;
		return at;
	}
	if (a->count == a->room) {
		size_t room = a->room ? 2 * a->room : 256;
		struct caching_block *blocks = realloc(a->blocks, room * sizeof(*blocks));

		if (!blocks) {
			a->failed = true;
			return NONE;
		}
		a->blocks = blocks;
		a->room = room;
	}
	a->blocks[a->count] = block;
	return a->count++;
}

static size_t best_of(const struct caching_allocator *a, uint64_t bytes, int stream)
{
	size_t best = NONE;

	for (size_t i = 0; i < a->count; i++) {
		const struct caching_block *block = &a->blocks[i];

		if (block->is_free && block->bytes >= bytes && block->stream == stream &&
			block->is_small == (bytes <= SMALL) &&
			(best == NONE || block->bytes < a->blocks[best].bytes))
			best = i;
	}
	return best;
}

/* The rest after so many bytes becomes a block of its own, where it is large enough. */
static void split(struct caching_allocator *a, size_t block, uint64_t bytes)
{
	struct caching_block rest = a->blocks[block];
	size_t at;

	rest.bytes -= bytes;
	rest.before = block;
	if (rest.is_small ? rest.bytes < ROUND : rest.bytes <= SMALL)
		return;
	at = caching_allocator_add(a, rest);
	if (at == NONE)
		return;
	if (rest.behind != NONE)
		a->blocks[rest.behind].before = at;
	a->blocks[block].behind = at;
	a->blocks[block].bytes = bytes;
}

size_t caching_allocate(struct caching_allocator *a, double wanted, int stream)
{
	const uint64_t bytes = round_up((uint64_t)(wanted > 1 ? wanted : 1), ROUND);
	size_t block;

	if (wanted <= 0)
		return NONE;
	block = best_of(a, bytes, stream);
	if (block == NONE) {
		block = caching_allocator_add(a, (struct caching_block){.bytes = segment_of(bytes),
							 .before = NONE,
							 .behind = NONE,
							 .stream = stream,
							 .is_small = bytes <= SMALL,
							 .is_free = true});
		if (block == NONE)
			return NONE;
		a->reserved += a->blocks[block].bytes;
	}
	split(a, block, bytes);
	a->blocks[block].is_free = false;
	return block;
}

/* The block takes the one after it in, if both are free. */
static void merge(struct caching_allocator *a, size_t block)
{
	const size_t behind = block == NONE ? NONE : a->blocks[block].behind;
	struct caching_block *gone;

	if (behind == NONE || !a->blocks[block].is_free || !a->blocks[behind].is_free)
		return;
	gone = &a->blocks[behind];
	a->blocks[block].bytes += gone->bytes;
	a->blocks[block].behind = gone->behind;
	if (gone->behind != NONE)
		a->blocks[gone->behind].before = block;
	gone->is_free = false;
	gone->behind = a->gone;
	a->gone = behind + 1;
}

void caching_free(struct caching_allocator *a, size_t block)
{
	if (block == NONE)
		return;
	a->blocks[block].is_free = true;
	merge(a, block);
	merge(a, a->blocks[block].before);
}

void caching_release(struct caching_allocator *a)
{
	free(a->blocks);
	*a = (struct caching_allocator){0};
}
