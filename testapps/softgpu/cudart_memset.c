/* Fills: cudaMemset*, of one, two and three dimensions. */
#include <string.h>

#include "sg_copy.h"

static void fill_work(void *arg)
{
	struct sg_box *box = arg;
	int value = (int)box->from_pitch;

	for (size_t z = 0; z < box->depth; z++) {
		for (size_t y = 0; y < box->height; y++)
			memset(box->to + z * box->to_slice + y * box->to_pitch, value, box->width);
	}
}

static cudaError_t fill(void *to, size_t pitch, size_t slice, int value, size_t width, size_t height,
	size_t depth, cudaStream_t handle, enum sg_wait wait)
{
	struct sg_stream *stream = sg_stream_of(handle);
	struct sg_box box = {.to = to,
		.to_pitch = pitch,
		.to_slice = slice,
		.from_pitch = (unsigned char)value,
		.width = width,
		.height = height,
		.depth = depth};
	cudaError_t error = cudaSuccess;
	enum sg_side side;
	uint64_t position;

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (width == 0 || height == 0 || depth == 0)
		return cudaSuccess;
	if (to == NULL || (height > 1 && pitch < width))
		return cudaErrorInvalidValue;
	side = sg_block_side(to, sg_box_span(pitch, slice, width, height, depth), &error);
	if (error == cudaSuccess && side == SG_SIDE_PAGEABLE)
		error = cudaErrorInvalidValue;
	if (error == cudaSuccess && wait == SG_SYNC)
		error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return error;
	error = sg_queue(stream, fill_work, &box, sizeof(box), &position);
	/* The synchronous calls wait only where the host can see the memory. */
	if (error == cudaSuccess && wait == SG_SYNC && side == SG_SIDE_PINNED)
		sg_stream_wait(stream, position);
	return error;
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(fill(devPtr, count, count, value, count, 1, 1, NULL, SG_SYNC));
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(fill(devPtr, count, count, value, count, 1, 1, stream, SG_ASYNC));
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(fill(devPtr, pitch, 0, value, width, height, 1, NULL, SG_SYNC));
}

cudaError_t cudaMemset2DAsync(
	void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(fill(devPtr, pitch, 0, value, width, height, 1, stream, SG_ASYNC));
}

static cudaError_t fill3d(
	struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream, enum sg_wait wait)
{
	if (extent.depth > 1 && to.ysize < extent.height)
		return cudaErrorInvalidValue;
	return fill(to.ptr, to.pitch, to.pitch * to.ysize, value, extent.width, extent.height, extent.depth,
		stream, wait);
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(fill3d(pitchedDevPtr, value, extent, NULL, SG_SYNC));
}

cudaError_t cudaMemset3DAsync(
	struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(fill3d(pitchedDevPtr, value, extent, stream, SG_ASYNC));
}
