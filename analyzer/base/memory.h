/*
 * Memory for a program that cannot go on without it: each function here succeeds or ends the program with a
 * message.
 *
 * An arena hands out memory that is freed all at once. What belongs to a trace or a timeline comes from its
 * arena, what grows is an array of plain structs that `mem_grow` doubles.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *mem_alloc(size_t count, size_t item_bytes); /* zeroed; the caller frees it */

/* Room for one more item after the `count` there are; answers the array, perhaps moved. */
void *mem_grow(void *array, size_t count, size_t *room, size_t item_bytes);

#define MEM_PUSH(array, count, room) \
	((array) = mem_grow((array), (count), &(room), sizeof(*(array))), &(array)[(count)++])

/* Place `at` of an array that grows, which is NULL while it is empty: then it is NULL too. */
#define MEM_AT(array, at) ((array) ? (array) + (at) : NULL)

/* Room for `more` items after the `count` there are, just so many the first time: for what is counted beforehand, and is
 * much. Asked for again and again it is half as much again each time, so that it is not copied as often. */
void mem_reserve(void **array, size_t count, size_t *room, size_t item_bytes, uint64_t more);

struct arena {
	struct arena_block *last;
};

void *arena_alloc(struct arena *arena, size_t count, size_t item_bytes); /* zeroed */
char *arena_text(struct arena *arena, const char *text, size_t length);  /* a copy, terminated */
char *arena_format(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3), nonnull(2)));
void arena_free(struct arena *arena);

/* One step of a 64-bit hash over words; begin with MEM_HASH_START. */
#define MEM_HASH_START 0x9e3779b97f4a7c15ull
static inline uint64_t mem_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0xff51afd7ed558ccdull;
	return hash ^ (hash >> 32);
}

/* Goes on with bytes, eight at a time. */
static inline uint64_t mem_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const char *at = bytes;
	uint64_t word;

	for (hash = mem_hash(hash, count); count >= sizeof(word); at += sizeof(word), count -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = mem_hash(hash, word);
	}
	word = 0;
	memcpy(&word, at, count);
	return mem_hash(hash, word);
}

static inline uint64_t mem_hash_text(uint64_t hash, const char *text)
{
	return mem_hash_bytes(hash, text, strlen(text));
}

#endif
