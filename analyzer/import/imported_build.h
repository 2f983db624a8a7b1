/* A worker of an imported trace while it becomes a process: what imported_join.c and imported_describe.c
 * share.
 */
#ifndef IMPORT_IMPORTED_BUILD_H
#define IMPORT_IMPORTED_BUILD_H

#include "imported_operation.h"
#include "imported_timeline.h"

/* What becomes a call, for sorting. */
enum imported_source { IMPORTED_CALL, IMPORTED_EVENT, IMPORTED_SPAN };
struct imported_item {
	int64_t begin_ns;
	uint32_t index;
	uint8_t source;
};

struct imported_build {
	struct imported_join *join;
	const struct imported *imported;
	struct timeline *timeline;
	struct timeline_process *process;
	struct imported_dictionary dictionary;
	uint32_t worker;
	struct imported_item *items;
	size_t count, room;
	uint32_t *queues;        /* by queue of the file: of the timeline; 0: none yet */
	uint16_t *queue_threads; /* by queue of the file: ordinal of the thread that stands for it */
	uint32_t *communicators; /* by string of the group; of the timeline */
};

/* The operation of a device event's call: its kind and sizes, and what is said of its phase and layer. */
struct imported_operation imported_describe(struct imported_build *build, uint32_t event);

/* The program's frames of the threads that have calls; after those (imported_frame.c). */
void imported_frames_add(struct imported_build *build);

/* The ranges of those threads, by thread, and their names. */
void imported_ranges_add(struct imported_build *build);

#endif
