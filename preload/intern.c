/*
 * Numbers for what is seen for the first time: operations, descriptors' contents, strings, queues,
 * communicators.
 *
 * One table of 64-bit hashes for all of them. A look-up takes no lock: a slot is filled once and never
 * changes. A miss takes the lock, writes the dictionary entry, then the slot. Two different things with one
 * hash would get one number; with 2^17 slots the chance of that in a run is about 1 in 2 billion.
 */
#include "hook.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FULL (PMH_SLOTS / 4 * 3)
#define OPERATIONS_WITH_ADDRESSES (PMH_SLOTS / 4)
#define VALUES_MAX 26 /* of an operation, with its function; descriptors have up to 20 */

struct pmh_slot pmh_slots[PMH_SLOTS];
static _Atomic unsigned slots_used;
static _Atomic uint32_t last_number[16]; /* by enum pm_entry_type */
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

/* Random odd numbers. */
const uint64_t pmh_hash_keys[PMH_HASH_KEYS] = {
	0x2cb0f69f4abea221u,
	0x9417034723148989u,
	0xdd555950609dfe03u,
	0xdbafb150deb12801u,
	0x7e789b2e6c442cb7u,
	0xf41e5636c7e4f8c5u,
	0x0959d150f8fba7e5u,
	0xa97316f13cdb9eebu,
	0x74cd8258f9520069u,
	0x55c74a62e116868bu,
	0xd2f4c799a2023cbdu,
	0xdf98cb79a37b51b9u,
	0x396f5885524f3905u,
	0xaf1d56386ca3b277u,
	0xa9ffbe6b5104e85bu,
	0x6bd0c51b9fd533b3u,
	0x980ce91c50ab4b57u,
	0x28ac395780fe62c5u,
	0x768912e3a6bcedc7u,
	0x50b3e8c9332c7c89u,
	0xce3bbfe520bd47dbu,
	0xcba6c8e8e0bb7c4fu,
	0xbf194db8434a346du,
	0x7d8f2a7b60416d7fu,
	0x0849d1f6e0e10a5fu,
	0x7654b590d064e22fu,
	0x16d1da9507df3af3u,
	0xf63aef1089ea30e5u,
	0x9ade6673cc6c522bu,
	0x4c75bc274e37087du,
	0xd35e12b49f51f27bu,
	0x22ddf2ffcee481ebu,
};

uint64_t pmh_hash(uint64_t seed, const void *bytes, size_t byte_count)
{
	uint64_t words[PMH_HASH_KEYS], hash = seed;

	for (const unsigned char *p = bytes; byte_count > 0;) {
		size_t n = byte_count < sizeof words ? byte_count : sizeof words;

		words[(n - 1) / 8] = 0;
		memcpy(words, p, n);
		hash = pmh_hash_words(hash + n, words, (unsigned)((n + 7) / 8));
		p += n;
		byte_count -= n;
	}
	return hash;
}

/* Gives the hash the next number of its type. Under the lock; the entry has been written. */
static void keep(uint64_t hash, uint32_t number)
{
	unsigned i = (unsigned)(hash >> 40) % PMH_SLOTS;

	while (atomic_load_explicit(&pmh_slots[i].hash, memory_order_relaxed) != 0)
		i = (i + 1) % PMH_SLOTS;
	pmh_slots[i].number = number;
	atomic_store_explicit(&pmh_slots[i].hash, hash, memory_order_release);
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
	const int saved_errno = errno;
	uint32_t number;

	pmh_acquire(&lock);
	number = pmh_found(hash);
	if (!number && slots_used < FULL) {
		number = ++last_number[type];
		memcpy(fixed, &number, sizeof number);
		pmh_trace_entry(type, fixed, fixed_bytes, tail, tail_bytes);
		keep(hash, number);
	}
	pmh_release(&lock);
	errno = saved_errno;
	return number;
}

uint32_t pmh_string(const char *text)
{
	size_t n = strlen(text);
	uint64_t hash = pmh_hash(PM_ENTRY_STRING, text, n);
	struct pm_entry_string fixed;
	uint32_t number = pmh_found(hash);

	return number ? number : add(hash, PM_ENTRY_STRING, &fixed, sizeof fixed, text, n + 1);
}

uint32_t pmh_descriptor_number(enum pm_descriptor_kind kind, const int64_t *values, unsigned value_count)
{
	uint64_t hash = pmh_hash(PM_ENTRY_DESCRIPTOR * 256u + kind, values, value_count * sizeof values[0]);
	struct pm_entry_descriptor fixed = {.kind = (uint16_t)kind, .value_count = (uint16_t)value_count};
	uint32_t number = pmh_found(hash);

	return number ? number
		      : add(hash, PM_ENTRY_DESCRIPTOR, &fixed, sizeof fixed, values,
				value_count * sizeof values[0]);
}

uint16_t pmh_queue_number(int device, const void *stream)
{
	const uint64_t key[] = {(uint64_t)device, (uint64_t)(uintptr_t)stream};
	uint64_t hash = pmh_hash(PM_ENTRY_QUEUE, key, sizeof key);
	struct pm_entry_queue fixed = {.device = device, .stream = key[1]};
	uint32_t number = pmh_found(hash);

	if (!number)
		number = add(hash, PM_ENTRY_QUEUE, &fixed, sizeof fixed, NULL, 0);
	return number < UINT16_MAX ? (uint16_t)number : UINT16_MAX;
}

uint32_t pmh_communicator_number(int rank, int size, int device, uint64_t id)
{
	const uint64_t key[] = {(uint64_t)rank, (uint64_t)size, (uint64_t)device, id};
	uint64_t hash = pmh_hash(PM_ENTRY_COMMUNICATOR, key, sizeof key);
	struct pm_entry_communicator fixed = {.rank = rank, .size = size, .device = device, .hash = id};
	uint32_t number = pmh_found(hash);

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
	hash = pmh_hash_words(PM_ENTRY_OPERATION, coarse, value_count);
	number = pmh_found(hash);
	if (!number && slots_used < FULL - PM_CALL_COUNT)
		number = add_operation(hash, coarse, value_count);
	if (number)
		return number;
	memset(coarse + 1, 0, (value_count - 1) * sizeof coarse[0]);
	hash = pmh_hash_words(PM_ENTRY_OPERATION, coarse, value_count);
	number = pmh_found(hash);
	return number ? number : add_operation(hash, coarse, value_count);
}

uint32_t pmh_new_operation(uint64_t hash, const uint64_t *values, unsigned value_count)
{
	const int saved_errno = errno;
	uint32_t number = 0;

	if (value_count > VALUES_MAX)
		pmh_trouble();
	else if (last_number[PM_ENTRY_OPERATION] >= OPERATIONS_WITH_ADDRESSES)
		number = coarse_operation(values, value_count);
	else
		number = add_operation(hash, values, value_count);
	errno = saved_errno;
	return number;
}

uint64_t pmh_lost_operations(void)
{
	return atomic_load_explicit(&coarse_operations, memory_order_relaxed);
}

void pmh_intern_forget(void)
{
	if (slots_used)
		memset(pmh_slots, 0, sizeof pmh_slots);
	slots_used = 0;
	for (size_t i = 0; i < sizeof last_number / sizeof last_number[0]; i++)
		atomic_store(&last_number[i], 0);
	memset(function_written, 0, sizeof function_written);
	atomic_store(&coarse_operations, 0);
	pmh_release(&lock);
}
