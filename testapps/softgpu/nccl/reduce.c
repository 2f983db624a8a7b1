/*
 * Arithmetic of the collectives. Ranks are combined in rank order, so that a result is the same on every rank
 * and in every run; half-width floats are summed in single precision and rounded once.
 */
#include <string.h>

#include "nccl_private.h"

#define BLOCK 512

static float from_bfloat(uint16_t x)
{
	uint32_t bits = (uint32_t)x << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Round to nearest, ties to even. */
static uint16_t to_bfloat(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_half(uint16_t x)
{
	uint32_t sign = (uint32_t)(x & 0x8000) << 16, exponent = x >> 10 & 31, fraction = x & 0x3ff, bits;
	float f;

	if (exponent == 0) {
		/* Zero or subnormal: fraction * 2^-24, exact in single precision. */
		f = (float)fraction * 0x1p-24f;
		return sign ? -f : f;
	}
	bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

static uint16_t to_half(float f)
{
	uint32_t bits, magnitude, rounded;
	uint16_t sign;

	memcpy(&bits, &f, sizeof(bits));
	sign = (uint16_t)(bits >> 16 & 0x8000);
	magnitude = bits & 0x7fffffff;
	if (magnitude > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (magnitude >= 0x477ff000) /* rounds to 2^16 or more */
		return (uint16_t)(sign | 0x7c00);
	if (magnitude < 0x38800000) { /* subnormal: adding 0.5 leaves the rounded fraction in the low bits */
		float shifted;

		memcpy(&shifted, &magnitude, sizeof(shifted));
		shifted += 0.5f;
		memcpy(&rounded, &shifted, sizeof(rounded));
		return (uint16_t)(sign | (rounded - 0x3f000000));
	}
	rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
	return (uint16_t)(sign | ((rounded - 0x38000000) >> 13));
}

/* Sign-extended, so that comparing and dividing are right, and unsigned, so that sums wrap. */
static uint32_t widen(int8_t x)
{
	return (uint32_t)(int32_t)x;
}

#define REDUCE_CAT(x, y) x##_##y
#define REDUCE_CAT2(x, y) REDUCE_CAT(x, y)
#define REDUCE_NAME(x) REDUCE_CAT2(x, NAME)

#define NAME int8
#define T int8_t
#define A uint32_t
#define ORDER int32_t
#define LOAD(x) widen(x)
#define STORE(x) ((int8_t)(uint8_t)(x))
#include "reduce.inc"

#define NAME uint8
#define T uint8_t
#define A uint32_t
#define ORDER uint32_t
#define LOAD(x) ((uint32_t)(x))
#define STORE(x) ((uint8_t)(x))
#include "reduce.inc"

#define NAME int32
#define T int32_t
#define A uint32_t
#define ORDER int32_t
#define LOAD(x) ((uint32_t)(x))
#define STORE(x) ((int32_t)(x))
#include "reduce.inc"

#define NAME uint32
#define T uint32_t
#define A uint32_t
#define ORDER uint32_t
#define LOAD(x) (x)
#define STORE(x) (x)
#include "reduce.inc"

#define NAME int64
#define T int64_t
#define A uint64_t
#define ORDER int64_t
#define LOAD(x) ((uint64_t)(x))
#define STORE(x) ((int64_t)(x))
#include "reduce.inc"

#define NAME uint64
#define T uint64_t
#define A uint64_t
#define ORDER uint64_t
#define LOAD(x) (x)
#define STORE(x) (x)
#include "reduce.inc"

#define NAME float32
#define T float
#define A float
#define ORDER float
#define LOAD(x) (x)
#define STORE(x) (x)
#include "reduce.inc"

#define NAME float64
#define T double
#define A double
#define ORDER double
#define LOAD(x) (x)
#define STORE(x) (x)
#include "reduce.inc"

#define NAME float16
#define T uint16_t
#define A float
#define ORDER float
#define LOAD(x) from_half(x)
#define STORE(x) to_half(x)
#include "reduce.inc"

#define NAME bfloat16
#define T uint16_t
#define A float
#define ORDER float
#define LOAD(x) from_bfloat(x)
#define STORE(x) to_bfloat(x)
#include "reduce.inc"

size_t nccl_type_bytes(ncclDataType_t type)
{
	switch (type) {
	case ncclInt8:
	case ncclUint8:
		return 1;
	case ncclFloat16:
	case ncclBfloat16:
		return 2;
	case ncclInt32:
	case ncclUint32:
	case ncclFloat32:
		return 4;
	case ncclInt64:
	case ncclUint64:
	case ncclFloat64:
		return 8;
	default:
		return 0;
	}
}

void nccl_reduce(void *to, const char *from, size_t stride_bytes, int rank_count, size_t count,
	ncclDataType_t type, ncclRedOp_t op)
{
	switch (type) {
	case ncclInt8:
		reduce_int8(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclUint8:
		reduce_uint8(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclInt32:
		reduce_int32(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclUint32:
		reduce_uint32(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclInt64:
		reduce_int64(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclUint64:
		reduce_uint64(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclFloat16:
		reduce_float16(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclFloat32:
		reduce_float32(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclFloat64:
		reduce_float64(to, from, stride_bytes, rank_count, count, op);
		break;
	case ncclBfloat16:
		reduce_bfloat16(to, from, stride_bytes, rank_count, count, op);
		break;
	default:
		break;
	}
}

void nccl_scale(void *to, const void *from, size_t count, ncclDataType_t type, const void *scalar)
{
	union {
		int8_t int8;
		uint8_t uint8;
		int32_t int32;
		uint32_t uint32;
		int64_t int64;
		uint64_t uint64;
		float float32;
		double float64;
		uint16_t float16, bfloat16;
	} factor;

	memcpy(&factor, scalar, nccl_type_bytes(type));
	switch (type) {
	case ncclInt8:
		scale_int8(to, from, count, factor.int8);
		break;
	case ncclUint8:
		scale_uint8(to, from, count, factor.uint8);
		break;
	case ncclInt32:
		scale_int32(to, from, count, factor.int32);
		break;
	case ncclUint32:
		scale_uint32(to, from, count, factor.uint32);
		break;
	case ncclInt64:
		scale_int64(to, from, count, factor.int64);
		break;
	case ncclUint64:
		scale_uint64(to, from, count, factor.uint64);
		break;
	case ncclFloat16:
		scale_float16(to, from, count, factor.float16);
		break;
	case ncclFloat32:
		scale_float32(to, from, count, factor.float32);
		break;
	case ncclFloat64:
		scale_float64(to, from, count, factor.float64);
		break;
	case ncclBfloat16:
		scale_bfloat16(to, from, count, factor.bfloat16);
		break;
	default:
		break;
	}
}
