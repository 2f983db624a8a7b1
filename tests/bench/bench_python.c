/*
 * How long a launch takes, in ns, on a library whose functions return at once: called by python_cost.py, from
 * one of Python's lines. Of the means of the rounds the least: others may work on the machine.
 */
#include <stdint.h>
#include <stdlib.h>

#include "bench_clock.h"
#include "pm_abi.h"
#include "pm_hooks.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define ROUNDS 200
#define LAUNCHES 5000

__attribute__((visibility("default"))) double launch_ns(void);

double launch_ns(void)
{
	double rounds[ROUNDS];
	uint64_t value = 1;
	void *args[] = {&value};

	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ns();

		for (int i = 0; i < LAUNCHES; i++)
			cuLaunchKernel((CUfunction)(uintptr_t)64, 1, 1, 1, 32, 1, 1, 0, (CUstream)0x1000,
				args, NULL);
		rounds[round] = (now_ns() - begin) / LAUNCHES;
	}
	qsort(rounds, ROUNDS, sizeof *rounds, by_value);
	return rounds[0];
}
