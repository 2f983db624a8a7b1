/* A seeded random number generator, alike on all machines. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/* The next number, uniform in [0,1), of the sequence in *state; any state is a good seed (SplitMix64). */
static inline double random_uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Leaves `count` numbers of the sequence out. */
static inline void random_skip(uint64_t *state, uint64_t count)
{
	*state += 0x9e3779b97f4a7c15u * count;
}

#endif
