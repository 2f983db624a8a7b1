/*
 * The figures of now in the header's page (struct pm_live), for whoever watches thousands of processes. Any
 * thread; nothing where there is no trace.
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "file.h"
#include "guest/attribute.h"
#include "pm_format.h"

enum pmh_live_class { PMH_LIVE_KERNEL, PMH_LIVE_COMMUNICATION, PMH_LIVE_COPY, PMH_LIVE_CLASSES };

/* NULL: there is no trace. */
PMH_INLINE struct pm_live *pmh_live(void)
{
	return pmh_file.header ? (struct pm_live *)(void *)((char *)pmh_file.header + PM_LIVE_OFFSET) : NULL;
}

/* When a trace begins, and when it is closed. */
void pmh_live_begin(void);
void pmh_live_end(void);

/* So many calls more, just now. */
void pmh_live_calls(unsigned count);

/* A call of the kind COMM has returned, with this operation. */
void pmh_live_communicated(uint32_t op);

/* Device intervals of an operation are of that class; of others that of kernels. */
void pmh_live_classify(uint32_t op, enum pmh_live_class class);
bool pmh_live_is_classified(uint32_t op);

/* A device interval has come in. */
void pmh_live_device(uint32_t op, uint64_t ns);

/* So many steps have ended, 1 or more: how long they took together, 0: not known; whether device times were
 * taken all the time. By one thread at a time. */
void pmh_live_steps(uint64_t now_ns, uint64_t took_ns, unsigned count, bool is_timed);

#endif
