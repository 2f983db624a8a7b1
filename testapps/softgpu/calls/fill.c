/* Fills: see calls.h. */
#include <string.h>

#include "calls.h"

struct fill {
	struct sg_box box;
	unsigned value;
	unsigned element_bytes; /* 1, 2 or 4 */
};

static void fill_row(char *row, size_t width, const struct fill *fill)
{
	if (fill->element_bytes == 1) {
		memset(row, (int)fill->value, width);
		return;
	}
	/* The value's low bytes come first, as in the element. */
	for (size_t x = 0; x < width; x += fill->element_bytes)
		memcpy(row + x, &fill->value, fill->element_bytes);
}

static void fill_work(void *arg)
{
	const struct fill *fill = arg;
	const struct sg_box *box = &fill->box;

	for (size_t z = 0; z < box->depth; z++) {
		for (size_t y = 0; y < box->height; y++)
			fill_row(box->to + z * box->to_slice + y * box->to_pitch, box->width, fill);
	}
	sg_memory_written(
		box->to, sg_box_span(box->to_pitch, box->to_slice, box->width, box->height, box->depth));
}

cudaError_t sg_fill(const struct sg_box *box, unsigned value, unsigned element_bytes, cudaStream_t handle,
	enum sg_wait wait)
{
	struct sg_stream *stream = sg_stream_of(handle);
	struct fill fill = {*box, value, element_bytes};
	struct sg_activity what = {.kind = SG_ACTIVITY_SET, .bytes = box->width * box->height * box->depth};
	cudaError_t error = cudaSuccess;
	enum sg_extent extent;
	enum sg_side side;
	uint64_t position;

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (box->width == 0 || box->height == 0 || box->depth == 0)
		return cudaSuccess;
	if (box->to == NULL || (box->height > 1 && box->to_pitch < box->width) ||
		(uintptr_t)box->to % element_bytes != 0 ||
		(box->height > 1 && box->to_pitch % element_bytes != 0))
		return cudaErrorInvalidValue;
	side = sg_block_side(box->to,
		sg_box_span(box->to_pitch, box->to_slice, box->width, box->height, box->depth), &error);
	if (error == cudaSuccess && side == SG_SIDE_PAGEABLE)
		error = cudaErrorInvalidValue;
	if (error == cudaSuccess && wait == SG_SYNC)
		error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return error;
	what.cost = (struct sg_cost)SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, (double)what.bytes);
	extent = sg_copy_extent(what.bytes, side, side);
	what.run = sg_copy_run(what.bytes, extent);
	/* the box comes first in what is filled */
	error = sg_queue_as(stream, &what, extent == SG_ALL ? fill_work : sg_forget_box_work, &fill,
		sizeof(fill), &position);
	/* The synchronous calls wait only where the host can see the memory. */
	if (error == cudaSuccess && wait == SG_SYNC && side == SG_SIDE_PINNED)
		sg_stream_wait(stream, position);
	return error;
}
