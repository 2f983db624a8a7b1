/*
 * The file of a ring (struct pm_ring of pm_format.h): what trace.c needs to read it.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include "trace.h"

/*
 * A copy of a file that may be written while it is read: of one moment, each record either there or in the
 * statistics. Where the program dropped chunks faster than they could be copied, *moving is set: each chunk
 * is whole, but some may be missing, or counted twice. To be freed by the caller. NULL: the file is no
 * ring's, and needs no copy.
 */
unsigned char *trace_ring_copy(const unsigned char *live, size_t size_bytes, bool *moving);

/* Takes the chunk of the ring, or one of its statistics, at `offset`, its payload after its header. */
void trace_ring_parse(struct trace *trace, uint64_t offset, uint64_t payload, uint64_t payload_bytes);
void trace_ring_statistics(
	struct trace *trace, const struct pm_chunk *chunk, uint64_t payload, uint64_t payload_bytes);

/* When all chunks are known: puts them in order of time. */
void trace_ring_settle(struct trace *trace);

#endif
