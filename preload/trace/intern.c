/*
 * Numbers for what is seen for the first time: operations, descriptors' contents, strings, queues,
 * communicators.
 *
 * One table of 64-bit hashes for all of them. A look-up takes no lock: a slot is filled once and never
 * changes. A miss takes the lock, writes the dictionary entry, then the slot. Two different things with one
 * hash would get one number; with 2^17 slots the chance of that in a run is about 1 in 2 billion.
 */
#include "intern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guest/guest.h"
#include "guest/resolve.h"
#include "write.h"

#define FULL (PMH_SLOTS / 4 * 3)
#define QUEUES_OF_THEIR_OWN 4096u

struct pmh_slot pmh_slots[PMH_SLOTS];
static _Atomic unsigned slots_used;
static _Atomic uint32_t last_number[32]; /* by enum pm_entry_type */
static bool function_written[PM_CALL_COUNT];
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

static const char *const role_words[] = {"NONE",
#define PM_FIELD(name, text) #name,
	PM_FORMAT_ROLES(PM_FIELD)
#undef PM_FIELD
};

static const char *const access_words[] = {
#define PM_FIELD(name, text) #name,
	PM_FORMAT_ACCESSES(PM_FIELD)
#undef PM_FIELD
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

/* The second text of a function's entry: what the call does. Bytes, with the zero at its end. */
static size_t say_what_it_does(const struct pmh_row *row, char *text, size_t room)
{
	size_t n = (size_t)snprintf(text, room, "role:%s", role_words[row->role]);

	for (unsigned i = 0; i < PM_ACCESS_COUNT && n < room; i++)
		if (row->access >> i & 1)
			n += (size_t)snprintf(text + n, room - n, " access:%s", access_words[i]);
	if (row->shape[0] && n < room)
		n += (size_t)snprintf(text + n, room - n, " shape:%s", row->shape);
	return n < room ? n + 1 : room;
}

static void write_function(uint32_t call)
{
	const struct pmh_row *row = &pmh_rows[call];
	struct pm_entry_function fixed = {.number = call};
	char text[1024 + 96];
	size_t n;

	if (function_written[call])
		return;
	function_written[call] = true;
	n = (size_t)snprintf(text, 1024, "%s %s %s", row->library, kind_words[row->kind], row->name);
	for (unsigned i = 1; i < row->label_count && n < 1024; i++)
		n += (size_t)snprintf(text + n, 1024 - n, " %s:%s", value_words[pmh_labels[call][i].value],
			pmh_labels[call][i].label);
	n = strlen(text) + 1;
	n += say_what_it_does(row, text + n, sizeof text - n);
	pmh_trace_entry(PM_ENTRY_FUNCTION, &fixed, sizeof fixed, text, n);
}

struct addition {
	uint64_t hash;
	enum pm_entry_type type;
	void *fixed;
	size_t fixed_bytes;
	const void *tail;
	size_t tail_bytes;
	uint32_t number;
};

static void add_now(void *data)
{
	struct addition *a = data;

	pmh_acquire(&lock);
	a->number = pmh_found(a->hash);
	if (!a->number && slots_used < FULL) {
		a->number = ++last_number[a->type];
		memcpy(a->fixed, &a->number, sizeof a->number);
		pmh_trace_entry(a->type, a->fixed, a->fixed_bytes, a->tail, a->tail_bytes);
		keep(a->hash, a->number);
	}
	pmh_release(&lock);
}

/* A new thing of a type: the fixed part begins with its number. Returns 0 when the table is full. */
static uint32_t intern_add(uint64_t hash, enum pm_entry_type type, void *fixed, size_t fixed_bytes,
	const void *tail, size_t tail_bytes)
{
	const int saved_errno = errno;
	struct addition a = {hash, type, fixed, fixed_bytes, tail, tail_bytes, 0};

	pmh_run_on_own_stack(add_now, &a);
	if (!a.number && type != PM_ENTRY_OPERATION && type != PM_ENTRY_TOUCHES)
		pmh_lose(PM_LOSS_NAMES, 1);
	errno = saved_errno;
	return a.number;
}

static void write_now(void *data)
{
	struct addition *a = data;

	pmh_acquire(&lock);
	pmh_trace_entry(a->type, a->fixed, a->fixed_bytes, a->tail, a->tail_bytes);
	pmh_release(&lock);
}

void pmh_write_entry(
	enum pm_entry_type type, const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes)
{
	const int saved_errno = errno;
	struct addition a = {0, type, (void *)(uintptr_t)fixed, fixed_bytes, tail, tail_bytes, 0};

	pmh_run_on_own_stack(write_now, &a);
	errno = saved_errno;
}

uint32_t pmh_string(const char *text)
{
	size_t n = strlen(text);
	uint64_t hash = pmh_hash(PM_ENTRY_STRING, text, n);
	struct pm_entry_string fixed;
	uint32_t number = pmh_found(hash);

	return number ? number : intern_add(hash, PM_ENTRY_STRING, &fixed, sizeof fixed, text, n + 1);
}

uint32_t pmh_descriptor_number(enum pm_descriptor_kind kind, const int64_t *values, unsigned value_count)
{
	uint64_t hash = pmh_hash(PM_ENTRY_DESCRIPTOR * 256u + kind, values, value_count * sizeof values[0]);
	struct pm_entry_descriptor fixed = {.kind = (uint16_t)kind, .value_count = (uint16_t)value_count};
	uint32_t number = pmh_found(hash);

	return number ? number
		      : intern_add(hash, PM_ENTRY_DESCRIPTOR, &fixed, sizeof fixed, values,
				value_count * sizeof values[0]);
}

/*
 * A stream at the address of one that was destroyed is another queue, up to a number that a program which
 * makes streams without end would pass.
 */
uint16_t pmh_queue_number(int device, const void *stream, unsigned generation)
{
	const bool is_again = generation > 0 && last_number[PM_ENTRY_QUEUE] < QUEUES_OF_THEIR_OWN;
	const uint64_t key[] = {(uint64_t)device, (uint64_t)(uintptr_t)stream, generation};
	uint64_t hash = pmh_hash(PM_ENTRY_QUEUE, key, is_again ? sizeof key : 2 * sizeof key[0]);
	struct pm_entry_queue fixed = {.device = device, .stream = key[1]};
	uint32_t number = pmh_found(hash);

	if (!number)
		number = intern_add(hash, PM_ENTRY_QUEUE, &fixed, sizeof fixed, NULL, 0);
	if (generation > 0 && !is_again)
		pmh_lose(PM_LOSS_STREAMS, 1);
	return number < UINT16_MAX ? (uint16_t)number : UINT16_MAX;
}

uint32_t pmh_string_found(const char *text)
{
	return pmh_found(pmh_hash(PM_ENTRY_STRING, text, strlen(text)));
}

#define RANGES_MOST \
	(PMH_SLOTS / 8) /* of a program that makes texts without end the later ones have no range */

uint32_t pmh_range_entry(uint64_t hash, struct pm_entry_range *entry)
{
	const uint32_t number = pmh_found(hash);

	if (number || last_number[PM_ENTRY_RANGE] >= RANGES_MOST)
		return number;
	return intern_add(hash, PM_ENTRY_RANGE, entry, sizeof *entry, NULL, 0);
}

uint32_t pmh_communicator_number(int rank, int size, int device, uint64_t id)
{
	const uint64_t key[] = {(uint64_t)rank, (uint64_t)size, (uint64_t)device, id};
	uint64_t hash = pmh_hash(PM_ENTRY_COMMUNICATOR, key, sizeof key);
	struct pm_entry_communicator fixed = {.rank = rank, .size = size, .device = device, .hash = id};
	uint32_t number = pmh_found(hash);

	return number ? number : intern_add(hash, PM_ENTRY_COMMUNICATOR, &fixed, sizeof fixed, NULL, 0);
}

/* Not interned: each executable graph is one. */
uint32_t pmh_graph_number(const struct pm_graph_node *nodes, unsigned node_count)
{
	struct pm_entry_graph fixed = {.node_count = node_count};

	if (!node_count)
		return 0;
	fixed.number = atomic_fetch_add(&last_number[PM_ENTRY_GRAPH], 1) + 1;
	pmh_write_entry(PM_ENTRY_GRAPH, &fixed, sizeof fixed, nodes, node_count * sizeof nodes[0]);
	return fixed.number;
}

uint32_t pmh_operation_entry(
	uint64_t hash, uint32_t function, const char *site, const uint64_t *values, unsigned value_count)
{
	struct pm_entry_operation fixed = {.function = function, .value_count = value_count};

	fixed.site = site[0] ? pmh_string(site) : 0;
	pmh_acquire(&lock);
	write_function(function);
	pmh_release(&lock);
	return intern_add(
		hash, PM_ENTRY_OPERATION, &fixed, sizeof fixed, values, value_count * sizeof values[0]);
}

/* ---- device addresses ---- */

#define ADDRESSES (1u << 16)
#define ADDRESS_SLOTS (1u << 17)

/* Filled once: the address last. */
static struct {
	_Atomic uint64_t address; /* 0: free */
	uint32_t number;
} addresses_seen[ADDRESS_SLOTS];
static uint32_t address_count;

/* Where the address is, or would be. */
static unsigned address_slot(uint64_t address)
{
	/* addresses that are near each other are looked up together: allocators align to 512 bytes */
	unsigned i = (unsigned)((pmh_mix(address >> 21, pmh_hash_keys[0]) + (address >> 9)) % ADDRESS_SLOTS);

	for (;; i = (i + 1) % ADDRESS_SLOTS) {
		uint64_t there = atomic_load_explicit(&addresses_seen[i].address, memory_order_acquire);

		if (there == address || there == 0)
			return i;
	}
}

static bool find_addresses(const uint64_t *addresses, uint32_t *numbers, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const unsigned slot = address_slot(addresses[i]);

		if (atomic_load_explicit(&addresses_seen[slot].address, memory_order_acquire) == 0)
			return false;
		numbers[i] = addresses_seen[slot].number;
	}
	return true;
}

