/*
 * Calls that do not return to their wrapper. In the calling thread; errno stays.
 */
#ifndef LEFT_H
#define LEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/thread.h"

/* Whether the thread is in a hooked call. False also if it was, and has left it without a return: then that
 * is recorded, and the thread's depth is 0. At depth 1 or more. */
bool pmh_is_inside(const uint64_t *mark, const void *caller);

/* The thread's call, if it is in one, does not return: records it so. */
void pmh_frame_left(struct pmh_thread *self);

/* In a child after fork. */
void pmh_left_forget(void);

#endif
