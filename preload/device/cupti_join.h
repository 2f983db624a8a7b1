/*
 * Which hooked call the device's work belongs to, by CUPTI's number of the call that launched it.
 */
#ifndef CUPTI_JOIN_H
#define CUPTI_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_cupti.h"

/* Memory for the links; false: there is none. Any thread, before the others. */
bool pmh_join_init(void);

/* Asks CUPTI for what joins calls and work, as PMHOOK_CUPTI_JOIN says; false: it cannot be had. With the
 * subscription, by one thread at a time, like the next two. */
bool pmh_join_start(void);
void pmh_join_stop(void);

/* Has CUPTI leave out the callbacks that are of no use. Our thread, now and then. */
void pmh_join_round(void);

/* Nothing was joined so far: asks CUPTI for more. False: there is no more. */
bool pmh_join_more(void);

/* What the subscription calls, in the thread that makes a call of the driver. */
void pmh_join_called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void *call);

/* The work that the calling thread submits from now on belongs to a call (an external id); false: CUPTI does
 * not take it. Until pmh_join_end. Any thread. */
bool pmh_join_begin(uint64_t id);
void pmh_join_end(void);

/* CUPTI's number belongs to a call. Any thread. */
void pmh_join_link(uint32_t cupti_correlation, uint64_t id);

/* Whether there was any. */
bool pmh_join_any(void);

/* The external id of the call that CUPTI gave the number, 0: none is known. Any thread. */
uint64_t pmh_join_id(uint32_t cupti_correlation);

#endif
