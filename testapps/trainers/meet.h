/*
 * How the processes of a run tell each other a few bytes without NCCL: over TCP, by way of rank 0. They need
 * it before they have NCCL, for its id, and where host memory is all that may be relied on.
 */
#ifndef MEET_H
#define MEET_H

#include <stddef.h>

/*
 * Each rank gives the `size` bytes of `mine` and gets those of all ranks, in their order, in `all`. Rank 0
 * listens on address:port, the others retry until it is there. A process that waits for longer than timeout_s
 * ends the program, as do other failures.
 */
void meet(int rank, int world, const char *address, const char *port, const void *mine, void *all,
	size_t size, int timeout_s);

#endif
