/* Memory that is there or the program ends: see memory.h. */
#include "memory.h"
#include "limit.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES ((size_t)64 << 10) /* at most, of blocks that double: there may be many small arenas */
#define FIRST_BYTES ((size_t)4 << 10)

struct arena_block {
	struct arena_block *before;
	size_t used_bytes;
	size_t bytes;
	_Alignas(16) char data[];
};

#define HUGE_BYTES ((size_t)2 << 20)

/* What is great comes in great pages where there are any: a fault for each small one would cost more than
 * what is done with it. */
static void *advise(void *memory, size_t count, size_t item_bytes)
{
	uintptr_t begin = ((uintptr_t)memory + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
	uintptr_t end = ((uintptr_t)memory + count * item_bytes) & ~(uintptr_t)(HUGE_BYTES - 1);

	if (count * item_bytes >= 4 * HUGE_BYTES && end > begin)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE);
	return memory;
}

/* Whoever asks for more than the inputs may cost gets no answer. */
static void limit(size_t count, size_t item_bytes)
{
	size_t bytes;
	const char *met =
		pm_limit_memory(__builtin_mul_overflow(count, item_bytes, &bytes) ? SIZE_MAX / 2 : bytes);

	if (met)
		errx(1, "%s", met);
}

void *mem_alloc(size_t count, size_t item_bytes)
{
	void *memory;

	limit(count, item_bytes);
	memory = calloc(count ? count : 1, item_bytes ? item_bytes : 1);

	if (!memory)
		errx(1, "out of memory: %zu items of %zu bytes", count, item_bytes);
	return advise(memory, count, item_bytes);
}

void *mem_grow(void *array, size_t count, size_t *room, size_t item_bytes)
{
	if (count < *room)
		return array;
	*room = *room ? *room * 2 : 16;
	limit(*room - count, item_bytes);
	array = reallocarray(array, *room, item_bytes);
	if (!array)
		errx(1, "out of memory: %zu items of %zu bytes", *room, item_bytes);
	return advise(array, *room, item_bytes);
}

void mem_reserve(void **array, size_t count, size_t *room, size_t item_bytes, uint64_t more)
{
	const size_t half_more = *room + *room / 2;

	if (more <= *room - count)
		return;
	limit(more, item_bytes);
	*room = count + more > half_more ? count + more : half_more;
	*array = reallocarray(*array, *room, item_bytes);
	if (!*array)
		errx(1, "out of memory: %zu items of %zu bytes", *room, item_bytes);
	advise(*array, *room, item_bytes);
}

void *arena_alloc(struct arena *arena, size_t count, size_t item_bytes)
{
	struct arena_block *block = arena->last;
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, item_bytes, &bytes) || bytes > SIZE_MAX / 2)
		errx(1, "out of memory: %zu items of %zu bytes", count, item_bytes);
	bytes = (bytes + 15) & ~(size_t)15;
	if (!block || block->bytes - block->used_bytes < bytes) {
		const size_t usual = !block                           ? FIRST_BYTES
				     : 2 * block->bytes < BLOCK_BYTES ? 2 * block->bytes
								      : BLOCK_BYTES;
		const size_t room = bytes > usual ? bytes : usual;

		block = mem_alloc(1, sizeof(*block) + room);
		block->bytes = room;
		block->before = arena->last;
		arena->last = block;
	}
	memory = block->data + block->used_bytes;
	block->used_bytes += bytes;
	return memory;
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1, 1);

	memcpy(copy, text, length);
	return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
	va_list list;
	char *text;
	int length;

	va_start(list, format);
	length = vsnprintf(NULL, 0, format, list);
	va_end(list);
	text = arena_alloc(arena, (size_t)length + 1, 1);
	va_start(list, format);
	vsnprintf(text, (size_t)length + 1, format, list);
	va_end(list);
	return text;
}

void arena_free(struct arena *arena)
{
	while (arena->last) {
		struct arena_block *block = arena->last;

		arena->last = block->before;
		free(block);
	}
}
