/* Fills: cudaMemset*, of one, two and three dimensions. */
#include "cudart_private.h"

static cudaError_t fill(void *to, size_t pitch, size_t slice, int value, size_t width, size_t height,
	size_t depth, cudaStream_t stream, enum sg_wait wait)
{
	struct sg_box box = {.to = to,
		.to_pitch = pitch,
		.to_slice = slice,
		.width = width,
		.height = height,
		.depth = depth};

	return sg_fill(&box, (unsigned char)value, 1, stream, wait);
}

RUNTIME_PTDS(cudaMemset, (void *, devPtr, int, value, size_t, count), cudaErrorInvalidValue,
	fill(devPtr, count, count, value, count, 1, 1, NULL, SG_SYNC))
RUNTIME_PTSZ(cudaMemsetAsync, (void *, devPtr, int, value, size_t, count, cudaStream_t, stream),
	cudaErrorInvalidValue, fill(devPtr, count, count, value, count, 1, 1, stream, SG_ASYNC))
RUNTIME_PTDS(cudaMemset2D, (void *, devPtr, size_t, pitch, int, value, size_t, width, size_t, height),
	cudaErrorInvalidValue, fill(devPtr, pitch, 0, value, width, height, 1, NULL, SG_SYNC))
RUNTIME_PTSZ(cudaMemset2DAsync,
	(void *, devPtr, size_t, pitch, int, value, size_t, width, size_t, height, cudaStream_t, stream),
	cudaErrorInvalidValue, fill(devPtr, pitch, 0, value, width, height, 1, stream, SG_ASYNC))

static cudaError_t fill3d(
	struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream, enum sg_wait wait)
{
	if (extent.depth > 1 && to.ysize < extent.height)
		return cudaErrorInvalidValue;
	return fill(to.ptr, to.pitch, to.pitch * to.ysize, value, extent.width, extent.height, extent.depth,
		stream, wait);
}

RUNTIME_PTDS(cudaMemset3D, (struct cudaPitchedPtr, pitchedDevPtr, int, value, struct cudaExtent, extent),
	cudaErrorInvalidValue, fill3d(pitchedDevPtr, value, extent, NULL, SG_SYNC))
RUNTIME_PTSZ(cudaMemset3DAsync,
	(struct cudaPitchedPtr, pitchedDevPtr, int, value, struct cudaExtent, extent, cudaStream_t, stream),
	cudaErrorInvalidValue, fill3d(pitchedDevPtr, value, extent, stream, SG_ASYNC))