struct new_addresses {
	const uint64_t *all;
	uint32_t count;
};

#define FRESH 32u

/* Writes an entry of those that are new, up to FRESH of them at a time. */
static void add_addresses(void *data)
{
	const struct new_addresses *a = data;
	uint64_t fresh[FRESH];
	uint32_t i = 0;

	pmh_acquire(&lock);
	while (i < a->count && address_count < ADDRESSES) {
		struct pm_entry_addresses fixed = {.first = address_count + 1};

		for (; i < a->count && fixed.count < FRESH && address_count < ADDRESSES; i++) {
			const unsigned slot = address_slot(a->all[i]);

			if (atomic_load_explicit(&addresses_seen[slot].address, memory_order_relaxed) != 0)
				continue;
			fresh[fixed.count++] = a->all[i];
			addresses_seen[slot].number = ++address_count;
			atomic_store_explicit(&addresses_seen[slot].address, a->all[i], memory_order_release);
		}
		if (fixed.count)
			pmh_trace_entry(PM_ENTRY_ADDRESSES, &fixed, sizeof fixed, fresh,
				fixed.count * sizeof fresh[0]);
	}
	pmh_release(&lock);
}

bool pmh_address_numbers(const uint64_t *addresses, uint32_t *numbers, uint32_t count)
{
	struct new_addresses a = {addresses, count};
	const int saved_errno = errno;

	if (find_addresses(addresses, numbers, count))
		return true;
	pmh_run_on_own_stack(add_addresses, &a);
	errno = saved_errno;
	return find_addresses(addresses, numbers, count);
}

