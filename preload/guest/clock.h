/*
 * The clock of host times. Any thread; errno stays.
 */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

#include "pm_format.h"

/* Chooses the clock; before any pmh_ticks. */
void pmh_clock_init(void);
extern uint32_t pmh_clock; /* enum pm_clock */

/* CLOCK_MONOTONIC. */
uint64_t pmh_monotonic_ns(void);

/* For how long the calling thread has had a processor. */
uint64_t pmh_processor_ns(void);

/* Both at one moment: of some readings the one that least came between, so that a thread that loses its
 * processor there does not shift a chunk's times. */
void pmh_clock_pair(uint64_t *ticks, uint64_t *monotonic_ns);

/* The chosen clock. */
static inline uint64_t pmh_ticks(void)
{
#ifdef __x86_64__
	if (pmh_clock == PM_CLOCK_TSC)
		return __builtin_ia32_rdtsc();
#endif
	return pmh_monotonic_ns();
}

#endif
