/*
 * Device time of calls from pairs of events around them. Any thread, for itself.
 */
#ifndef EVENT_TIME_H
#define EVENT_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/thread.h"
#include "pm_abi.h"

/* Whether device times are wanted. CUDA's functions for them may be found later. */
extern bool pmh_device_timed;

void pmh_device_init(void);
void pmh_device_found(void); /* they are: says so in the trace */
void pmh_device_forget(void);

/* Begins and ends an interval of device time around a call; ring NULL: there is none. */
struct pmh_interval pmh_device_begin(struct pmh_thread *self, int device, cudaStream_t stream);
void pmh_device_end(struct pmh_interval interval, cudaStream_t stream, uint32_t op, uint32_t correlation,
	uint16_t queue, uint8_t flags);

/* Collects what is ready, of all threads. Never waits for the device. all: at the end, so wait for our own
 * lock. */
void pmh_device_collect(struct pmh_thread *self, bool all);
void pmh_device_leave(struct pmh_thread *self);

/* At exit: collects what is ready, counts the rest as lost. */
void pmh_device_finish(struct pmh_thread *self);

/* Around a call that may take a device's context away, and with it all events: between the two none is
 * touched. */
void pmh_device_going(struct pmh_thread *self, int device);
void pmh_device_went(int device, bool gone);
uint64_t pmh_device_times(void); /* written as records */

/* What is not recorded, because the call did not return: gives back the pair of events. */
void pmh_device_left(struct pmh_interval interval);

#endif
