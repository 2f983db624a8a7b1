/* Random numbers: see random.h. */
#include "random.h"

#include <math.h>

uint64_t random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t split_mix(uint64_t *state)
{
	return random_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

void random_init(struct random *random, uint64_t seed, uint64_t stream)
{
	uint64_t state = seed;

	state = split_mix(&state) ^ (stream * UINT64_C(0xd1342543de82ef95) + 1);
	for (size_t i = 0; i < 4; i++)
		random->state[i] = split_mix(&state);
	random->spare = NAN;
}

static uint64_t rotate(uint64_t x, int by)
{
	return (x << by) | (x >> (64 - by));
}

uint64_t random_bits(struct random *random)
{
	uint64_t *s = random->state, result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

double random_unit(struct random *random)
{
	return (double)(random_bits(random) >> 11) * 0x1p-53;
}

size_t random_below(struct random *random, size_t bound)
{
	/* the bias is below bound / 2^64 */
	return (size_t)(((unsigned __int128)random_bits(random) * bound) >> 64);
}

double random_normal(struct random *random)
{
	double u, v, s;

	if (!isnan(random->spare)) {
		u = random->spare;
		random->spare = NAN;
		return u;
	}
	do {
		u = 2 * random_unit(random) - 1;
		v = 2 * random_unit(random) - 1;
		s = u * u + v * v;
	} while (s >= 1 || s == 0);
	s = sqrt(-2 * log(s) / s);
	random->spare = v * s;
	return u * s;
}

double random_cauchy(struct random *random)
{
	/* the quotient of two coordinates in the unit circle has this distribution, without a tangent */
	double u, v, s;

	do {
		u = 2 * random_unit(random) - 1;
		v = 2 * random_unit(random) - 1;
		s = u * u + v * v;
	} while (s >= 1 || v == 0);
	return u / v;
}

void random_shuffle(struct random *random, size_t *items, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = random_below(random, i), item = items[i - 1];

		items[i - 1] = items[j];
		items[j] = item;
	}
}
