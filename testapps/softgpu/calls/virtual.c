/*
 * Virtual memory management: see virtual.h.
 *
 * The one idea: a reserved range is real memory, of which nothing is there until it is touched. So mapping
 * only keeps the books: which handle lies where, and how much of the device's memory is in use.
 */
#include "virtual.h"

#include <stdlib.h>
#include <string.h>

struct physical {
	struct physical *next;
	size_t size_bytes;
	int device, references; /* handles and mappings */
	char described[SG_DESCRIBED_BYTES];
};

struct mapping {
	struct mapping *next;
	char *address;
	size_t size_bytes;
	struct physical *of;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct physical *physicals;
static struct mapping *mappings;

/* The lock is held, as in the other static functions. */
static struct physical *physical_of(uint64_t handle)
{
	struct physical *physical = physicals;

	while (physical != NULL && (uint64_t)(uintptr_t)physical != handle)
		physical = physical->next;
	return physical;
}

static void let_go(struct physical *physical)
{
	struct physical **at = &physicals;

	if (--physical->references > 0)
		return;
	while (*at != physical)
		at = &(*at)->next;
	*at = physical->next;
	sg_memory_uncount(physical->device, physical->size_bytes);
	free(physical);
}

static int fits(const void *address, size_t size_bytes)
{
	return size_bytes > 0 && size_bytes % SG_GRANULARITY == 0 && (uintptr_t)address % SG_GRANULARITY == 0;
}

cudaError_t sg_range_reserve(void **address, size_t size_bytes)
{
	if (!fits(NULL, size_bytes))
		return cudaErrorInvalidValue;
	return sg_block_reserve(address, size_bytes, SG_GRANULARITY, sg_self.device);
}

cudaError_t sg_range_free(void *address, size_t size_bytes)
{
	struct sg_block block;
	cudaError_t error = cudaSuccess;

	if (!sg_block_find(address, &block) || !block.reserved || block.base != address ||
		block.size_bytes != size_bytes)
		return cudaErrorInvalidValue;
	pthread_mutex_lock(&lock);
	for (struct mapping *m = mappings; m != NULL; m = m->next) {
		if (m->address >= block.base && m->address < block.base + size_bytes)
			error = cudaErrorInvalidValue;
	}
	pthread_mutex_unlock(&lock);
	if (error == cudaSuccess && sg_block_take(address, &block))
		sg_block_release(&block);
	return error;
}

cudaError_t sg_physical_create(uint64_t *handle, size_t size_bytes, int device, const void *described)
{
	struct physical *physical;

	if (!fits(NULL, size_bytes))
		return cudaErrorInvalidValue;
	if (!sg_device_exists(device))
		return cudaErrorInvalidDevice;
	physical = calloc(1, sizeof(*physical));
	if (physical == NULL || !sg_memory_count(device, size_bytes)) {
		free(physical);
		return cudaErrorMemoryAllocation;
	}
	physical->size_bytes = size_bytes;
	physical->device = device;
	physical->references = 1;
	memcpy(physical->described, described, sizeof(physical->described));
	pthread_mutex_lock(&lock);
	physical->next = physicals;
	physicals = physical;
	pthread_mutex_unlock(&lock);
	*handle = (uint64_t)(uintptr_t)physical;
	return cudaSuccess;
}

cudaError_t sg_physical_release(uint64_t handle)
{
	struct physical *physical;

	pthread_mutex_lock(&lock);
	physical = physical_of(handle);
	if (physical != NULL)
		let_go(physical);
	pthread_mutex_unlock(&lock);
	return physical != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t sg_physical_describe(uint64_t handle, void *described)
{
	struct physical *physical;

	pthread_mutex_lock(&lock);
	physical = physical_of(handle);
	if (physical != NULL)
		memcpy(described, physical->described, sizeof(physical->described));
	pthread_mutex_unlock(&lock);
	return physical != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t sg_physical_at(uint64_t *handle, const void *address)
{
	struct mapping *m;

	pthread_mutex_lock(&lock);
	for (m = mappings; m != NULL; m = m->next) {
		if ((const char *)address >= m->address && (const char *)address < m->address + m->size_bytes)
			break;
	}
	if (m != NULL) {
		m->of->references++;
		*handle = (uint64_t)(uintptr_t)m->of;
	}
	pthread_mutex_unlock(&lock);
	return m != NULL ? cudaSuccess : cudaErrorInvalidValue;
}

static int overlaps(const struct mapping *m, const char *address, size_t size_bytes)
{
	return m->address < address + size_bytes && address < m->address + m->size_bytes;
}

cudaError_t sg_map(void *address, size_t size_bytes, uint64_t handle)
{
	struct mapping *made = calloc(1, sizeof(*made)), *m;
	struct physical *physical;
	struct sg_block block;
	cudaError_t error = cudaErrorInvalidValue;

	if (made == NULL)
		return cudaErrorMemoryAllocation;
	pthread_mutex_lock(&lock);
	physical = physical_of(handle);
	for (m = mappings; m != NULL && !overlaps(m, address, size_bytes); m = m->next)
		;
	if (m == NULL && physical != NULL && physical->size_bytes == size_bytes &&
		fits(address, size_bytes) && sg_block_find(address, &block) && block.reserved &&
		size_bytes <= block.size_bytes - (size_t)((char *)address - block.base)) {
		*made = (struct mapping){mappings, address, size_bytes, physical};
		mappings = made;
		physical->references++;
		sg_block_set_device(address, physical->device);
		error = cudaSuccess;
	}
	pthread_mutex_unlock(&lock);
	if (error != cudaSuccess)
		free(made);
	return error;
}

cudaError_t sg_unmap(void *address, size_t size_bytes)
{
	struct sg_block block;
	int found = 0;

	if (!fits(address, size_bytes) || !sg_block_find(address, &block) || !block.reserved)
		return cudaErrorInvalidValue;
	/* Work under way may still use it. */
	sg_device_drain(block.device);
	pthread_mutex_lock(&lock);
	for (struct mapping **at = &mappings; *at != NULL;) {
		struct mapping *m = *at;

		if (m->address < (char *)address ||
			m->address + m->size_bytes > (char *)address + size_bytes) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		let_go(m->of);
		free(m);
		found = 1;
	}
	pthread_mutex_unlock(&lock);
	sg_memory_forget_range(address, size_bytes);
	return found ? cudaSuccess : cudaErrorInvalidValue;
}
