/*
 * Where the pieces of trace files lie in memory, in a list that the handler of SIGBUS can read at any moment:
 * its blocks are only ever added, and a slot is valid as long as its base is not 0.
 *
 * All system calls are made directly: the library's own wrappers of mmap stay out of it.
 */
#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unchecked.h"

#define STEP (64u << 10) /* the largest page of any machine this is built for */
#define SLOTS 256
#define TAKEN 1

struct pmh_map_slot {
	_Atomic uintptr_t base; /* 0: free; else an address, or TAKEN: the rest is being written */
	size_t byte_count;
	_Atomic bool lost;
};

struct block {
	struct pmh_map_slot slots[SLOTS];
	struct block *_Atomic next;
};
static struct block first;

static void *system_map(void *address, size_t byte_count, int flags, int fd, uint64_t offset)
{
	long p = syscall(SYS_mmap, address, byte_count, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);

	if (p != -1 && fd < 0)
		PMH_UNCHECKED((void *)p, byte_count);
	return p == -1 ? NULL : (void *)p;
}

/* A slot that nobody else has, its base TAKEN. NULL: no memory. */
static struct pmh_map_slot *take_slot(void)
{
	for (struct block *b = &first;;) {
		struct block *next;

		for (unsigned i = 0; i < SLOTS; i++) {
			uintptr_t base = 0;

			if (atomic_compare_exchange_strong(&b->slots[i].base, &base, TAKEN))
				return &b->slots[i];
		}
		next = atomic_load_explicit(&b->next, memory_order_acquire);
		if (!next) {
			struct block *added =
				system_map(NULL, sizeof *added, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (!added)
				return NULL;
			if (atomic_compare_exchange_strong(&b->next, &next, added))
				next = added;
			else
				syscall(SYS_munmap, added, sizeof *added);
		}
		b = next;
	}
}

bool pmh_map_reserve(int fd, uint64_t offset, size_t byte_count)
{
	static const char zeros[STEP];

	for (;;) {
		if (syscall(SYS_fallocate, fd, 0, (off_t)offset, (off_t)byte_count) == 0)
			return true;
		if (errno != EINTR)
			break;
	}
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	/* a file system that has no such call gives space for what is written */
	while (byte_count > 0) {
		size_t part = byte_count < sizeof zeros ? byte_count : sizeof zeros;
		long n = syscall(SYS_pwrite64, fd, zeros, part, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		offset += (uint64_t)n;
		byte_count -= (size_t)n;
	}
	return true;
}

bool pmh_map(struct pmh_map *map, int fd, uint64_t offset, size_t byte_count)
{
	const uint64_t from = offset / STEP * STEP;
	const size_t before = (size_t)(offset - from);
	const size_t whole = (before + byte_count + STEP - 1) / STEP * STEP;
	struct pmh_map_slot *slot = take_slot();
	char *base = slot ? system_map(NULL, whole, MAP_SHARED, fd, from) : NULL;

	if (!base) {
		if (slot)
			atomic_store(&slot->base, 0);
		return false;
	}
#ifdef MADV_POPULATE_WRITE
	/* the faults at once, not one after another between the records; older kernels refuse, which is no
	 * harm */
	{
		const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
		const uintptr_t begin = (uintptr_t)(base + before) & ~page;

		madvise((void *)begin, (uintptr_t)(base + before + byte_count) - begin, MADV_POPULATE_WRITE);
	}
#endif
	PMH_UNCHECKED(base, whole);
	slot->byte_count = whole;
	atomic_store_explicit(&slot->lost, false, memory_order_relaxed);
	atomic_store_explicit(&slot->base, (uintptr_t)base, memory_order_release);
	map->start = base + before;
	map->byte_count = byte_count;
	atomic_store_explicit(&map->slot, slot, memory_order_release);
	return true;
}

void pmh_unmap(struct pmh_map *map)
{
	struct pmh_map_slot *slot = atomic_exchange_explicit(&map->slot, NULL, memory_order_relaxed);

	if (!slot)
		return;
	/* the address may be another's as soon as it is given back, so the slot must not have it any more */
	void *base = (void *)atomic_exchange(&slot->base, TAKEN);

	syscall(SYS_munmap, base, slot->byte_count);
	atomic_store_explicit(&slot->base, 0, memory_order_release);
	map->start = NULL;
	map->byte_count = 0;
}

void pmh_map_move(struct pmh_map *to, struct pmh_map *from)
{
	to->start = from->start;
	to->byte_count = from->byte_count;
	from->start = NULL;
	from->byte_count = 0;
	atomic_store_explicit(&to->slot, atomic_exchange_explicit(&from->slot, NULL, memory_order_relaxed),
		memory_order_release);
}

bool pmh_map_is_lost(const struct pmh_map *map)
{
	const struct pmh_map_slot *slot = atomic_load_explicit(&map->slot, memory_order_acquire);

	return slot && atomic_load_explicit(&slot->lost, memory_order_relaxed);
}

bool pmh_map_replace(const void *address)
{
	const uintptr_t at = (uintptr_t)address;

	for (struct block *b = &first; b; b = atomic_load_explicit(&b->next, memory_order_acquire))
		for (unsigned i = 0; i < SLOTS; i++) {
			struct pmh_map_slot *slot = &b->slots[i];
			const uintptr_t base = atomic_load_explicit(&slot->base, memory_order_acquire);

			if (base <= TAKEN || at < base || at - base >= slot->byte_count)
				continue;
			if (!system_map((void *)base, slot->byte_count,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0))
				return false;
			atomic_store_explicit(&slot->lost, true, memory_order_relaxed);
			return true;
		}
	return false;
}
