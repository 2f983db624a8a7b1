/*
 * Where the program was while a device was idle, for the rows of host_calls.h: the innermost operator of the
 * framework or Python function around the host, where another profiler recorded them (timeline_frame). Our
 * own hook records where each operation was called for the first time (timeline_operation's site): that is a
 * place only where other places make other operations. So it is with the line of Python where the hook reads
 * it at each call, and with the function that a program's own code waits for a device in; of any other call a
 * later one of the same may have been made elsewhere, and it has no place.
 *
 * Parts of idle time are given with what they were counted for; a row's place is the one with most of its
 * time. Parts may be given in any order, and must be apart from each other in time.
 */
#ifndef ANALYSES_HOST_PLACE_H
#define ANALYSES_HOST_PLACE_H

#include "base/lookup.h"
#include "timeline/timeline.h"

/* Idle time of row `item` while the host's thread was there. */
struct host_part {
	int64_t begin_ns, end_ns;
	uint32_t item;
	uint16_t thread;
};

struct host_place {
	uint32_t item;
	const char *name; /* of the timeline; a part of a site */
	size_t length;
	double idle_ns; /* sum */
};

struct host_places {
	struct host_part *parts;
	size_t part_count, part_room;
	struct host_place *items;
	size_t count, room;
	struct lookup lookup;
};

/* A part whose place the process' frames tell; or, where it has none, the operation of a call, 0: none. */
void host_places_add(struct host_places *places, const struct timeline *timeline,
	const struct timeline_process *process, const struct host_part *part, uint32_t operation);

/* Finds the places of all parts given. */
void host_places_settle(
	struct host_places *places, const struct timeline *timeline, const struct timeline_process *process);

/* The place that has most of the row's idle time, and how much; NULL: none is known. */
const struct host_place *host_places_most(const struct host_places *places, uint32_t item);
void host_places_free(struct host_places *places);

#endif
