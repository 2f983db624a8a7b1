/*
 * Copies and fills of one, two or three dimensions, as the runtime and the driver API share them.
 *
 * The one idea: every copy is a box of rows. A plain copy is one row; what differs is only how the caller's
 * arguments name the box.
 */
#ifndef SG_COPY_H
#define SG_COPY_H

#include "core/core.h"

struct sg_box {
	char *to;
	const char *from;
	size_t to_pitch, to_slice; /* bytes from row to row, from layer to layer */
	size_t from_pitch, from_slice;
	size_t width, height, depth; /* bytes, rows, layers */
};

/* Device variables have the application's own memory behind them: their side is given, not found out. */
enum sg_given { SG_FIND_BOTH, SG_TO_IS_DEVICE, SG_FROM_IS_DEVICE };
enum sg_wait { SG_ASYNC, SG_SYNC };

/*
 * Checks direction and bounds, then queues the copy. Pageable memory: the source is staged before an
 * asynchronous copy returns, and a copy into it is waited for. SG_SYNC waits as the synchronous calls do (not
 * between device blocks).
 */
cudaError_t sg_copy(const struct sg_box *box, enum cudaMemcpyKind kind, enum sg_given given,
	cudaStream_t stream, enum sg_wait wait);

/*
 * What is done of a copy or fill. All of it, but without numerics, when it is larger than SG_MOVED_BYTES:
 * into device memory nothing, as that may exist only virtually, and the destination is forgotten; from there
 * into pinned memory nothing; into pageable memory all, so that hosts read zeros where nothing was computed.
 * Up to SG_OBJECT_BYTES all of it from pageable memory, and from device memory what is known when the copy's
 * turn comes.
 */
enum sg_extent { SG_ALL, SG_FORGETS, SG_NOTHING, SG_KNOWN };
enum sg_extent sg_copy_extent(uint64_t bytes, enum sg_side to, enum sg_side from);
enum sg_run sg_copy_run(uint64_t bytes, enum sg_extent extent);
/* A closure that forgets the destination of the box at arg, and one that does nothing. */
void sg_forget_box_work(void *arg);
void sg_nothing_work(void *arg);

/* A box of one row. */
static inline struct sg_box sg_row(void *to, const void *from, size_t width)
{
	struct sg_box box = {to, from, width, width, width, width, width, 1, 1};

	return box;
}

/* Bytes from the first to the last of a box side; SIZE_MAX when that is no number. */
size_t sg_box_span(size_t pitch, size_t slice, size_t width, size_t height, size_t depth);

/* The device variable behind a registered host symbol (kernel.c). */
cudaError_t sg_symbol_find(const void *symbol, char **address, size_t *size_bytes);

#endif
