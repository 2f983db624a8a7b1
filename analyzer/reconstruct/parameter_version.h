/*
 * Parameters that are kept in several versions, as pipelines do whose stages work on several micro-batches at
 * once: an update copies the newest version to another place, and goes on there. The places then take turns
 * in all that reads parameters. Here they become one: accesses to any of them are made accesses to the
 * lowest, so that all that follows sees a parameter once.
 */
#ifndef RECONSTRUCT_PARAMETER_VERSION_H
#define RECONSTRUCT_PARAMETER_VERSION_H

#include "operation_flow.h"

/* Does a stretch of a process's memory hold state that is updated in place? */
typedef bool version_test(const void *context, uint32_t process, uint64_t address, uint64_t bytes);

/* Answers whether any were found; the flows are then changed. */
bool version_merge(
	const struct timeline *timeline, struct flow *flows, version_test *is_updated, const void *context);

/* After version_merge: a copy from one version to the next, which is a copy onto itself now. */
bool version_is_copy(const struct flow *flow);

#endif
