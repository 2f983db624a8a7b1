/*
 * Pieces of trace files in memory, which may be taken away at any time: whoever truncates a trace, or a disk
 * that fails, makes the next store into it a SIGBUS.
 */
#ifndef MAP_H
#define MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One piece. Sizes and bounds are kept here: once the file was truncated the memory itself reads 0. */
struct pmh_map {
	void *start; /* of the bytes asked for; NULL: none */
	size_t byte_count;
	struct pmh_map_slot *_Atomic slot; /* other threads may ask whether it is lost */
};

/* Takes space on the disk, so that stores into it never find the disk full. False: there is none. */
bool pmh_map_reserve(int fd, uint64_t offset, size_t byte_count);

/*
 * Maps so many bytes of a file, shared, for writing. What is mapped of the file begins and ends at a multiple
 * of 64 KiB, so that any machine's pages will do. False: it cannot be, and nothing has changed. Takes no
 * lock, as all here.
 */
bool pmh_map(struct pmh_map *map, int fd, uint64_t offset, size_t byte_count);
void pmh_unmap(struct pmh_map *map);

/* Hands the piece over; `from` has none then. */
void pmh_map_move(struct pmh_map *to, struct pmh_map *from);

/* Whether the memory is the file's no more: what was stored since then is nowhere else. */
bool pmh_map_is_lost(const struct pmh_map *map);

/*
 * For the handler of SIGBUS: if the address lies in a piece, puts ordinary memory in place of all of it.
 * False: it is not ours, or there is no memory.
 */
bool pmh_map_replace(const void *address);

#endif
