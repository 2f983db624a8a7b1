/*
 * PyTorch's caching allocator of device memory, replayed: how much it reserves for an order of allocations.
 *
 * It keeps what it once reserved and never gives it back, and takes memory from the device in segments: 2 MiB
 * for blocks of up to 1 MiB, 20 MiB for larger ones below 10 MiB, else the block rounded up to 2 MiB. A block
 * is the smallest free one that is large enough, of the same stream and of the same kind, small or large;
 * what is left over is split off, of large ones if it is more than 1 MiB, and free neighbours of a segment
 * merge (PyTorch documentation, "CUDA semantics", memory management; its defaults, without expandable
 * segments).
 *
 * Sizes in bytes. Not for several threads at once.
 */
#ifndef CACHING_ALLOCATOR_H
#define CACHING_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caching_block;

struct caching_allocator {
	struct caching_block *blocks;
	size_t count, room, gone; /* gone: the last block that was merged away, counted from 1 */
	uint64_t reserved;        /* in all segments */
	bool failed;              /* this process is out of memory: `reserved` is too little */
};

/* The allocator begins as zeros. A block of at least so many bytes, for caching_free, once; 0 bytes are none.
 * The streams of a program are numbered by the caller. */
size_t caching_allocate(struct caching_allocator *a, double wanted, int stream);
void caching_free(struct caching_allocator *a, size_t block);
/* Everything that was reserved. */
void caching_release(struct caching_allocator *a);

#endif
