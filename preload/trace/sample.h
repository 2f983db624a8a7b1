/*
 * When calls are looked at for the device memory that they work on: library calls by their pointers
 * (describe/operation.h), launches of kernels and tables that are copied for them by their words
 * (describe/touch.h). All of them (PMHOOK_FLOW=all), or samples: the first calls of the run until its loop
 * has been seen several times, so long as there is nothing new; again wherever there is something new; and
 * each time the trace has doubled. With PMHOOK_FLOW=off the same without kernels. A sample is longer than
 * some iterations are, and each is bounded. Between samples those calls are looked at that are made while a
 * stream is captured: a graph is captured once, and what its kernels touch holds for each replay.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic unsigned pmh_sample_on;  /* not 0: calls are looked at */
extern _Atomic bool pmh_sample_kernels; /* launches and tables, too */

void pmh_sample_begin(void);

/* Recording begins or ends with a window (call/window.h). */
void pmh_sample_window(bool open);

/* Whether a stream is being captured. Under the lock of those. */
void pmh_sample_captures(bool under_way);

/* Counts a call; false: the sample is over. Any thread. */
bool pmh_sample_take(void);

/* The call under way is an operation that was not seen before: the sample is longer, or another begins. Any
 * thread. */
void pmh_sample_new(void);

/* For good: there is no room for more addresses. */
void pmh_sample_end_kernels(void);

/* The trace has grown to so many bytes. Under its lock. */
void pmh_sample_grown(uint64_t byte_count);

#endif
