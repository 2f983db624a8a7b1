/*
 * What device_cupti.c (CUPTI itself: its use, its buffers, our thread) and device_activity.c (what its
 * records say) share.
 */
#ifndef DEVICE_CUPTI_H
#define DEVICE_CUPTI_H

#include "hook.h"

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

/* ---- device_cupti.c ---- */

/* The functions of CUPTI in use: X(name, whether we can do without). */
#define PMH_CUPTI_FUNCTIONS(X) \
	X(cuptiGetVersion, false) \
	X(cuptiGetTimestamp, false) \
	X(cuptiSubscribe, false) \
	X(cuptiUnsubscribe, false) \
	X(cuptiActivityEnable, false) \
	X(cuptiActivityDisable, false) \
	X(cuptiActivityRegisterCallbacks, false) \
	X(cuptiActivityGetNextRecord, false) \
	X(cuptiActivityGetNumDroppedRecords, false) \
	X(cuptiActivityFlushAll, false) \
	X(cuptiActivityPushExternalCorrelationId, false) \
	X(cuptiActivityPopExternalCorrelationId, false) \
	X(cuptiActivityEnableRuntimeApi, true) \
	X(cuptiActivityEnableDriverApi, true) \
	X(cuptiGetStreamIdEx, true)

#define PMH_POINTER(name, parameters) CUptiResult(*name) parameters;
extern struct pmh_cupti {
	PM_CUPTI_FUNCTIONS(PMH_POINTER)
} pmh_cupti;
#undef PMH_POINTER
extern CUpti_SubscriberHandle pmh_cupti_subscriber;

/* Has CUPTI record nothing any more. */
void pmh_cupti_disable(void);

/* Has all calls recorded, instead of those that launch; false: they are already. */
bool pmh_cupti_enable_all_calls(void);

/* ---- device_cupti_thread.c ---- */

/* What CUPTI calls for empty and with full buffers, from any thread. */
void pmh_cupti_requested(uint8_t **bytes, size_t *size, size_t *record_count);
void pmh_cupti_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t used_bytes);

bool pmh_cupti_start_thread(void);

/* Reads CUPTI's clock; returns how far off that may be, in ns. Our thread's, once it runs. */
uint64_t pmh_cupti_read_clock(void);

/* A call was told to CUPTI. */
void pmh_cupti_pushed(void);

/*
 * FINISH: collect everything that is complete. LEAVE: and give CUPTI up. It is the thread's last. Waits for
 * at most limit_ns; false: CUPTI did not come back in time.
 */
enum pmh_request { PMH_REQUEST_NONE, PMH_REQUEST_FINISH, PMH_REQUEST_LEAVE };
bool pmh_cupti_ask(enum pmh_request request, long limit_ns);

/* Nothing more is written by our thread, and what it has not told of is counted as lost. */
void pmh_cupti_give_up(void);

/* Whether CUPTI has a buffer of ours. */
bool pmh_cupti_keeps_buffer(void);
void pmh_cupti_forget_thread(void);

/* ---- device_activity.c; all of it is called by our one thread, but for what is said to be for any ---- */

/* Memory for the tables; false: there is none. Any thread, before the others. */
bool pmh_activity_init(void);

/* A record of CUPTI's: of its call, if it is an external correlation; or of work, which is passed over if its
 * kind says nothing here. */
void pmh_activity_link(const CUpti_Activity *record);
void pmh_activity_record(const CUpti_Activity *record);

/* The end of a round of records: writes what is no longer worth waiting for. all: everything. */
void pmh_activity_settle(bool all);

/* True when calls were told to CUPTI and activities came, but nothing joined the two. */
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
