/* A worker of a foreign trace while it becomes a process: what foreign_join.c and foreign_describe.c share.
 */
#ifndef IMPORT_IMPORTED_BUILD_H
#define IMPORT_IMPORTED_BUILD_H

#include "imported_operation.h"
#include "imported_timeline.h"

/* What becomes a call, for sorting. */
enum foreign_source { FOREIGN_CALL, FOREIGN_EVENT, FOREIGN_SPAN };
struct foreign_item {
	int64_t begin_ns;
	uint32_t index;
	uint8_t source;
};

struct foreign_build {
	struct foreign_join *join;
	const struct foreign *foreign;
	struct timeline *timeline;
	struct timeline_process *process;
	struct foreign_dictionary dictionary;
	uint32_t worker;
	struct foreign_item *items;
	size_t count, room;
	uint32_t *queues;        /* by queue of the file: of the timeline; 0: none yet */
	uint16_t *queue_threads; /* by queue of the file: ordinal of the thread that stands for it */
	uint32_t *communicators; /* by string of the group; of the timeline */
};

/* The operation of a device event's call: its kind and sizes, and what is said of its phase and layer. */
struct foreign_operation foreign_describe(struct foreign_build *build, uint32_t event);

#endif
