/*
 * The trace file as the sources of this folder share it: write.c makes it and its chunks, append.c fills
 * those with a thread's records, loss.c counts in its header.
 */
#ifndef FILE_H
#define FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/guest.h"
#include "guest/map.h"
#include "guest/thread.h"
#include "pm_format.h"

extern struct pmh_file {
	struct pm_header *header; /* mapped; NULL: there is no trace */
	pmh_lock lock;            /* of the rest, and of making chunks */
	bool is_damaged;          /* truncated or removed by somebody: nothing is added any more */
	uint64_t byte_count;
	enum pm_loss why_not; /* the last chunk could not be made */
	int error;            /* of the system, for the same */
	bool is_closed;       /* the footer is written */
} pmh_file;

/*
 * Makes the next chunk at the end of the file and maps it: false, and pmh_file.why_not, where there is no
 * room. self: the thread whose records it takes, or NULL. head: receives the chunk's header, as the file has
 * it, or NULL. Under the lock.
 */
bool pmh_chunk_open(struct pmh_map *map, enum pm_chunk_kind kind, size_t byte_count,
	const struct pmh_thread *self, struct pm_chunk *head);

/* Reserves space at the end of the file and maps it. False, and pmh_file.why_not: no room, and nothing has
 * changed. Under the lock. */
bool pmh_file_extend(struct pmh_map *map, size_t byte_count);

/* The chunk's clock pair is of now. */
void pmh_chunk_time(struct pm_chunk *chunk);

/* The header of a chunk of that many bytes, but for its magic and clock pair. self: the thread whose records
 * it takes, or NULL. */
struct pm_chunk pmh_chunk_head(enum pm_chunk_kind kind, size_t byte_count, const struct pmh_thread *self);

/* Writes the header of a chunk, with its clock pair, where it is to be; its magic last. */
void pmh_chunk_write(void *start, struct pm_chunk *chunk);

/* Forgets, in a child after fork, what threads of the parent have left of their chunks. */
void pmh_rests_forget(void);

#endif
