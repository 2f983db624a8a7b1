/*
 * Prints how long a launch takes, in ns, on a library whose functions return at once, of kernels with few and
 * with many pointers among their arguments; flow_cost.sh runs it with and without samples. Each number is the
 * median over rounds of the mean of a round.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_clock.h"
#include "pm_abi.h"
#include "pm_hooks.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define ROUNDS 15
#define LAUNCHES 1000
#define BLOCKS 64 /* of device memory, as a framework's allocator has them */
#define BLOCK_BYTES (20u << 20)
#define FIRST_BLOCK 0x7f1000000000u
#define MOST 512

/* Kernel n has one argument of so many words (param_info.c). */
static const unsigned words[] = {4, 64, MOST};
#define KERNELS (sizeof words / sizeof words[0])

static uint64_t block(unsigned i)
{
	return FIRST_BLOCK + (uint64_t)(i % BLOCKS) * 2 * BLOCK_BYTES;
}

/* Tensors lie one after another, some in a block. */
static uint64_t tensor(unsigned i)
{
	return block(i / 32) + 65536 * (uint64_t)(i % 32);
}

/* A fifth of the words are addresses of a few words, all of many. */
static double launch(unsigned kernel, double *rounds)
{
	static uint64_t values[MOST];
	void *args[] = {values};

	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ns();

		for (int i = 0; i < LAUNCHES; i++) {
			for (unsigned w = 0; w < words[kernel]; w += words[kernel] == 64 ? 5 : 1)
				values[w] = tensor(w + (unsigned)(i % 16));
			cuLaunchKernel((CUfunction)(uintptr_t)(64 * (kernel + 1)), 1, 1, 1, 32, 1, 1, 0,
				(CUstream)0x1000, args, NULL);
		}
		rounds[round] = (now_ns() - begin) / LAUNCHES;
	}
	qsort(rounds, ROUNDS, sizeof *rounds, by_value);
	return rounds[ROUNDS / 2];
}

int main(void)
{
	double rounds[ROUNDS];

	for (unsigned i = 0; i < BLOCKS; i++) {
		CUdeviceptr address = block(i);

		cuMemAlloc_v2(&address, BLOCK_BYTES);
	}
	for (unsigned k = 0; k < KERNELS; k++) {
		CUfunction function = (CUfunction)(uintptr_t)(64 * (k + 1));

		cuModuleGetFunction(&function, NULL, "kernel");
		printf("%s%.1f", k ? " " : "", launch(k, rounds));
	}
	puts("");
	return 0;
}
