/*
 * Texts that are kept once: equal ones have one number and one address, so that they are compared by either.
 * Number 0 is the empty text.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "lookup.h"
#include "memory.h"

/* All zero: empty. */
struct intern {
	const char **items; /* by number; 0 of them before the first intern_text */
	size_t count, room;
	struct lookup lookup;
	struct arena arena; /* of the texts; others with the same lifetime may be put here too */
};

/* The number of a text, which ends at a zero or after `length` bytes; of none it may be NULL. */
uint32_t intern_text(struct intern *intern, const char *text, size_t length);

void intern_free(struct intern *intern);

#endif
