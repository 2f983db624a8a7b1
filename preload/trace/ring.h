/*
 * A trace of constant size (PMHOOK_MODE=ring; struct pm_ring of pm_format.h): chunks of records are used
 * again, and what they held goes into statistics. Nothing here is on the path of a call, but where a chunk is
 * full.
 */
#ifndef RING_H
#define RING_H

#include <stdbool.h>

#include "guest/thread.h"
#include "pm_format.h"

/* Makes the ring the first chunk of a new file, where the settings ask for one. False: no room. */
bool pmh_ring_begin(void);
bool pmh_ring_is_on(void);

/* Says in the trace, which is open by now, that the size asked for cannot be. */
void pmh_ring_note(void);

/*
 * The thread's next chunk: one that was never used, else the complete one that tells of the earliest times.
 * head: receives its header, as the file has it. False, and pmh_file.why_not: there is none. Under the file's
 * lock, as the next.
 */
bool pmh_ring_take(struct pmh_thread *self, struct pm_chunk *head);

/* The thread's chunk is complete. */
void pmh_ring_give(struct pmh_thread *self);

/* In a child after fork. */
void pmh_ring_forget(void);

#endif
