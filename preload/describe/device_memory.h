/*
 * The device memory that the process has, by what it allocates: which words among a launch's arguments are
 * device addresses. Any thread.
 */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/attribute.h"

/* Memory was allocated or mapped; before it is freed it is known no more. errno stays. */
void pmh_memory_known(const void *begin, size_t byte_count);
void pmh_memory_opened(const void *begin); /* another process's, which the driver knows the size of */
void pmh_memory_gone(const void *begin);
void pmh_memory_unmapped(const void *begin, size_t byte_count); /* all that was mapped there, in pieces */

/* A look at what is known, which takes no lock: what it says holds if it is whole when it ends. */
struct pmh_memory_look {
	uint32_t change, count;
	uint64_t first, span; /* from the lowest address known to the highest */
	uint64_t begin, size; /* the range that was hit last */
};
void pmh_memory_look(struct pmh_memory_look *look);
bool pmh_memory_is_whole(const struct pmh_memory_look *look);

bool pmh_memory_find(struct pmh_memory_look *look, uint64_t word);
PMH_INLINE bool pmh_memory_holds(struct pmh_memory_look *look, uint64_t word)
{
	if (__builtin_expect(word - look->first >= look->span, 1))
		return false;
	return word - look->begin < look->size || pmh_memory_find(look, word);
}

/* In a child after fork: the memory is its parent's. */
void pmh_memory_forget(void);

#endif