#define LISTS 4096u /* of a program whose lists never come again the rest stays with its launches */

uint32_t pmh_touches_number(const uint8_t *bytes, uint32_t byte_count)
{
	uint64_t hash = pmh_hash(PM_ENTRY_TOUCHES, bytes, byte_count);
	struct pm_entry_touches fixed = {.byte_count = byte_count};
	uint32_t number = pmh_found(hash);

	if (number || last_number[PM_ENTRY_TOUCHES] >= LISTS)
		return number;
	return intern_add(hash, PM_ENTRY_TOUCHES, &fixed, sizeof fixed, bytes, byte_count);
}

/*
 * Of each address how often its module was asked for, or NAMED. Where the answer is that of a launch with a
 * list of addresses, which a module makes for parts of it too and which has words that earlier lists left:
 * with LISTED, until one with few has another.
 */
#define QUESTIONS 3 /* a parameter is touched when it is made, and perhaps copied, before its module runs */
#define LISTED 64
#define NAMED 255
#define FEW 16 /* addresses of a launch that is of one module */
static _Atomic uint8_t address_asked[ADDRESSES + 1];

bool pmh_address_asks(const uint32_t *numbers, uint32_t count)
{
	bool asks = false;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t asked = atomic_load_explicit(&address_asked[numbers[i]], memory_order_relaxed);

		if ((asked & ~LISTED) >= QUESTIONS || (count > FEW && (asked & LISTED)))
			continue;
		/* two threads may count one question: then there is one more */
		atomic_store_explicit(&address_asked[numbers[i]], (uint8_t)(asked + 1), memory_order_relaxed);
		asks = true;
	}
	return asks;
}

void pmh_address_modules(const uint32_t *numbers, uint32_t count, const char *path)
{
	const uint32_t name = pmh_string(path);
	const uint8_t state = count > FEW ? LISTED : NAMED;

	for (uint32_t i = 0; i < count && name; i++) {
		const struct pm_entry_address_module entry = {numbers[i], name};
		uint8_t asked = atomic_load_explicit(&address_asked[numbers[i]], memory_order_relaxed);

		if (asked == NAMED || (count > FEW && (asked & LISTED)))
			continue;
		/* of two threads one names it */
		if (atomic_compare_exchange_strong(&address_asked[numbers[i]], &asked, state))
			pmh_write_entry(PM_ENTRY_ADDRESS_MODULE, &entry, sizeof entry, NULL, 0);
	}
}

uint32_t pmh_hlo_module_number(void)
{
	return atomic_fetch_add(&last_number[PM_ENTRY_HLO_MODULE], 1) + 1;
}

uint32_t pmh_operation_count(void)
{
	return last_number[PM_ENTRY_OPERATION];
}

void pmh_intern_forget(void)
{
	if (slots_used)
		memset(pmh_slots, 0, sizeof pmh_slots);
	slots_used = 0;
	for (size_t i = 0; i < sizeof last_number / sizeof last_number[0]; i++)
		atomic_store(&last_number[i], 0);
	memset(function_written, 0, sizeof function_written);
	if (address_count) {
		memset(addresses_seen, 0, sizeof addresses_seen);
		memset((void *)address_asked, 0, sizeof address_asked);
	}
	address_count = 0;
	pmh_lock_forget(&lock);
}
