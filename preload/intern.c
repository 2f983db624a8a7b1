/*
 * Numbers for what is seen for the first time: operations, descriptors' contents, strings, queues,
 * communicators.
 *
 * One table of 64-bit hashes for all of them. A look-up takes no lock: a slot is filled once and never
 * changes. A miss takes the lock, writes the dictionary entry, then the slot. Two different things with one
 * hash would get one number; with 2^17 slots the chance of that in a run is about 1 in 2 billion.
 */
#include "hook.h"

#include <stdio.h>
#include <string.h>

#define SLOTS (1u << 17)
#define FULL (SLOTS / 4 * 3)
#define OPERATIONS_WITH_ADDRESSES (SLOTS / 4)
#define VALUES_MAX 26 /* of an operation, with its function; descriptors have up to 20 */

static struct {
	_Atomic uint64_t hash;
	uint32_t number;
} slots[SLOTS];
static unsigned slots_used;
static uint32_t last_number[16]; /* by enum pm_entry_type */
static bool function_written[PM_CALL_COUNT];
static _Atomic uint64_t coarse_operations;
static pmh_lock lock = ATOMIC_FLAG_INIT;

static const char *const value_words[] = {"",
#define PM_FIELD(name, word, text) word,
	PM_FORMAT_VALUES(PM_FIELD)
#undef PM_FIELD
};

static const char *const kind_words[] = {"",
#define PM_FIELD(name, text) #name,
	PM_FORMAT_KINDS(PM_FIELD)
#undef PM_FIELD
};

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

uint64_t pmh_hash(uint64_t seed, const void *words, size_t byte_count)
{
	const unsigned char *p = words;
	uint64_t hash = mix(seed, byte_count), word;

	for (; byte_count >= 8; byte_count -= 8, p += 8) {
		memcpy(&word, p, 8);
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, p, byte_count);
	hash = mix(hash, word);
	return hash ? hash : 1;
}

/* The number behind a hash, or 0. */
static inline uint32_t found(uint64_t hash)
{
	for (unsigned i = (unsigned)(hash >> 40) % SLOTS;; i = (i + 1) % SLOTS) {
		uint64_t there = atomic_load_explicit(&slots[i].hash, memory_order_acquire);

		if (there == hash)
			return slots[i].number;
		if (there == 0)
			return 0;
	}
}

/* Gives the hash the next number of its type. Under the lock; the entry has been written. */
static void keep(uint64_t hash, uint32_t number)
{
	unsigned i = (unsigned)(hash >> 40) % SLOTS;

	while (atomic_load_explicit(&slots[i].hash, memory_order_relaxed) != 0)
		i = (i + 1) % SLOTS;
	slots[i].number = number;
	atomic_store_explicit(&slots[i].hash, hash, memory_order_release);
	slots_used++;
}

static void write_function(uint32_t call)
{
	const struct pmh_row *row = &pmh_rows[call];
	struct pm_entry_function fixed = {.number = call};
	char text[1024];
	size_t n;

	if (function_written[call])
		return;
	function_written[call] = true;
	n = (size_t)snprintf(text, sizeof text, "%s %s %s", row->library, kind_words[row->kind], row->name);
	for (unsigned i = 1; i < row->label_count && n < sizeof text; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, " %s:%s", value_words[row->labels[i].value],
			row->labels[i].label);
	pmh_trace_entry(PM_ENTRY_FUNCTION, &fixed, sizeof fixed, text, strlen(text) + 1);
}

/* A new thing of a type: the fixed part begins with its number. Returns 0 when the table is full. */
static uint32_t add(uint64_t hash, enum pm_entry_type type, void *fixed, size_t fixed_bytes, const void *tail,
	size_t tail_bytes)
{
	uint32_t number;

	pmh_acquire(&lock);
	number = found(hash);
	if (!number && slots_used < FULL) {
		number = ++last_number[type];
		memcpy(fixed, &number, sizeof number);
		pmh_trace_entry(type, fixed, fixed_bytes, tail, tail_bytes);
		keep(hash, number);
	}
	pmh_release(&lock);
	return number;
}

uint32_t pmh_string(const char *text)
{
	size_t n = strlen(text);
	uint64_t hash = pmh_hash(PM_ENTRY_STRING, text, n);
	struct pm_entry_string fixed;
	uint32_t number = found(hash);

	return number ? number : add(hash, PM_ENTRY_STRING, &fixed, sizeof fixed, text, n + 1);
}

