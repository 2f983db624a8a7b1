/*
 * File input of processes that make no device call: it counts for the process that they work for. Any thread.
 */
#ifndef WORKER_H
#define WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_format.h"

/* A child after fork works for the parent, whose header this is; NULL: for whom the parent works. */
void pmh_worker_forked(struct pm_header *header);

/* Whether there is a process that we read for. */
bool pmh_is_worker(void);
void pmh_worker_read(uint64_t ns, int64_t bytes);

#endif
