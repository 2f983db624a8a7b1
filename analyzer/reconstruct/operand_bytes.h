/*
 * How large the operands of matrix and vector functions are: by the function's role, and by the numbers m, n,
 * k, batch, side and trans of its values.
 */
#ifndef RECONSTRUCT_OPERAND_BYTES_H
#define RECONSTRUCT_OPERAND_BYTES_H

#include "timeline/timeline.h"

/* Bytes of what is under a pointer's label ("a_ptr"), close together in memory; 0: not known. */
uint64_t operand_bytes(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label);

/* A product, and one of bytes, which is the most that any memory has, so that sizes from a damaged file stay
 * harmless. */
uint64_t operand_product(uint64_t a, uint64_t b);

#endif
