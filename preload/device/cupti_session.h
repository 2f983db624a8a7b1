/*
 * The use of CUPTI: begun with the first work for a device, ended for another tool or with the process.
 * Around a call any thread; the rest as it says.
 */
#ifndef CUPTI_SESSION_H
#define CUPTI_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/thread.h"
#include "pm_cupti.h"

enum pmh_cupti_state {
	PMH_CUPTI_UNTRIED, /* begins with the first work for a device */
	PMH_CUPTI_STARTING,
	PMH_CUPTI_ON,
	PMH_CUPTI_ENDING, /* another tool comes */
	PMH_CUPTI_OFF,    /* not available, not wanted, or left to another tool: events are used */
};
extern _Atomic int pmh_cupti_state;

/* Says whether CUPTI may be used, from the settings. */
void pmh_cupti_init(void);
void pmh_cupti_forget(void);

/* Tells CUPTI that the work which the calling thread submits from now on belongs to a call. False: CUPTI is
 * not in use, so events are. Begins its use at the first call; takes the loader's lock then, so no lock of
 * ours may be held. */
bool pmh_cupti_begin_slowly(struct pmh_place place, uint32_t correlation, uint8_t flags);
static inline bool pmh_cupti_begin(struct pmh_place place, uint32_t correlation, uint8_t flags)
{
	return atomic_load_explicit(&pmh_cupti_state, memory_order_relaxed) <= PMH_CUPTI_ON &&
	       pmh_cupti_begin_slowly(place, correlation, flags);
}
void pmh_cupti_end(void);

/* The same for the end of an NCCL group: the work of all its calls begins now. */
bool pmh_cupti_group_begin(const struct pmh_grouped *calls, unsigned call_count);

/* No activities are recorded for a while (call/turns.h), or again; our thread sees to it. And whether it has. */
void pmh_cupti_rest(bool rest);
bool pmh_cupti_rests(bool rest);

/* A handle may mean a new stream from now on. */
void pmh_cupti_stream_created(void);

/* A context is about to be destroyed: has CUPTI hand over what it knows of it. */
void pmh_cupti_context_going(void);

/* At exit: collects what is complete, for at most two seconds. */
void pmh_cupti_finish(void);
uint64_t pmh_cupti_times(void); /* written as records */

/* ---- for the other sources of CUPTI ---- */

/* By our thread: as pmh_cupti_rest and the stretches (stretch.h) say. Returns for how many ns more, -1: until
 * pmh_cupti_rest says otherwise. */
long pmh_cupti_turn(void);

/* The functions of CUPTI in use: X(name, whether we can do without). */
#define PMH_CUPTI_FUNCTIONS(X) \
	X(cuptiGetVersion, false) \
	X(cuptiGetTimestamp, false) \
	X(cuptiSubscribe, false) \
	X(cuptiUnsubscribe, false) \
	X(cuptiEnableCallback, true) \
	X(cuptiActivityEnable, false) \
	X(cuptiActivityDisable, false) \
	X(cuptiActivityRegisterCallbacks, false) \
	X(cuptiActivityGetNextRecord, false) \
	X(cuptiActivityGetNumDroppedRecords, false) \
	X(cuptiActivityFlushAll, false) \
	X(cuptiActivityPushExternalCorrelationId, false) \
	X(cuptiActivityPopExternalCorrelationId, false) \
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

#endif
