/*
 * Copies of two and three dimensions, and the arrays that some of them name.
 *
 * The one idea: an array is a block of rows like any other pitched memory; its elements have no other layout
 * here.
 */
#include <stdlib.h>

#include "calls/copy.h"
#include "core/capture.h"
#include "cudart_private.h"

struct sg_array {
	struct sg_slot slot;
	char *memory;
	size_t element_bytes;
	size_t pitch;                /* bytes */
	size_t width, height, depth; /* elements; height and depth at least 1 */
};

static struct sg_pool arrays = SG_POOL_INIT(struct sg_array, 65536, 16);

cudaError_t cudaMallocArray(cudaArray_t *out, const struct cudaChannelFormatDesc *desc, size_t width,
	size_t height, unsigned int flags)
{
	struct sg_array *array;
	void *memory;
	cudaError_t error;

	SG_ENTER(cudaErrorMemoryAllocation);
	(void)flags;
	if (out == NULL || desc == NULL || width == 0 || desc->x <= 0 || desc->y < 0 || desc->z < 0 ||
		desc->w < 0)
		return sg_result(cudaErrorInvalidValue);
	error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return sg_result(error);
	array = sg_pool_get(&arrays);
	if (array == NULL)
		return sg_result(cudaErrorMemoryAllocation);
	array->element_bytes = (size_t)(desc->x + desc->y + desc->z + desc->w + 7) / 8;
	array->width = width;
	array->height = height == 0 ? 1 : height;
	array->depth = 1;
	array->pitch = width * array->element_bytes;
	error = sg_block_alloc(&memory, array->pitch * array->height, SG_DEVICE, sg_self.device);
	if (error != cudaSuccess) {
		sg_pool_put(&arrays, array);
		return sg_result(error);
	}
	array->memory = memory;
	atomic_store_explicit(&array->slot.live, SG_SLOT_LIVE, memory_order_release);
	*out = (cudaArray_t)(void *)array;
	return cudaSuccess;
}

