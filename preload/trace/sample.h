/*
 * When launches are looked at for the memory that they touch: all of them, none (PMHOOK_FLOW), or samples:
 * the first ones of the run, and fewer each time the trace has doubled. A sample is longer than some
 * iterations are, and all of them together are bounded. Between samples those are looked at that are made
 * while a stream is captured: a graph is captured once, and what its kernels touch holds for each replay.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic unsigned pmh_sample_on; /* not 0: they are looked at */

void pmh_sample_begin(void);

/* Whether a stream is being captured. Under the lock of those. */
void pmh_sample_captures(bool under_way);

/* Counts a launch; false: the sample is over. Any thread. */
bool pmh_sample_take(void);

/* For good: there is no room for more. */
void pmh_sample_end(void);

/* The trace has grown to so many bytes. Under its lock. */
void pmh_sample_grown(uint64_t byte_count);

#endif
