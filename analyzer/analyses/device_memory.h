/*
 * The device memory that a run took, by its recorded allocations. They have their sizes, but what is given
 * back has none: the most that was taken at once is the sum of all only where nothing was given back in
 * between, as in programs that allocate once or keep what they have.
 */
#ifndef ANALYSES_DEVICE_MEMORY_H
#define ANALYSES_DEVICE_MEMORY_H

#include "reconstruct/analysis.h"

struct device_memory {
	double bytes;    /* on the device that took most, over the processes; NaN: not known */
	const char *why; /* a static sentence where it is not known; else NULL */
};

/* Any thread; the analysis is only read. */
struct device_memory device_memory(const struct analysis *analysis);

#endif
