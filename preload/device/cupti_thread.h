/*
 * Our one thread for CUPTI: it owns the buffers. Any thread may ask it.
 */
#ifndef CUPTI_THREAD_H
#define CUPTI_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm_cupti.h"

/* What CUPTI calls for empty and with full buffers, from any thread. */
void pmh_cupti_requested(uint8_t **bytes, size_t *size, size_t *record_count);
void pmh_cupti_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t used_bytes);

bool pmh_cupti_start_thread(void);

/* Reads CUPTI's clock; returns how far off that may be, in ns. Our thread's, once it runs. */
uint64_t pmh_cupti_read_clock(void);

/* Has the next round come soon. */
void pmh_cupti_wake(void);

/* A call was announced to CUPTI. */
void pmh_cupti_pushed(void);

/*
 * FINISH: collect everything that is complete. LEAVE: and give CUPTI up. It is the thread's last. Waits for
 * at most limit_ns; false: CUPTI did not come back in time.
 */
enum pmh_request { PMH_REQUEST_NONE, PMH_REQUEST_FINISH, PMH_REQUEST_LEAVE };
bool pmh_cupti_ask(enum pmh_request request, long limit_ns);

/* Nothing more is written by our thread, and what it has not delivered is counted as lost. */
void pmh_cupti_give_up(void);

/* Whether CUPTI has a buffer of ours. */
bool pmh_cupti_keeps_buffer(void);
void pmh_cupti_forget_thread(void);

#endif
