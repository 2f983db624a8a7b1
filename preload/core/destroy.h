/* Around calls that destroy a stream or a context, or may: what is known of it is put away. */
#ifndef DESTROY_H
#define DESTROY_H

#include "hook.h"

/* Before the call, after which another thread may be given the same address. The frame keeps the stream if it
 * was captured. */
void pmh_before_stream_destroy(struct pmh_frame *frame, const uint64_t *values);

/* Before a call that may take a context away: what is known of its device is collected, and left alone until
 * the call is over. The frame keeps the device. */
void pmh_before_context_destroy(
	struct pmh_frame *frame, struct pmh_thread *self, enum pm_role role, const uint64_t *values);

/* `result` of the call: of 0 the context is gone, unless it is a primary one that others keep. */
void pmh_after_context_destroy(const struct pmh_frame *frame, enum pm_role role, int result);

#endif
