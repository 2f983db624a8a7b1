/*
 * Calls for syscalls.sh and new_cost.sh, on a library whose functions return at once: `steady N` makes N
 * steps that are all alike, `fresh N` N operations of which each is new, `fresh_for MS` so for some time,
 * `late MS` four of them after some time without any.
 * Also a library, for syscalls.py.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pm_abi.h"
#include "pm_hooks.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define VISIBLE __attribute__((visibility("default"), noinline))

VISIBLE void steady(long steps);
VISIBLE void fresh(long first, long count);
VISIBLE void in_frames_with_cleanup(int n);

static volatile int cleaned;

static __attribute__((noinline)) void clean(int *n)
{
	cleaned = *n;
}

/* The frame has a routine for exceptions, as those of C++ have. */
VISIBLE void in_frames_with_cleanup(int n)
{
	int kept __attribute__((cleanup(clean))) = n;
	float value[4] = {1, 2, 3, 4};

	cublasSscal_v2((cublasHandle_t)(uintptr_t)64, n, value, value + 1, 1);
	kept++;
}

void fresh(long first, long count)
{
	for (long i = 0; i < count; i++)
		in_frames_with_cleanup((int)(first + i));
}

/* The table of each step's copy lies on the stack, as a program's that copies a few words does. */
void steady(long steps)
{
	uint64_t value = 1, table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	void *args[] = {&value};

	for (long i = 0; i < steps; i++) {
		for (unsigned grid = 1; grid <= 4; grid++)
			cuLaunchKernel((CUfunction)(uintptr_t)64, grid, 1, 1, 32, 1, 1, 0, (CUstream)0x1000,
				args, NULL);
		cudaMemcpyAsync((void *)(uintptr_t)0x700000, table, sizeof table, cudaMemcpyHostToDevice,
			(cudaStream_t)0x1000);
		in_frames_with_cleanup(1000);
		cudaStreamSynchronize((cudaStream_t)0x1000);
	}
}

static double now_ms(void)
{
	struct timespec t;

	/* what CLOCK_MONOTONIC says here may go faster (fast_clock.c) */
	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
	const long n = argc > 2 ? atol(argv[2]) : 0;
	const double begin_ms = now_ms();

	if (argc > 2 && strcmp(argv[1], "steady") == 0) {
		steady(n);
	} else if (argc > 2 && strcmp(argv[1], "fresh") == 0) {
		fresh(1000, n);
	} else if (argc > 2 && strcmp(argv[1], "fresh_for") == 0) {
		for (long first = 1000; now_ms() - begin_ms < (double)n && first < 20000; first += 10)
			fresh(first, 10);
	} else if (argc > 2 && strcmp(argv[1], "late") == 0) {
		nanosleep(&(struct timespec){.tv_nsec = n * 1000000}, NULL);
		fresh(1000, 4);
	} else {
		return 2;
	}
	return 0;
}
