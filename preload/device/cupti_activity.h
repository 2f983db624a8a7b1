/*
 * CUPTI's records, as records of the trace. All of it is called by our one thread (cupti_thread.c), but for
 * what is said to be for any.
 */
#ifndef CUPTI_ACTIVITY_H
#define CUPTI_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/thread.h"
#include "pm_cupti.h"

/* Ours alone: frameworks push theirs under CUSTOM0 and CUSTOM1. */
#define PMH_EXTERNAL_KIND CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2

/* An external id is a call in one word: its correlation, queue, flags and device. Never 0. */
static inline uint64_t pmh_external_id(uint32_t correlation, uint16_t queue, uint8_t flags, int device)
{
	return correlation | (uint64_t)queue << 32 | (uint64_t)flags << 48 | (uint64_t)(uint8_t)device << 56;
}
static inline uint16_t pmh_external_queue(uint64_t id)
{
	return (uint16_t)(id >> 32);
}
static inline uint8_t pmh_external_flags(uint64_t id)
{
	return (uint8_t)(id >> 48);
}
static inline uint8_t pmh_external_device(uint64_t id)
{
	return (uint8_t)(id >> 56);
}

/* Memory for the tables; false: there is none. Any thread, before the others. */
bool pmh_activity_init(void);

/* A record of CUPTI's: of its call, if it is an external correlation; or of work, which is passed over if its
 * kind says nothing here. */
void pmh_activity_link(const CUpti_Activity *record);
void pmh_activity_record(const CUpti_Activity *record);

/* The end of a round of records: writes what is no longer worth waiting for. all: everything. */
void pmh_activity_settle(bool all);

/* True when calls were announced to CUPTI and activities came, but nothing joined the two. */
bool pmh_activity_unjoined(void);

/* A device stream's number in CUPTI's words. Any thread. */
void pmh_activity_stream(int device, uint32_t stream_id, uint16_t queue);

/* The calls of a group, so that an activity finds the first on its own queue. Any thread. */
void pmh_activity_group(const struct pmh_grouped *calls, unsigned call_count);

/* A reading of CUPTI's clock at some time of ours; half_width_ns: how far off it may be. */
void pmh_activity_clock(uint64_t cupti_ns, uint64_t monotonic_ns);

/* Counts; any thread. */
uint64_t pmh_activity_times(void);
uint64_t pmh_activity_joined(void); /* different calls that activities were found for, nearly */
void pmh_activity_forget(void);

#endif
