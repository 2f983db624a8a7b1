/*
 * Random numbers that are the same on every machine: xoshiro256++ (Blackman and Vigna), its state filled by
 * splitmix64 from a seed. Each run has its own, so that nothing depends on the order of threads.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t state[4];
	double spare; /* the other normal number of a pair, NAN if there is none */
};

/* `stream` tells apart what is drawn for different purposes from one seed. */
void random_init(struct random *random, uint64_t seed, uint64_t stream);
uint64_t random_bits(struct random *random);
double random_unit(struct random *random);                /* [0, 1) */
size_t random_below(struct random *random, size_t bound); /* 0 .. bound - 1 */
double random_normal(struct random *random);
double random_cauchy(struct random *random);
void random_shuffle(struct random *random, size_t *items, size_t count);

/* splitmix64's last step: one number of 64 bits for another, of which each bit depends on all; for hashes. */
uint64_t random_mix(uint64_t x);

#endif
