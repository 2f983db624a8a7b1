/* What the files of the stand-in CUPTI share. */
#ifndef CUPTI_PRIVATE_H
#define CUPTI_PRIVATE_H

#include <cupti.h>

#include "core/sg.h"

#define CUPTI_NUMBERS 1024    /* the calls' are below it */
#define CUPTI_CONTEXT 1       /* the number of the first device's */
#define CUPTI_STREAM_OFFSET 6 /* the first stream of the vendor's has number 7 */

/* The time of records: CLOCK_REALTIME as the vendor's, or what the application's function says, in
 * its units. */
uint64_t cupti_now_ns(void);

/* Whether records of a kind are asked for. Any thread. */
int cupti_enabled(CUpti_ActivityKind kind);

/* DRIVER or RUNTIME: a call is to have a record of that kind; INVALID: it is not. A call of the runtime has
 * at most one, as the driver's call inside it has none where it has one itself. Any thread. */
CUpti_ActivityKind cupti_call_kind(const char *call, CUpti_CallbackId *cbid);

/* Whether SOFTGPU_CUPTI is that word (cupti.c). */
int cupti_asked_for(const char *trouble);

/* Has libcudart report if there is anything to report it for. */
void cupti_watch_or_not(void);

/* CUPTI's numbers of a call; 0: not such a call, or none is known. Any thread. */
struct cupti_numbers {
	CUpti_CallbackId runtime, driver;
};
struct cupti_numbers cupti_numbers_of(const char *call);

/* The call of a number; NULL: none is known. Any thread. */
const char *cupti_call_name(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);

/* softgpu's own header has not all of the vendor's results. */
#define CUPTI_NOT_SUPPORTED ((CUptiResult)27)

/* The subscriber's callbacks (callback.c): where they go; nowhere; whether any is enabled; a call is entered.
 */
void cupti_callbacks_to(CUpti_CallbackFunc callback, void *userdata);
void cupti_callbacks_clear(void);
int cupti_has_callbacks(void);
void cupti_entered(const struct sg_call_seen *call);
int cupti_is_subscriber(CUpti_SubscriberHandle subscriber);
extern _Atomic uint64_t cupti_callback_count;

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
