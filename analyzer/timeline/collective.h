/*
 * Collectives matched over ranks: the n-th call of a function on a communicator is the same collective on all
 * of its ranks. The communicator's hash is the same for all of them. The writer may have counted the calls,
 * which holds also where some are missing; else they are counted here.
 */
#ifndef TIMELINE_COLLECTIVE_H
#define TIMELINE_COLLECTIVE_H

#include "timeline.h"

/* One rank's part. The parts of a collective lie together; the first has their number, as has each. */
struct collective {
	uint64_t hash;
	uint32_t function_key; /* equal for the same function, counted in the same way */
	uint32_t sequence;
	uint32_t process;
	int32_t device;
	int32_t rank; /* in the communicator */
	size_t call;
	int64_t begin_ns, end_ns; /* on the device where known, else of the call */
	uint32_t member_count;
};

struct collective_list {
	struct collective *items;
	size_t count, room;
};

/*
 * All collectives, each rank's part by itself: by communicator, function, sequence, process. Their members
 * are not counted. Point-to-point calls are not among them.
 */
void collective_gather(const struct timeline *timeline, struct collective_list *list);

/* Those of them of which two ranks or more were seen. */
void collective_match(const struct timeline *timeline, struct collective_list *list);
void collective_free(struct collective_list *list);

#endif
