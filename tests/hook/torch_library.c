/*
 * A libtorch_cpu.so that has callbacks and nothing else: it calls them as PyTorch does, for ranges that the
 * host begins and ends (torch_library.h).
 */
#include "torch_library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct callback {
	void *(*start)(void **result, const void *function);
	void (*end)(const void *function, void *context);
	double probability;
	bool scopes[10];
	bool inputs, outputs, ids;
};

#define CALLBACKS 8
#define MOVED 16 /* of a layout that nobody knows */

static struct {
	struct callback callback;
	_Atomic bool enabled;
} callbacks[CALLBACKS];
static _Atomic unsigned callback_count;
static _Atomic uint64_t last_thread;
static _Thread_local uint64_t own_thread, next_sequence;
static _Atomic bool is_moved;

uint64_t add(struct callback callback) __asm__("_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
void enable(uint64_t handle) __asm__("_ZN2at16reenableCallbackEm");
void disable(uint64_t handle) __asm__("_ZN2at15disableCallbackEm");
const char *name_of(const struct torch_range *range) __asm__("_ZNK2at14RecordFunction4nameEv");
uint64_t thread(void) __asm__("_ZN2at14RecordFunction15currentThreadIdEv");
uint64_t peek(void) __asm__("_ZN2at15sequence_number4peekEv");

uint64_t add(struct callback callback)
{
	const unsigned i = callback_count++;

	callbacks[i].callback = callback;
	callbacks[i].enabled = true;
	return i + 1;
}

void enable(uint64_t handle)
{
	callbacks[handle - 1].enabled = true;
}

void disable(uint64_t handle)
{
	callbacks[handle - 1].enabled = false;
}

const char *name_of(const struct torch_range *range)
{
	return range->name;
}

uint64_t thread(void)
{
	if (!own_thread)
		own_thread = ++last_thread;
	return own_thread;
}

uint64_t peek(void)
{
	return next_sequence;
}

static void put(struct torch_range *range, size_t at, const void *value, size_t byte_count)
{
	memcpy((char *)range + at + (is_moved && at > 96 ? MOVED : 0), value, byte_count);
}

void torch_begin(
	struct torch_range *range, int scope, const char *name, int64_t sequence, uint64_t forward_thread)
{
	const uint64_t number = thread();
	const uint8_t short_scope = (uint8_t)scope;

	memset(range, 0xab, sizeof *range);
	range->name = name;
	range->called = 0;
	range->context = false;
	put(range, 88, &number, sizeof number);
	put(range, 96, &short_scope, sizeof short_scope);
	put(range, 200, &sequence, sizeof sequence);
	put(range, 304, &forward_thread, sizeof forward_thread);
	for (unsigned i = 0; i < callback_count; i++)
		if (callbacks[i].enabled && callbacks[i].callback.scopes[scope]) {
			void *context = range;

			callbacks[i].callback.start(&context, range);
			range->called |= 1u << i;
			range->context |= context != NULL;
		}
}

void torch_end(struct torch_range *range)
{
	for (unsigned i = 0; i < callback_count; i++)
		if (range->called & 1u << i)
			callbacks[i].callback.end(range, NULL);
}

void torch_next(void)
{
	next_sequence++;
}

void torch_move(void)
{
	is_moved = true;
}

unsigned torch_enabled(int scope)
{
	unsigned count = 0;

	for (unsigned i = 0; i < callback_count; i++)
		count += callbacks[i].enabled && callbacks[i].callback.scopes[scope];
	return count;
}
