/*
 * When recording is on. Outside a window calls are looked at, but leave no record. Any thread.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest/thread.h"

/* Whether records are written. Outside a window calls are looked at, but leave none. */
extern _Atomic bool pmh_window_open;
void pmh_window_init(void);

/* Recording of the whole run rests for a while (turns.h), or goes on. */
void pmh_window_rest(bool rest);

/* Whether pmh_window_count wants to see each operation of the device, to count iterations. */
extern bool pmh_window_counts;
void pmh_window_count(struct pmh_thread *self, uint32_t op);
void pmh_window_leave(const struct pmh_thread *self); /* the thread ends */

/* At exit: says so if the window never came. */
void pmh_window_finish(void);

/* The application's profiler start and stop. */
void pmh_profiler(bool on);

#endif
