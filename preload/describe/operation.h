/*
 * Operations: a function with the values of a call, and where it was called. Each distinct one is described
 * once. Any thread; errno stays.
 */
#ifndef OPERATION_H
#define OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "trace/intern.h"

/*
 * The number of the operation with these values; values[0] is the function (enum pm_call). A new one is
 * written to the trace, with its call site. When the table is full, addresses are left out, then all values;
 * that is counted.
 *
 * caller: an address in the program, which tells apart calls whose values say nothing of what they are for,
 * such as waiting for a stream, which a program does in many places; NULL: one operation wherever it is
 * called. Its text has the whole call site, of the first such call.
 */
uint32_t pmh_new_operation(uint64_t hash, const uint64_t *values, unsigned value_count, uint32_t line);
PMH_INLINE uint32_t pmh_operation_of_caller(const uint64_t *values, unsigned value_count, const void *caller)
{
	uint64_t hash = pmh_hash_words(PM_ENTRY_OPERATION ^ (uint64_t)(uintptr_t)caller, values, value_count);
	uint32_t number = pmh_found(hash);

	return __builtin_expect(number != 0, 1) ? number : pmh_new_operation(hash, values, value_count, 0);
}

PMH_INLINE uint32_t pmh_operation(const uint64_t *values, unsigned value_count)
{
	return pmh_operation_of_caller(values, value_count, NULL);
}

/* The same with the line of Python that it is called in (python/python_line.h); 0: one operation wherever it
 * is called. */
PMH_INLINE uint32_t pmh_operation_at_line(const uint64_t *values, unsigned value_count, uint32_t line)
{
	uint64_t hash = pmh_hash_words(PM_ENTRY_OPERATION ^ (uint64_t)line << 32, values, value_count);
	uint32_t number = pmh_found(hash);

	return __builtin_expect(number != 0, 1) ? number : pmh_new_operation(hash, values, value_count, line);
}

/* Whether pmh_coarse_hash is wanted; set before anything is recorded. */
extern bool pmh_coarse_kept;

/* A hash of an operation without any address; 0 where it was not kept. */
uint64_t pmh_coarse_hash(uint32_t op);
static inline bool pmh_coarse_is_input(uint64_t coarse_hash) /* a copy from the host */
{
	return coarse_hash & 2;
}

#endif
