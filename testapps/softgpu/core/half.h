/*
 * Numbers of 16 bits, IEEE's and the truncated float called bfloat16, and of 8 bits, from and to float.
 *
 * The one idea: integer arithmetic on the bits, rounding to the nearest and ties to even, so that every
 * machine gives the same result.
 */
#ifndef SG_HALF_H
#define SG_HALF_H

#include <stdint.h>
#include <string.h>

static inline float sg_float_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t sg_bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float sg_float_from_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t fraction = half & 0x3ff;
	float size;

	if (exponent == 0x1f)
		return sg_float_from_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent == 0) {
		size = (float)fraction * 0x1p-24f;
		return sign != 0 ? -size : size;
	}
	return sg_float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

static inline float sg_float_from_bfloat(uint16_t bfloat)
{
	return sg_float_from_bits((uint32_t)bfloat << 16);
}

/* Drops the lowest `count` bits, rounding to the nearest, ties to even. */
static inline uint32_t sg_round_off(uint32_t bits, int count)
{
	uint32_t half = (UINT32_C(1) << (count - 1)) - 1;

	return (bits + half + ((bits >> count) & 1)) >> count;
}

static inline uint16_t sg_half_from_float(float value)
{
	uint32_t bits = sg_bits_of_float(value);
	uint32_t sign = (bits >> 16) & 0x8000;
	uint32_t size = bits & 0x7fffffff;

	if (size > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (size >= 0x47800000)
		return (uint16_t)(sign | 0x7c00);
	if (size >= 0x38800000)
		return (uint16_t)(sign | sg_round_off(size - 0x38000000, 13));
	/* Subnormal: adding a half places the last bit kept at the end of the float's fraction, and rounds.
	 */
	return (uint16_t)(sign | (sg_bits_of_float(sg_float_from_bits(size) + 0.5f) - 0x3f000000));
}

static inline uint16_t sg_bfloat_from_float(float value)
{
	uint32_t bits = sg_bits_of_float(value);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)sg_round_off(bits, 16);
}

/* Numbers of 8 bits have 3 bits of fraction and no infinity (E4M3), or the upper half of an IEEE half's bits
 * (E5M2). What is too large becomes the largest that there is. */
static inline float sg_float_from_e4m3(uint8_t number)
{
	int exponent = number >> 3 & 15, fraction = number & 7;
	float size;

	if ((number & 127) == 127)
		return sg_float_from_bits(0x7fc00000);
	size = exponent == 0
		       ? (float)fraction * 0x1p-9f
		       : sg_float_from_bits((uint32_t)(exponent + 120) << 23 | (uint32_t)fraction << 20);
	return number & 128 ? -size : size;
}

static inline float sg_float_from_e5m2(uint8_t number)
{
	return sg_float_from_half((uint16_t)(number << 8));
}

static inline uint8_t sg_e4m3_from_float(float value)
{
	uint32_t bits = sg_bits_of_float(value);
	uint32_t sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;

	if (size > 0x7f800000)
		return (uint8_t)(sign | 0x7f);
	if (size >= 0x43e00000) /* 448 */
		return (uint8_t)(sign | 0x7e);
	if (size >= 0x3c800000) /* the least that is normal */
		return (uint8_t)(sign | sg_round_off(size - 0x3c000000, 20));
	/* Subnormal: a multiple of 2^-9, which is the last place of numbers from 2^14 on. */
	return (uint8_t)(sign |
			 (sg_bits_of_float(sg_float_from_bits(size) + 0x1p14f) - sg_bits_of_float(0x1p14f)));
}

static inline uint8_t sg_e5m2_from_float(float value)
{
	uint32_t bits = sg_bits_of_float(value);
	uint32_t sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;

	if (size > 0x7f800000)
		return (uint8_t)(sign | 0x7f);
	if (size >= 0x47600000) /* 57344 */
		return (uint8_t)(sign | 0x7b);
	if (size >= 0x38800000)
		return (uint8_t)(sign | sg_round_off(size - 0x38000000, 21));
	/* A multiple of 2^-16, the last place from 2^7 on. */
	return (uint8_t)(sign |
			 (sg_bits_of_float(sg_float_from_bits(size) + 0x1p7f) - sg_bits_of_float(0x1p7f)));
}

#endif
