/*
 * What a pair of events takes by itself, as a note in the trace.
 */
#ifndef EVENT_EMPTY_H
#define EVENT_EMPTY_H

#include <stdint.h>

/* A pair without work has taken so many ns. Under the collecting lock. */
void pmh_event_empty(uint32_t ns);

#endif
