/*
 * Messages from one worker to another: the n-th send from a rank to another on a communicator is what the
 * n-th receive of that one from the first takes. No data moves before both have begun.
 */
#ifndef RECONSTRUCT_EXCHANGE_H
#define RECONSTRUCT_EXCHANGE_H

#include "analysis.h"

struct exchange {
	size_t from, to;        /* workers */
	uint32_t send, receive; /* calls of the timeline */
	double bytes;
	int64_t begin_ns, end_ns; /* of the data's way: from the later begin to the end of the receive */
	int64_t send_wait_ns, receive_wait_ns; /* until the other has begun */
};

struct exchange_list {
	struct exchange *items; /* by pair, in order of time */
	size_t count, room;
};

/* Those in used iterations of their sender, or of their receiver. Calls that share their time on the device
 * with others, in a group, are left out. */
void exchange_match(const struct analysis *analysis, struct exchange_list *list);

/* The part of each send and receive before the other has begun, of all messages, into its call's place. */
void exchange_waits(const struct timeline *timeline, const struct worker_model *model, int64_t *wait_ns);
void exchange_free(struct exchange_list *list);

#endif
