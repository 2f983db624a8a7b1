/*
 * Exponentials for loops over tensors. Included after SG_VECTORIZE_LOOPS, or they would not be taken into
 * such loops.
 *
 * The one idea: for float, arithmetic without branches or calls, which compilers turn into vector code, and
 * which gives the same bits on every machine. Accurate to about two units in the last place.
 */
#ifndef CUDNN_VECTOR_MATH_H
#define CUDNN_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* x = n ln 2 + r with |r| <= ln 2 / 2. Gives 2^n, and e^r - 1 by its series. */
static inline float sg_split_exponent_f32(float x, float *power_of_two)
{
	const float rounder = 12582912.0f; /* 1.5 * 2^23: adding it leaves no fraction */
	float below = x > -87.0f ? x : -87.0f;
	float clamped = below < 88.0f ? below : 88.0f;
	float n = (clamped * 1.44269504f + rounder) - rounder;
	float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
	uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
	float series = 1.0f / 5040;

	memcpy(power_of_two, &bits, sizeof(bits));
	series = series * r + 1.0f / 720;
	series = series * r + 1.0f / 120;
	series = series * r + 1.0f / 24;
	series = series * r + 1.0f / 6;
	series = series * r + 0.5f;
	return series * r * r + r;
}

static inline float sg_exp_f32(float x)
{
	float power;
	float series = sg_split_exponent_f32(x, &power);

	return x != x ? x : power * series + power;
}

static inline float sg_expm1_f32(float x)
{
	float power;
	float series = sg_split_exponent_f32(x, &power);

	return x != x ? x : power * series + (power - 1);
}

static inline float sg_tanh_f32(float x)
{
	float less = sg_expm1_f32(-2 * (x < 0 ? -x : x));
	float size = -less / (2 + less);

	return x < 0 ? -size : size;
}

static inline double sg_exp_f64(double x)
{
	return exp(x);
}

static inline double sg_expm1_f64(double x)
{
	return expm1(x);
}

static inline double sg_tanh_f64(double x)
{
	return tanh(x);
}

#endif
