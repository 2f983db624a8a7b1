/* How the processes of a run exchange NCCL's id before they have NCCL: over TCP. */
#ifndef MEET_H
#define MEET_H

#include <stddef.h>

/*
 * Rank 0 listens on MASTER_ADDR:MASTER_PORT and gives `size` bytes of `data` to each of the other ranks,
 * which retry until it is there. A process that waits for a minute gives up. Failures end the program.
 */
void meet(int rank, int world, const char *address, const char *port, void *data, size_t size);

#endif
