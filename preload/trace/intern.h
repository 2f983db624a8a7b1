/*
 * The dictionary of the trace: numbers for what is seen for the first time, and entries that are written
 * once. A look-up takes no lock; what is new takes that of the dictionary. Any thread; errno stays. Number 0:
 * the table is full, which is counted.
 */
#ifndef INTERN_H
#define INTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "pm_format.h"

/* One table for all kinds of things. A slot is filled once: the hash last. */
#define PMH_SLOTS (1u << 17)
#define PMH_HASH_KEYS 32
struct pmh_slot {
	_Atomic uint64_t hash; /* 0: free */
	uint32_t number;
};
extern struct pmh_slot pmh_slots[PMH_SLOTS];

static inline uint64_t pmh_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Random odd numbers. In each wrapper they become constants of its code. */
static const uint64_t pmh_hash_keys[PMH_HASH_KEYS] = {
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

/*
 * Of up to PMH_HASH_KEYS words, of which those that are not kept count as 0 (kept NULL: all are): pairs of
 * words, each with a key added, are multiplied and summed, so that the processor works on all of them at once
 * (NH of Black et al., UMAC, CRYPTO 1999). Never 0.
 */
PMH_INLINE uint64_t pmh_hash_kept(uint64_t seed, const uint64_t *words, const bool *kept, unsigned word_count)
{
	uint64_t low = seed + word_count, high = 0;

#pragma GCC unroll 16
	for (unsigned i = 0; i < PMH_HASH_KEYS && i < word_count; i += 2) {
		uint64_t first = !kept || kept[i] ? words[i] : 0;
		uint64_t second = i + 1 < word_count && (!kept || kept[i + 1]) ? words[i + 1] : 0;
		unsigned __int128 product =
			(unsigned __int128)(first + pmh_hash_keys[i]) * (second + pmh_hash_keys[i + 1]);

		low += (uint64_t)product;
		high ^= (uint64_t)(product >> 64);
	}
	return pmh_mix(low ^ 0x9e3779b97f4a7c15u, high ^ 0xd6e8feb86659fd93u) | 1;
}

PMH_INLINE uint64_t pmh_hash_words(uint64_t seed, const uint64_t *words, unsigned word_count)
{
	return pmh_hash_kept(seed, words, NULL, word_count);
}

/* The number after a hash, or 0. */
static inline uint32_t pmh_found(uint64_t hash)
{
	for (unsigned i = (unsigned)(hash >> 40) % PMH_SLOTS;; i = (i + 1) % PMH_SLOTS) {
		uint64_t there = atomic_load_explicit(&pmh_slots[i].hash, memory_order_acquire);

		if (there == hash)
			return pmh_slots[i].number;
		if (there == 0)
			return 0;
	}
}

/* The same of bytes. */
uint64_t pmh_hash(uint64_t seed, const void *bytes, size_t byte_count);

/* The numbers of things, which are written when they are new. A queue beyond 65,535 has that number. */
uint32_t pmh_string(const char *text);
uint32_t pmh_string_found(const char *text); /* 0: it has none so far */
uint32_t pmh_descriptor_number(enum pm_descriptor_kind kind, const int64_t *values, unsigned value_count);
uint16_t pmh_queue_number(int device, const void *stream, unsigned generation);
uint32_t pmh_communicator_number(int rank, int size, int device, uint64_t hash);
uint32_t pmh_graph_number(const struct pm_graph_node *nodes, unsigned node_count);

/*
 * Numbers of device addresses that launches have among their arguments. False: there is no room for more of
 * them, and not all have one.
 */
bool pmh_address_numbers(const uint64_t *addresses, uint32_t *numbers, uint32_t count);

/*
 * The modules that addresses belong to, all those of a launch. pmh_address_asks: whether any of these numbers
 * has none yet, or has that of a longer list, and was not asked for often enough; counts as a question.
 * pmh_address_modules: the answer, for those.
 */
bool pmh_address_asks(const uint32_t *numbers, uint32_t count);
void pmh_address_modules(const uint32_t *numbers, uint32_t count, const char *path);

/* The number of a packed list of addresses (struct pm_entry_touches); 0: there is no room for more of them.
 */
uint32_t pmh_touches_number(const uint8_t *bytes, uint32_t byte_count);

/* A distinct range, by a hash of what it is; entry->number is filled in. */
uint32_t pmh_range_entry(uint64_t hash, struct pm_entry_range *entry);

/* Entries that have no number (entry.c), and how they are written: a fixed part and what follows it. */
void pmh_write_entry(
	enum pm_entry_type type, const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes);
void pmh_note(const char *text);
void pmh_note_of(const char *key, const char *text); /* "key: text" */
void pmh_window_entry(bool open, uint32_t iteration);
void pmh_turn_entry(bool is_recorded, uint64_t ns, uint32_t calls);
void pmh_range_window_entry(bool recorded);
void pmh_device_window_entry(bool taken, uint32_t share, uint64_t ticks);
void pmh_device_entry(const struct pm_entry_device *device, const char *name);

/*
 * An operation: the function (enum pm_call), whose own entry comes first, the call site ("": unknown) and the
 * values after the function's number. hash: of all of it (pmh_hash_words).
 */
uint32_t pmh_operation_entry(
	uint64_t hash, uint32_t function, const char *site, const uint64_t *values, unsigned value_count);
void pmh_placed_entry(uint32_t operation, uint32_t base);
void pmh_module_entry(uint32_t operation, const char *path);

/* Where in Python it was called (struct pm_entry_python). line: the string of all its calls, 0: `innermost`
 * is that of the first. */
void pmh_python_entry(
	uint32_t operation, uint32_t flags, uint32_t line, const char *innermost, const char *outermost);

/* A compiled program of XLA: its number, its instructions (tail: ids and the name), its schedules, and at
 * last itself. */
uint32_t pmh_hlo_module_number(void);
void pmh_hlo_instruction_entry(
	const struct pm_entry_hlo_instruction *instruction, const void *tail, size_t tail_bytes);
void pmh_hlo_schedule_entry(const struct pm_entry_hlo_schedule *schedule, const uint64_t *instructions);
void pmh_hlo_module_entry(const struct pm_entry_hlo_module *module, const uint32_t *aliases);

uint32_t pmh_operation_count(void); /* so far */

/* In a child after fork. */
void pmh_intern_forget(void);

#endif
