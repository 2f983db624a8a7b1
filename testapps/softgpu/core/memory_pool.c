/*
 * Memory pools: settings, and the pools that every device has.
 *
 * The one idea: memory goes straight back to the system when it is freed, so that a pool is no store but a
 * name: it remembers its settings and how much has been allocated under it.
 */
#include "core.h"

enum { REUSE_LAST = 3, RELEASE_THRESHOLD, RESERVED_CURRENT, RESERVED_HIGH, USED_CURRENT, USED_HIGH };

struct sg_memory_pool {
	struct sg_slot slot;
	int device;
	int is_default;
	_Atomic int reuse[REUSE_LAST + 1];
	_Atomic uint64_t release_threshold;
	_Atomic uint64_t used_bytes, high_bytes;
	_Atomic int closing; /* destroyed, but it has blocks left */
};

/* The first slots, 0 to sg_device_count() - 1, are the devices' own pools. */
static struct sg_pool pools = SG_POOL_INIT(struct sg_memory_pool, 4096, 16);

static pthread_once_t once = PTHREAD_ONCE_INIT;

static _Atomic(struct sg_memory_pool *) current[SG_DEVICE_LIMIT];

static struct sg_memory_pool *open_pool(int device, int is_default)
{
	struct sg_memory_pool *pool = sg_pool_get(&pools);

	if (pool == NULL)
		return NULL;
	pool->device = device;
	pool->is_default = is_default;
	for (int i = 1; i <= REUSE_LAST; i++)
		atomic_store(&pool->reuse[i], 1);
	atomic_store(&pool->release_threshold, 0);
	atomic_store(&pool->used_bytes, 0);
	atomic_store(&pool->high_bytes, 0);
	atomic_store(&pool->closing, 0);
	atomic_store_explicit(&pool->slot.live, SG_SLOT_LIVE, memory_order_release);
	return pool;
}

static void open_defaults(void)
{
	for (int i = 0; i < sg_device_count(); i++)
		atomic_store(&current[i], open_pool(i, 1));
}

struct sg_memory_pool *sg_memory_pool_of(const void *handle)
{
	return sg_pool_check(&pools, handle);
}

struct sg_memory_pool *sg_memory_pool_default(int device)
{
	pthread_once(&once, open_defaults);
	return sg_pool_at(&pools, (uint32_t)device);
}

struct sg_memory_pool *sg_memory_pool_current(int device)
{
	pthread_once(&once, open_defaults);
	return atomic_load(&current[device]);
}

cudaError_t sg_memory_pool_make_current(int device, struct sg_memory_pool *pool)
{
	if (!sg_device_exists(device))
		return cudaErrorInvalidDevice;
	if (pool == NULL || pool->device != device)
		return cudaErrorInvalidValue;
	atomic_store(&current[device], pool);
	return cudaSuccess;
}

cudaError_t sg_memory_pool_create(struct sg_memory_pool **pool, int device)
{
	if (!sg_device_exists(device))
		return cudaErrorInvalidValue;
	pthread_once(&once, open_defaults);
	*pool = open_pool(device, 0);
	return *pool != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* A destroyed pool's name is free again when its last block is. */
static void put_if_empty(struct sg_memory_pool *pool)
{
	if (atomic_load(&pool->used_bytes) == 0 && atomic_exchange(&pool->closing, 0))
		sg_pool_put(&pools, pool);
}

cudaError_t sg_memory_pool_destroy(struct sg_memory_pool *pool)
{
	struct sg_memory_pool *expected = pool;

	if (pool == NULL || pool->is_default)
		return cudaErrorInvalidValue;
	atomic_compare_exchange_strong(
		&current[pool->device], &expected, sg_memory_pool_default(pool->device));
	atomic_store(&pool->slot.live, SG_SLOT_CLOSING);
	atomic_store(&pool->closing, 1);
	put_if_empty(pool);
	return cudaSuccess;
}

void sg_memory_pool_count(struct sg_memory_pool *pool, size_t size_bytes)
{
	uint64_t bytes = atomic_fetch_add(&pool->used_bytes, size_bytes) + size_bytes;
	uint64_t high = atomic_load(&pool->high_bytes);

	while (bytes > high && !atomic_compare_exchange_weak(&pool->high_bytes, &high, bytes))
		;
}

void sg_memory_pool_uncount(struct sg_memory_pool *pool, size_t size_bytes)
{
	atomic_fetch_sub(&pool->used_bytes, size_bytes);
	put_if_empty(pool);
}

cudaError_t sg_memory_pool_set(struct sg_memory_pool *pool, int attribute, const void *value)
{
	if (pool == NULL || value == NULL)
		return cudaErrorInvalidValue;
	if (attribute >= 1 && attribute <= REUSE_LAST) {
		atomic_store(&pool->reuse[attribute], *(const int *)value != 0);
		return cudaSuccess;
	}
	if (attribute == RELEASE_THRESHOLD) {
		atomic_store(&pool->release_threshold, *(const uint64_t *)value);
		return cudaSuccess;
	}
	/* High-water marks can be set to zero and to nothing else. */
	if ((attribute != RESERVED_HIGH && attribute != USED_HIGH) || *(const uint64_t *)value != 0)
		return cudaErrorInvalidValue;
	atomic_store(&pool->high_bytes, atomic_load(&pool->used_bytes));
	return cudaSuccess;
}

cudaError_t sg_memory_pool_get(struct sg_memory_pool *pool, int attribute, void *value)
{
	if (pool == NULL || value == NULL || attribute < 1 || attribute > USED_HIGH)
		return cudaErrorInvalidValue;
	if (attribute <= REUSE_LAST)
		*(int *)value = atomic_load(&pool->reuse[attribute]);
	else if (attribute == RELEASE_THRESHOLD)
		*(uint64_t *)value = atomic_load(&pool->release_threshold);
	else if (attribute == RESERVED_CURRENT || attribute == USED_CURRENT)
		*(uint64_t *)value = atomic_load(&pool->used_bytes);
	else
		*(uint64_t *)value = atomic_load(&pool->high_bytes);
	return cudaSuccess;
}
