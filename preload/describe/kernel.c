/*
 * Kernels' names, by the addresses and handles that programs launch them with.
 *
 * A table of its own, because a framework registers tens of thousands when it is loaded, of which it launches
 * some hundreds. A name becomes a string of the trace at the first launch.
 */
#include "kernel.h"

#include "trace/intern.h"
#include "trace/write.h"

#define KERNELS (1u << 17)
#define TRIES 256u

static struct kernel {
	_Atomic uintptr_t address;
	const char *_Atomic name;                /* as it was registered: it stays where it is */
	_Atomic uint32_t number;                 /* of the string, 0: not yet */
	_Atomic uint32_t kind;                   /* enum pmh_function */
	const struct pmh_layout *_Atomic layout; /* NULL: not read yet */
} kernels[KERNELS];

static struct kernel *kernel_of(const void *address, bool make)
{
	uintptr_t wanted = (uintptr_t)address;
	unsigned i = (unsigned)(pmh_mix(wanted, 0x9e3779b97f4a7c15u) % KERNELS);

	for (unsigned tries = 0; wanted && tries < TRIES; tries++, i = (i + 1) % KERNELS) {
		uintptr_t there = atomic_load_explicit(&kernels[i].address, memory_order_acquire);

		if (there == wanted)
			return &kernels[i];
		if (there)
			continue;
		if (!make)
			return NULL;
		if (atomic_compare_exchange_strong(&kernels[i].address, &there, wanted) || there == wanted)
			return &kernels[i];
	}
	if (wanted && make)
		pmh_lose(PM_LOSS_KERNELS, 1);
	return NULL;
}

void pmh_kernel_named(const void *function, const char *name)
{
	struct kernel *k = kernel_of(function, true);

	if (!k)
		return;
	atomic_store_explicit(&k->kind, PMH_HOST_FUNCTION, memory_order_relaxed);
	atomic_store_explicit(&k->layout, NULL, memory_order_relaxed);
	atomic_store_explicit(&k->name, name, memory_order_release);
}

uint32_t pmh_kernel_name(const void *function)
{
	struct kernel *k = kernel_of(function, false);
	const char *name;
	uint32_t number;

	if (!k)
		return 0;
	number = atomic_load_explicit(&k->number, memory_order_acquire);
	name = atomic_load_explicit(&k->name, memory_order_acquire);
	if (!number && name) {
		number = pmh_string(name);
		atomic_store_explicit(&k->number, number, memory_order_release);
	}
	return number;
}

/* The address may have been that of another, which was unloaded. */
static void is_a(struct kernel *k, enum pmh_function kind)
{
	atomic_store_explicit(&k->kind, kind, memory_order_relaxed);
	atomic_store_explicit(&k->layout, NULL, memory_order_release);
}

void pmh_function_named(const void *function, const char *name, enum pmh_function kind)
{
	struct kernel *k = kernel_of(function, true);

	if (!k || !name)
		return;
	is_a(k, kind);
	atomic_store_explicit(&k->number, pmh_string(name), memory_order_release);
}

void pmh_function_same(const void *function, const void *as, enum pmh_function kind)
{
	struct kernel *k = kernel_of(function, true), *other = kernel_of(as, false);

	if (!k || !other)
		return;
	is_a(k, kind);
	atomic_store_explicit(
		&k->name, atomic_load_explicit(&other->name, memory_order_acquire), memory_order_release);
	atomic_store_explicit(
		&k->number, atomic_load_explicit(&other->number, memory_order_acquire), memory_order_release);
}

/* A driver whose answer is that it knows nothing is not asked again; one that cannot be asked now is. */
const struct pmh_layout *pmh_kernel_layout(const void *function)
{
	struct kernel *k = kernel_of(function, false);
	const struct pmh_layout *layout;

	if (!k)
		return NULL;
	layout = atomic_load_explicit(&k->layout, memory_order_acquire);
	if (__builtin_expect(!layout, 0)) {
		layout = pmh_layout_read(
			function, (enum pmh_function)atomic_load_explicit(&k->kind, memory_order_relaxed));
		atomic_store_explicit(&k->layout, layout, memory_order_release);
	}
	return layout;
}

/* In a child after fork: numbers belong to the parent's trace. */
void pmh_kernel_forget(void)
{
	for (unsigned i = 0; i < KERNELS; i++)
		if (atomic_load_explicit(&kernels[i].number, memory_order_relaxed))
			atomic_store_explicit(&kernels[i].number, 0, memory_order_relaxed);
}
