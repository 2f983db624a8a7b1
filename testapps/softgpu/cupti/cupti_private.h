/* What the files of the stand-in CUPTI share. */
#ifndef CUPTI_PRIVATE_H
#define CUPTI_PRIVATE_H

#include <cupti.h>

#include "core/sg.h"

#define CUPTI_STREAM_OFFSET 6 /* the first stream of the vendor's has number 7 */

/* The time of records: CLOCK_REALTIME as the vendor's, or what the application's function says, in
 * its units. */
uint64_t cupti_now_ns(void);

/* Whether records of a kind are asked for. Any thread. */
int cupti_enabled(CUpti_ActivityKind kind);

/* DRIVER or RUNTIME: a call is to have a record of that kind; INVALID: it is not. Any thread. */
CUpti_ActivityKind cupti_call_kind(const char *call, CUpti_CallbackId *cbid);

/* The calling thread's innermost external id of a kind; 0: there is none. */
int cupti_external(CUpti_ExternalCorrelationKind kind, uint64_t *id);

/*
 * Appends a record to a buffer of the application's: those of calls and those of activities go into buffers
 * of their own, and a flush delivers the activities first, which is the order that is harder on the reader.
 * Without a buffer the record is dropped, and counted.
 */
enum cupti_family { CUPTI_CALLS, CUPTI_ACTIVITIES, CUPTI_FAMILIES };
void cupti_append(enum cupti_family family, const void *records, size_t size_bytes);

/* What libcudart reports goes here (record.c). */
extern const struct sg_watcher cupti_watcher;

/* Forgets buffers and the delivering thread, in a child after fork. */
void cupti_buffers_forget(void);

#endif
