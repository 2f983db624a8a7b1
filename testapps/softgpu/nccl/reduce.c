/*
 * Arithmetic of the collectives. Ranks are combined in rank order, so that a result is the same on every rank
 * and in every run; half-width floats are summed in single precision and rounded once.
 */
#include <string.h>

#include "core/half.h"
#include "nccl_private.h"

#define BLOCK 512

#define REDUCE_CAT(x, y) x##_##y
#define REDUCE_CAT2(x, y) REDUCE_CAT(x, y)
#define REDUCE_NAME(x) REDUCE_CAT2(x, NAME)

/* Sign-extended, so that comparing and dividing are right, and unsigned, so that sums wrap. */
static uint32_t widen(int8_t x)
{
	return (uint32_t)(int32_t)x;
}

#define NAME int8
#define T int8_t
#define A uint32_t
#define ORDER int32_t
#define LOAD(x) widen(x)
#include "reduce.inc"

#define NAME uint8
#define T uint8_t
#define A uint32_t
#include "reduce.inc"

#define NAME int32
#define T int32_t
#define A uint32_t
#define ORDER int32_t
#include "reduce.inc"

#define NAME uint32
#define T uint32_t
#define A uint32_t
#include "reduce.inc"

#define NAME int64
#define T int64_t
#define A uint64_t
#define ORDER int64_t
#include "reduce.inc"

#define NAME uint64
#define T uint64_t
#define A uint64_t
#include "reduce.inc"

#define NAME float32
#define T float
#define A float
#include "reduce.inc"

#define NAME float64
#define T double
#define A double
#include "reduce.inc"

#define NAME float16
#define T uint16_t
#define A float
#define LOAD(x) sg_float_from_half(x)
#define STORE(x) sg_half_from_float(x)
#include "reduce.inc"

#define NAME bfloat16
#define T uint16_t
#define A float
#define LOAD(x) sg_float_from_bfloat(x)
#define STORE(x) sg_bfloat_from_float(x)
#include "reduce.inc"

/* NCCL's type, the name of its loops above, how it is stored. */
#define TYPES(ROW) \
	ROW(ncclInt8, int8, int8_t) \
	ROW(ncclUint8, uint8, uint8_t) \
	ROW(ncclInt32, int32, int32_t) \
	ROW(ncclUint32, uint32, uint32_t) \
	ROW(ncclInt64, int64, int64_t) \
	ROW(ncclUint64, uint64, uint64_t) \
	ROW(ncclFloat16, float16, uint16_t) \
	ROW(ncclFloat32, float32, float) \
	ROW(ncclFloat64, float64, double) \
	ROW(ncclBfloat16, bfloat16, uint16_t)

size_t nccl_type_bytes(ncclDataType_t type)
{
#define BYTES(number, name, stored) \
	case number: \
		return sizeof(stored);
	switch (type) {
		TYPES(BYTES)
	default:
		return 0;
	}
}

void nccl_reduce(void *to, const char *from, size_t stride_bytes, int rank_count, size_t count,
	ncclDataType_t type, ncclRedOp_t op)
{
#define REDUCE(number, name, stored) \
	case number: \
		reduce_##name(to, from, stride_bytes, rank_count, count, op); \
		break;
	switch (type) {
		TYPES(REDUCE)
	default:
		break;
	}
}

void nccl_scale(void *to, const void *from, size_t count, ncclDataType_t type, const void *scalar)
{
#define FACTOR(number, name, stored) stored name;
	union {
		TYPES(FACTOR)
	} factor;
#define SCALE(number, name, stored) \
	case number: \
		scale_##name(to, from, count, factor.name); \
		break;

	memcpy(&factor, scalar, nccl_type_bytes(type));
	switch (type) {
		TYPES(SCALE)
	default:
		break;
	}
}
