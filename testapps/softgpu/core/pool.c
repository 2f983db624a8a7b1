/* The pool of slots behind stream, event, graph and communicator handles: see pool.h. */
#include "pool.h"

#include <stdlib.h>

void *sg_pool_get(struct sg_pool *pool)
{
	struct sg_slot *slot = NULL;
	char *base;
	uint32_t used;

	pthread_mutex_lock(&pool->lock);
	base = atomic_load_explicit(&pool->base, memory_order_relaxed);
	if (base == NULL) {
		/* Large enough that it is fresh memory, of which only the pages in use exist. */
		base = calloc(1, pool->slot_bytes * pool->slot_limit + 64);
		if (base == NULL)
			goto out;
		base += (64 - (uintptr_t)base % 64) % 64;
		atomic_store_explicit(&pool->base, base, memory_order_release);
	}
	used = atomic_load_explicit(&pool->used, memory_order_relaxed);
	if (pool->free_count > pool->keep_free || (pool->free_count > 0 && used == pool->slot_limit)) {
		slot = sg_pool_at(pool, pool->free_first - 1);
		pool->free_first = slot->next_free;
		if (--pool->free_count == 0)
			pool->free_last = 0;
	} else if (used < pool->slot_limit) {
		slot = sg_pool_at(pool, used);
		atomic_store_explicit(&pool->used, used + 1, memory_order_release);
	}
out:
	pthread_mutex_unlock(&pool->lock);
	return slot;
}

void sg_pool_put(struct sg_pool *pool, void *memory)
{
	struct sg_slot *slot = memory;
	uint32_t number;

	pthread_mutex_lock(&pool->lock);
	number = 1 + (uint32_t)((size_t)((char *)memory - (char *)sg_pool_at(pool, 0)) / pool->slot_bytes);
	atomic_store_explicit(&slot->live, SG_SLOT_FREE, memory_order_release);
	slot->next_free = 0;
	if (pool->free_last != 0)
		((struct sg_slot *)sg_pool_at(pool, pool->free_last - 1))->next_free = number;
	else
		pool->free_first = number;
	pool->free_last = number;
	pool->free_count++;
	pthread_mutex_unlock(&pool->lock);
}