uint32_t pmh_descriptor_number(enum pm_descriptor_kind kind, const int64_t *values, unsigned value_count)
{
	uint64_t hash = pmh_hash(PM_ENTRY_DESCRIPTOR * 256u + kind, values, value_count * sizeof values[0]);
	struct pm_entry_descriptor fixed = {.kind = (uint16_t)kind, .value_count = (uint16_t)value_count};
	uint32_t number = found(hash);

	return number ? number
		      : add(hash, PM_ENTRY_DESCRIPTOR, &fixed, sizeof fixed, values,
				value_count * sizeof values[0]);
}

uint16_t pmh_queue_number(int device, const void *stream)
{
	const uint64_t key[] = {(uint64_t)device, (uint64_t)(uintptr_t)stream};
	uint64_t hash = pmh_hash(PM_ENTRY_QUEUE, key, sizeof key);
	struct pm_entry_queue fixed = {.device = device, .stream = key[1]};
	uint32_t number = found(hash);

	if (!number)
		number = add(hash, PM_ENTRY_QUEUE, &fixed, sizeof fixed, NULL, 0);
	return number < UINT16_MAX ? (uint16_t)number : UINT16_MAX;
}

uint32_t pmh_communicator_number(int rank, int size, int device, uint64_t id)
{
	const uint64_t key[] = {(uint64_t)rank, (uint64_t)size, (uint64_t)device, id};
	uint64_t hash = pmh_hash(PM_ENTRY_COMMUNICATOR, key, sizeof key);
	struct pm_entry_communicator fixed = {.rank = rank, .size = size, .device = device, .hash = id};
	uint32_t number = found(hash);

	return number ? number : add(hash, PM_ENTRY_COMMUNICATOR, &fixed, sizeof fixed, NULL, 0);
}

void pmh_note(const char *text)
{
	pmh_acquire(&lock);
	pmh_trace_entry(PM_ENTRY_NOTE, NULL, 0, text, strlen(text) + 1);
	pmh_release(&lock);
}

/* The call site is found outside the lock: the unwinder may wait for locks of its own. */
static uint32_t add_operation(uint64_t hash, const uint64_t *values, unsigned value_count)
{
	struct pm_entry_operation fixed = {.function = (uint32_t)values[0], .value_count = value_count - 1};
	char text[1024];

	pmh_call_site(text, sizeof text);
	fixed.site = text[0] ? pmh_string(text) : 0;
	pmh_acquire(&lock);
	write_function(fixed.function);
	pmh_release(&lock);
	return add(hash, PM_ENTRY_OPERATION, &fixed, sizeof fixed, values + 1,
		(value_count - 1) * sizeof values[0]);
}

/* The same operation without its addresses (parameters and gradients stay), so that a program which never
 * uses one twice does not fill the table. */
static uint32_t coarse_operation(const uint64_t *values, unsigned value_count)
{
	const struct pmh_label *labels = pmh_rows[values[0]].labels;
	uint64_t coarse[VALUES_MAX], hash;
	uint32_t number;

	atomic_fetch_add_explicit(&coarse_operations, 1, memory_order_relaxed);
	for (unsigned i = 0; i < value_count; i++)
		coarse[i] = i && (labels[i].value == PM_VALUE_READS || labels[i].value == PM_VALUE_WRITES ||
					 labels[i].value == PM_VALUE_ADDRESS)
				    ? 0
				    : values[i];
	hash = pmh_hash(PM_ENTRY_OPERATION, coarse, value_count * sizeof coarse[0]);
	number = found(hash);
	if (!number && slots_used < FULL - PM_CALL_COUNT)
		number = add_operation(hash, coarse, value_count);
	if (number)
		return number;
	memset(coarse + 1, 0, (value_count - 1) * sizeof coarse[0]);
	hash = pmh_hash(PM_ENTRY_OPERATION, coarse, value_count * sizeof coarse[0]);
	number = found(hash);
	return number ? number : add_operation(hash, coarse, value_count);
}

uint32_t pmh_operation(const uint64_t *values, unsigned value_count)
{
	uint64_t hash = pmh_hash(PM_ENTRY_OPERATION, values, value_count * sizeof values[0]);
	uint32_t number = found(hash);

	if (__builtin_expect(number != 0, 1))
		return number;
	if (value_count > VALUES_MAX) {
		pmh_trouble();
		return 0;
	}
	if (last_number[PM_ENTRY_OPERATION] >= OPERATIONS_WITH_ADDRESSES)
		return coarse_operation(values, value_count);
	return add_operation(hash, values, value_count);
}

uint64_t pmh_lost_operations(void)
{
	return atomic_load_explicit(&coarse_operations, memory_order_relaxed);
}

void pmh_intern_forget(void)
{
	if (slots_used)
		memset(slots, 0, sizeof slots);
	slots_used = 0;
	memset(last_number, 0, sizeof last_number);
	memset(function_written, 0, sizeof function_written);
	atomic_store(&coarse_operations, 0);
	pmh_release(&lock);
}
