/*
 * Operations: a function with the values of a call that say what the work is, and where it was called. Each
 * distinct one is described once. Any thread; errno stays.
 */
#ifndef OPERATION_H
#define OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "trace/intern.h"
#include "trace/sample.h"

/*
 * Whether a value says what the work is. Addresses do not: they are no part of an operation, so that a loop
 * which does the same has the same operations, whatever its allocator does.
 */
PMH_INLINE bool pmh_is_kept(enum pm_value value)
{
	return value != PM_VALUE_READS && value != PM_VALUE_WRITES && value != PM_VALUE_WEIGHT &&
	       value != PM_VALUE_GRAD && value != PM_VALUE_ADDRESS;
}

/*
 * The number of the operation with these values; values[0] is the function (enum pm_call). A new one is
 * written to the trace, with its call site. When the table is full, all values are left out; that is counted.
 *
 * caller: an address in the program, and the line of Python (python/python_line.h), which tell apart calls
 * whose values say nothing of what they are for, such as waiting for a stream, which a program does in many
 * places; NULL and 0: one operation wherever it is called. Its text has the whole call site, of the first
 * such call.
 */
uint32_t pmh_new_operation(
	uint64_t hash, const uint64_t *values, unsigned value_count, uint32_t line, bool has_addresses);
PMH_INLINE uint32_t pmh_operation_of_caller(
	const uint64_t *values, unsigned value_count, const void *caller, uint32_t line)
{
	/* an address has 47 bits, the number of a string rarely more than 17 */
	const uint64_t place = (uint64_t)(uintptr_t)caller ^ (uint64_t)line << 47 ^ line >> 17;
	uint64_t hash = pmh_hash_words(PM_ENTRY_OPERATION ^ place, values, value_count);
	uint32_t number = pmh_found(hash);

	return __builtin_expect(number != 0, 1) ? number
						: pmh_new_operation(hash, values, value_count, line, false);
}

PMH_INLINE uint32_t pmh_operation(const uint64_t *values, unsigned value_count)
{
	return pmh_operation_of_caller(values, value_count, NULL, 0);
}

PMH_INLINE uint64_t pmh_operation_seed(uint32_t line)
{
	return PM_ENTRY_OPERATION ^ (uint64_t)line << 32;
}

/*
 * The same of values among which are addresses, as `kept` says, and with the line of Python that it is called
 * in (python/python_line.h); 0: one operation wherever it is called. In a sample (trace/sample.h) the number
 * is that of the operation with its addresses.
 */
uint32_t pmh_sampled_operation(uint64_t hash, const uint64_t *values, unsigned value_count, uint32_t line);
PMH_INLINE uint32_t pmh_operation_of_work(
	const uint64_t *values, const bool *kept, unsigned value_count, uint32_t line)
{
	const uint64_t hash = pmh_hash_kept(pmh_operation_seed(line), values, kept, value_count);
	bool has_addresses = false;
	uint32_t number;

#pragma GCC unroll 32
	for (unsigned i = 0; i < value_count; i++)
		has_addresses |= !kept[i];
	if (has_addresses &&
		__builtin_expect(atomic_load_explicit(&pmh_sample_on, memory_order_relaxed) != 0, 0))
		return pmh_sampled_operation(hash, values, value_count, line);
	number = pmh_found(hash);
	return __builtin_expect(number != 0, 1)
		       ? number
		       : pmh_new_operation(hash, values, value_count, line, has_addresses);
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
