/*
 * Handles that can be checked: a pool of equal slots in one reserved address range. A pointer is a handle if
 * it lies on a slot's boundary and the slot is in use, so garbage and destroyed handles are distinguished
 * from good ones without a table.
 *
 * The one idea: slots are reused as late as possible, and a slot's memory never goes away, so that what still
 * points to a destroyed object (a queued closure) can be compared against the slot's counters, which are
 * never set back.
 */
#ifndef SG_POOL_H
#define SG_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Every slot begins with this. */
struct sg_slot {
	_Atomic uint32_t live; /* SG_SLOT_FREE, SG_SLOT_LIVE or the owner's values above */
	uint32_t next_free;
};

enum { SG_SLOT_FREE, SG_SLOT_LIVE, SG_SLOT_CLOSING };

struct sg_pool {
	size_t slot_bytes;
	uint32_t slot_limit;
	uint32_t keep_free; /* slots that must be free before one is used again */
	pthread_mutex_t lock;
	_Atomic(char *) base;
	_Atomic uint32_t used;                      /* slots ever used: the range to look through */
	uint32_t free_count, free_first, free_last; /* queue of free slots, 1 + index, 0: none */
};

#define SG_POOL_INIT(type, limit, keep) \
	{ \
		sizeof(type), limit, keep, PTHREAD_MUTEX_INITIALIZER, NULL, 0, 0, 0, 0 \
	}

/* A free slot, still marked free (the caller sets `live`), zeroed only at its first use; NULL: none left. Any
 * thread. */
void *sg_pool_get(struct sg_pool *pool);

/* Gives a slot back; it must no longer be live. */
void sg_pool_put(struct sg_pool *pool, void *slot);

/* The slot at index < pool->used. */
static inline void *sg_pool_at(struct sg_pool *pool, uint32_t index)
{
	return atomic_load_explicit(&pool->base, memory_order_acquire) + pool->slot_bytes * index;
}

/* The live slot that a handle names, or NULL. */
static inline void *sg_pool_check(struct sg_pool *pool, const void *handle)
{
	char *base = atomic_load_explicit(&pool->base, memory_order_acquire);
	uint32_t used = atomic_load_explicit(&pool->used, memory_order_acquire);
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)base;

	if (base == NULL || offset >= pool->slot_bytes * used || offset % pool->slot_bytes != 0)
		return NULL;
	if (atomic_load_explicit(&((struct sg_slot *)(void *)(base + offset))->live, memory_order_acquire) !=
		SG_SLOT_LIVE)
		return NULL;
	return base + offset;
}

#endif
