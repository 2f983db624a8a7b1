/* Texts kept once: see intern.h. */
#include "intern.h"

#include <stdlib.h>
#include <string.h>

uint32_t intern_text(struct intern *intern, const char *text, size_t length)
{
	uint64_t hash;
	uint32_t i;

	if (intern->count == 0)
		*MEM_PUSH(intern->items, intern->count, intern->room) = "";
	if (length == 0 || (length = strnlen(text, length)) == 0)
		return 0;
	hash = mem_hash_bytes(MEM_HASH_START, text, length);
	for (size_t at = 0; (i = lookup_next(&intern->lookup, hash, &at)) != LOOKUP_NONE;)
		if (strncmp(intern->items[i], text, length) == 0 && !intern->items[i][length])
			return i;
	lookup_add(&intern->lookup, hash, (uint32_t)intern->count);
	*MEM_PUSH(intern->items, intern->count, intern->room) = arena_text(&intern->arena, text, length);
	return (uint32_t)intern->count - 1;
}

void intern_free(struct intern *intern)
{
	free(intern->items);
	lookup_free(&intern->lookup);
	arena_free(&intern->arena);
	*intern = (struct intern){0};
}
