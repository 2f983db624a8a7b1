/* What the copies between devices and those of several at once do. See calls.h. */
#include "calls.h"

cudaError_t sg_copy_peer_async(
	void *dst, int dst_device, const void *src, int src_device, size_t count, cudaStream_t stream)
{
	struct sg_box box = sg_row(dst, src, count);

	if (dst_device < 0 || dst_device >= sg_device_count() || src_device < 0 ||
		src_device >= sg_device_count())
		return cudaErrorInvalidDevice;
	return sg_copy(&box, cudaMemcpyDeviceToDevice, SG_FIND_BOTH, stream, SG_ASYNC);
}

cudaError_t sg_copy_peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	cudaError_t error;

	error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return error;
	error = sg_copy_peer_async(dst, dstDevice, src, srcDevice, 0, NULL);
	if (error != cudaSuccess)
		return error;
	/* Serialised with the work of both devices: wait for it, copy, wait for the copy. */
	sg_device_drain(srcDevice);
	sg_device_drain(dstDevice);
	error = sg_copy_peer_async(dst, dstDevice, src, srcDevice, count, NULL);
	if (error == cudaSuccess)
		sg_stream_drain(sg_stream_of(NULL));
	return error;
}

cudaError_t sg_copy_batch(void *const *to, const void *const *from, const size_t *sizes, size_t count,
	const size_t *attribute_indices, size_t attribute_count, cudaStream_t handle)
{
	struct sg_stream *stream = sg_stream_of(handle);
	cudaError_t error = cudaSuccess;

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	/* It takes no legacy stream, and every copy needs attributes: the first index is that of copy 0. */
	if (stream->kind == SG_LEGACY || count == 0 || to == NULL || from == NULL || sizes == NULL ||
		attribute_indices == NULL || attribute_count == 0 || attribute_count > count ||
		attribute_indices[0] != 0)
		return cudaErrorInvalidValue;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_capture_refuse(stream);
	for (size_t i = 0; i < count; i++) {
		if (sizes[i] == 0 || to[i] == NULL || from[i] == NULL)
			return cudaErrorInvalidValue;
	}
	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		struct sg_box box = sg_row(to[i], from[i], sizes[i]);

		error = sg_copy(&box, cudaMemcpyDefault, SG_FIND_BOTH, handle, SG_ASYNC);
	}
	return error;
}
