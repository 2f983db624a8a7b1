/*
 * Ranges of device memory, sorted and apart.
 *
 * Whoever allocates moves the ranges after under a lock, and counts before and after; whoever looks takes no
 * lock, and looks again if the count has changed meanwhile. Each value is stored with release and loaded with
 * acquire, which keeps it after the first count and before the second. Frameworks allocate some hundreds of
 * blocks and divide them themselves.
 */
#include "device_memory.h"

#include <errno.h>
#include <stdatomic.h>

#include "guest/guest.h"
#include "guest/resolve.h"
#include "pm_abi.h"

#define RANGES (1u << 16)

static struct {
	_Atomic uint64_t begin, end;
} ranges[RANGES];
static _Atomic uint32_t range_count;
static _Atomic uint32_t changes; /* odd while the ranges are being moved */
static pmh_lock lock = ATOMIC_FLAG_INIT;

static uint64_t begin_of(uint32_t i)
{
	return atomic_load_explicit(&ranges[i].begin, memory_order_acquire);
}

static uint64_t end_of(uint32_t i)
{
	return atomic_load_explicit(&ranges[i].end, memory_order_acquire);
}

static void set(uint32_t i, uint64_t begin, uint64_t end)
{
	atomic_store_explicit(&ranges[i].begin, begin, memory_order_release);
	atomic_store_explicit(&ranges[i].end, end, memory_order_release);
}

/* The first range that ends after the address, among `count`. */
static uint32_t behind(uint64_t address, uint32_t count)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (end_of(middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void change_begin(void)
{
	atomic_store_explicit(
		&changes, atomic_load_explicit(&changes, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void change_end(uint32_t count)
{
	atomic_store_explicit(&range_count, count, memory_order_release);
	atomic_store_explicit(
		&changes, atomic_load_explicit(&changes, memory_order_relaxed) + 1, memory_order_release);
}

/* Takes the ranges from `from` to before `to` away. Under the lock. */
static void take_away(uint32_t from, uint32_t to)
{
	const uint32_t count = atomic_load_explicit(&range_count, memory_order_relaxed);

	if (from == to)
		return;
	change_begin();
	for (uint32_t i = to; i < count; i++)
		set(from + i - to, begin_of(i), end_of(i));
	change_end(count - (to - from));
}

/* Puts a range before the one at `at`. Under the lock. Without room it stays unknown. */
static void put(uint32_t at, uint64_t begin, uint64_t end)
{
	const uint32_t count = atomic_load_explicit(&range_count, memory_order_relaxed);

	if (count == RANGES)
		return;
	change_begin();
	for (uint32_t i = count; i > at; i--)
		set(i, begin_of(i - 1), end_of(i - 1));
	set(at, begin, end);
	change_end(count + 1);
}

void pmh_memory_known(const void *begin, size_t byte_count)
{
	const uint64_t from = (uintptr_t)begin, to = from + byte_count;
	const int saved_errno = errno;
	uint32_t count, i, j;

	if (!from || to <= from)
		return;
	pmh_acquire(&lock);
	count = atomic_load_explicit(&range_count, memory_order_relaxed);
	/* what it overlaps was freed in a way that is not seen */
	i = j = behind(from, count);
	while (j < count && begin_of(j) < to)
		j++;
	take_away(i, j);
	put(i, from, to);
	pmh_release(&lock);
	errno = saved_errno;
}

void pmh_memory_opened(const void *begin)
{
	static CUresult (*_Atomic known)(CUdeviceptr *, size_t *, CUdeviceptr);
	CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr) = atomic_load(&known);
	const int saved_errno = errno;
	CUdeviceptr base = 0;
	size_t byte_count = 0;

	if (!range) {
		*(void **)&range = pmh_real_driver("cuMemGetAddressRange_v2");
		atomic_store(&known, range);
	}
	if (range && range(&base, &byte_count, (CUdeviceptr)(uintptr_t)begin) == CUDA_SUCCESS)
		pmh_memory_known((const void *)(uintptr_t)base, byte_count);
	errno = saved_errno;
}

void pmh_memory_gone(const void *begin)
{
	const uint64_t from = (uintptr_t)begin;
	const int saved_errno = errno;
	uint32_t count, i;

	if (!from)
		return;
	pmh_acquire(&lock);
	count = atomic_load_explicit(&range_count, memory_order_relaxed);
	i = behind(from, count);
	if (i < count && begin_of(i) == from)
		take_away(i, i + 1);
	pmh_release(&lock);
	errno = saved_errno;
}

void pmh_memory_unmapped(const void *begin, size_t byte_count)
{
	const uint64_t from = (uintptr_t)begin;
	const int saved_errno = errno;
	uint32_t count, i, j;

	pmh_acquire(&lock);
	count = atomic_load_explicit(&range_count, memory_order_relaxed);
	i = j = behind(from, count);
	while (j < count && begin_of(j) >= from && end_of(j) - from <= byte_count)
		j++;
	take_away(i, j);
	pmh_release(&lock);
	errno = saved_errno;
}

void pmh_memory_look(struct pmh_memory_look *look)
{
	look->change = atomic_load_explicit(&changes, memory_order_acquire);
	look->count = atomic_load_explicit(&range_count, memory_order_acquire);
	look->first = look->count ? begin_of(0) : 0;
	look->span = look->count ? end_of(look->count - 1) - look->first : 0;
	look->begin = look->size = 0;
}

bool pmh_memory_is_whole(const struct pmh_memory_look *look)
{
	return !(look->change & 1) && atomic_load_explicit(&changes, memory_order_relaxed) == look->change;
}

bool pmh_memory_find(struct pmh_memory_look *look, uint64_t word)
{
	const uint32_t at = behind(word, look->count);

	if (at >= look->count || begin_of(at) > word)
		return false;
	look->begin = begin_of(at);
	look->size = end_of(at) - look->begin;
	return true;
}

void pmh_memory_forget(void)
{
	atomic_store(&range_count, 0);
	atomic_store(&changes, 0);
	pmh_lock_forget(&lock);
}
