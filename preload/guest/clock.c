/*
 * The hook's clock: the processor's time-stamp counter where it is invariant (constant rate, running in every
 * power state, the same on all cores), because reading it costs less than half of clock_gettime; else
 * CLOCK_MONOTONIC. Each chunk of the trace holds a pair of both, so readers can turn ticks into nanoseconds.
 */
#include "clock.h"

#include <time.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

uint32_t pmh_clock = PM_CLOCK_MONOTONIC;

void pmh_clock_init(void)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	if (__get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)))
		pmh_clock = PM_CLOCK_TSC;
#endif
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t pmh_monotonic_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t pmh_processor_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void pmh_clock_pair(uint64_t *ticks, uint64_t *monotonic_ns)
{
	uint64_t shortest = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = pmh_ticks(), ns = pmh_monotonic_ns(), length = pmh_ticks() - before;

		if (length >= shortest)
			continue;
		shortest = length;
		*ticks = before + length / 2;
		*monotonic_ns = ns;
	}
}
