/*
 * Operations of other profilers' traces, in the vocabulary of our own: which kind of function a call or an
 * event stands for, and one operation for all that are alike in name, phase, layer and sizes.
 */
#ifndef IMPORT_IMPORTED_OPERATION_H
#define IMPORT_IMPORTED_OPERATION_H

#include "imported.h"
#include "timeline/timeline.h"

/* What tells operations apart. Names are strings of the file. */
struct imported_operation {
	uint32_t call, event;  /* names; call 0: the call is not in the file */
	uint32_t layer;        /* string, as imported_attribute says; 0: none */
	uint32_t communicator; /* of the timeline */
	uint8_t kind;          /* enum pm_kind */
	uint8_t phase, part;   /* as imported_attribute says */
	bool no_gradients;     /* likewise */
	uint8_t direction;     /* of a copy, enum pm_direction */
	bool pairwise;         /* communication that only two ranks meet at */
	bool activity;         /* the event itself, not its call */
	int32_t peer;          /* of communication that only two ranks meet at: the other, in the communicator; -1: not
				  known */
	uint64_t bytes;
};

/* The operations of one process while it is built; all numbers are the timeline's. */
struct imported_dictionary {
	struct timeline *timeline;
	const struct imported *imported;
	uint32_t process;
	struct imported_operation *items; /* by number of the process */
	uint32_t first;                   /* operation of the timeline that items[0] is */
	size_t count, room;
	struct lookup lookup;
	uint32_t *strings; /* by string of the file; + 1 */
	struct {
		uint32_t name, number;
		uint8_t kind;
		bool activity, pairwise;
	} * functions;
	size_t function_count, function_room;
};

void imported_dictionary_begin(struct imported_dictionary *dictionary, struct timeline *timeline,
	const struct imported *imported, uint32_t process);
void imported_dictionary_end(struct imported_dictionary *dictionary);

/* The operation's number in the timeline; made when it is new. */
uint32_t imported_operation(
	struct imported_dictionary *dictionary, const struct imported_operation *operation);

/* The timeline's number of a string of the file; 0: "", as nothing. */
uint32_t imported_string(struct imported_dictionary *dictionary, uint32_t string);

/* What a call of the runtime or driver does that put no work on a device that is in the file. */
enum pm_kind imported_call_kind(const char *name);

/* By the name of the copy; PM_DIRECTION_DEFAULT: it does not say. */
enum pm_direction imported_direction(const char *name);

/* The NCCL function that the name of a kernel, a collective or a label stands for: "ncclAllReduce"; else the
 * name itself. Lives as long as the name, or for ever. */
const char *imported_collective_name(const char *name);

/* Do only two ranks meet at it? */
bool imported_is_pairwise(const char *name);

#endif
