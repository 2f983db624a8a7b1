/*
 * SIGBUS: a store into a piece of a file (map.h) that is no longer there. Any thread; errno stays.
 */
#ifndef SIGBUS_H
#define SIGBUS_H

#include <stdatomic.h>
#include <stdbool.h>

/* A SIGBUS in a piece is ours from now on; all others stay the host's. To be called again now and
 * then, because the host's handler stays in front once it was needed. */
void pmh_sigbus_begin(void);

/* It was needed: the next that notices calls pmh_sigbus_begin. */
extern _Atomic bool pmh_sigbus_aside;

/* For a thread that is about to write to a trace. */
void pmh_sigbus_unblock(void);

#endif