cudaError_t cudaFreeArray(cudaArray_t handle)
{
	struct sg_array *array;
	cudaError_t error;

	SG_ENTER(cudaErrorInvalidValue);
	if (handle == NULL)
		return cudaSuccess;
	array = sg_pool_check(&arrays, handle);
	if (array == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	error = sg_memory_free(array->memory);
	sg_pool_put(&arrays, array);
	return sg_result(error);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
	size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	struct sg_array *array;
	struct sg_box box;

	SG_ENTER(cudaErrorInvalidValue);
	array = sg_pool_check(&arrays, dst);
	if (array == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if (width > array->pitch || wOffset > array->pitch - width || height > array->height ||
		hOffset > array->height - height || (height > 1 && spitch < width))
		return sg_result(cudaErrorInvalidValue);
	box = (struct sg_box){.to = array->memory + hOffset * array->pitch + wOffset,
		.from = src,
		.to_pitch = array->pitch,
		.from_pitch = spitch,
		.width = width,
		.height = height,
		.depth = 1};
	return sg_result(sg_copy(&box, kind, SG_FIND_BOTH, NULL, SG_SYNC));
}

static cudaError_t copy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
	size_t height, enum cudaMemcpyKind kind, cudaStream_t stream, enum sg_wait wait)
{
	struct sg_box box = {.to = dst,
		.from = src,
		.to_pitch = dpitch,
		.from_pitch = spitch,
		.width = width,
		.height = height,
		.depth = 1};

	if (dpitch < width || spitch < width)
		return cudaErrorInvalidPitchValue;
	return sg_copy(&box, kind, SG_FIND_BOTH, stream, wait);
}

RUNTIME_PTDS(cudaMemcpy2D,
	(void *, dst, size_t, dpitch, const void *, src, size_t, spitch, size_t, width, size_t, height,
		enum cudaMemcpyKind, kind),
	cudaErrorInvalidValue, copy2d(dst, dpitch, src, spitch, width, height, kind, NULL, SG_SYNC))
RUNTIME_PTSZ(cudaMemcpy2DAsync,
	(void *, dst, size_t, dpitch, const void *, src, size_t, spitch, size_t, width, size_t, height,
		enum cudaMemcpyKind, kind, cudaStream_t, stream),
	cudaErrorInvalidValue, copy2d(dst, dpitch, src, spitch, width, height, kind, stream, SG_ASYNC))

/* One side of a three-dimensional copy: exactly one of array and pitched memory. */
struct side {
	char *start;
	size_t pitch, slice;
	size_t element_bytes; /* 0: no array, extents are bytes */
};

static cudaError_t resolve_side(cudaArray_t handle, struct cudaPitchedPtr pointer, struct cudaPos at,
	struct cudaExtent extent, struct side *side)
{
	struct sg_array *array;

	if ((handle == NULL) == (pointer.ptr == NULL))
		return cudaErrorInvalidValue;
	if (handle == NULL) {
		side->pitch = pointer.pitch;
		side->slice = pointer.pitch * (pointer.ysize != 0 ? pointer.ysize : extent.height);
		side->element_bytes = 0;
		side->start = (char *)pointer.ptr + at.z * side->slice + at.y * side->pitch + at.x;
		return cudaSuccess;
	}
	array = sg_pool_check(&arrays, handle);
	if (array == NULL)
		return cudaErrorInvalidResourceHandle;
	if (extent.width > array->width || at.x > array->width - extent.width ||
		extent.height > array->height || at.y > array->height - extent.height ||
		extent.depth > array->depth || at.z > array->depth - extent.depth)
		return cudaErrorInvalidValue;
	side->pitch = array->pitch;
	side->slice = array->pitch * array->height;
	side->element_bytes = array->element_bytes;
	side->start = array->memory + at.z * side->slice + at.y * side->pitch + at.x * array->element_bytes;
	return cudaSuccess;
}

static cudaError_t copy3d(const struct cudaMemcpy3DParms *p, cudaStream_t stream, enum sg_wait wait)
{
	struct side to, from;
	struct sg_box box;
	size_t width;
	cudaError_t error;

	if (p == NULL)
		return cudaErrorInvalidValue;
	if (p->extent.width == 0 || p->extent.height == 0 || p->extent.depth == 0)
		return cudaSuccess;
	error = resolve_side(p->dstArray, p->dstPtr, p->dstPos, p->extent, &to);
	if (error == cudaSuccess)
		error = resolve_side(p->srcArray, p->srcPtr, p->srcPos, p->extent, &from);
	if (error != cudaSuccess)
		return error;
	if (to.element_bytes != 0 && from.element_bytes != 0 && to.element_bytes != from.element_bytes)
		return cudaErrorInvalidValue;
	/* With an array on either side the width counts elements. */
	width = p->extent.width;
	if (to.element_bytes != 0)
		width *= to.element_bytes;
	else if (from.element_bytes != 0)
		width *= from.element_bytes;
	if (p->extent.height > 1 && (to.pitch < width || from.pitch < width))
		return cudaErrorInvalidPitchValue;
	box = (struct sg_box){to.start, from.start, to.pitch, to.slice, from.pitch, from.slice, width,
		p->extent.height, p->extent.depth};
	return sg_copy(&box, p->kind, SG_FIND_BOTH, stream, wait);
}

RUNTIME_PTDS(
	cudaMemcpy3D, (const struct cudaMemcpy3DParms *, p), cudaErrorInvalidValue, copy3d(p, NULL, SG_SYNC))
RUNTIME_PTSZ(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *, p, cudaStream_t, stream),
	cudaErrorInvalidValue, copy3d(p, stream, SG_ASYNC))

static cudaError_t copy3d_peer(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream, enum sg_wait wait)
{
	struct cudaMemcpy3DParms plain;

	if (p == NULL)
		return cudaErrorInvalidValue;
	if (p->srcDevice < 0 || p->srcDevice >= sg_device_count() || p->dstDevice < 0 ||
		p->dstDevice >= sg_device_count())
		return cudaErrorInvalidDevice;
	plain = (struct cudaMemcpy3DParms){.srcArray = p->srcArray,
		.srcPos = p->srcPos,
		.srcPtr = p->srcPtr,
		.dstArray = p->dstArray,
		.dstPos = p->dstPos,
		.dstPtr = p->dstPtr,
		.extent = p->extent,
		.kind = cudaMemcpyDeviceToDevice};
	if (wait == SG_SYNC) {
		cudaError_t error = sg_capture_unsafe();

		if (error != cudaSuccess)
			return error;
		sg_device_drain(p->srcDevice);
		sg_device_drain(p->dstDevice);
	}
	return copy3d(&plain, stream, wait);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	cudaError_t error;

	SG_ENTER(cudaErrorInvalidValue);
	error = copy3d_peer(p, NULL, SG_SYNC);
	if (error == cudaSuccess)
		sg_stream_drain(sg_stream_of(NULL));
	return sg_result(error);
}

RUNTIME_PTSZ(cudaMemcpy3DPeerAsync, (const struct cudaMemcpy3DPeerParms *, p, cudaStream_t, stream),
	cudaErrorInvalidValue, copy3d_peer(p, stream, SG_ASYNC))
