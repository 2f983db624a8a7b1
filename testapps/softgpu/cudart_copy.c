/* Copies of one row: cudaMemcpy*, between devices, to and from device variables, and in batches. */
#include "sg_copy.h"

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	struct sg_box box = sg_row(dst, src, count);

	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_copy(&box, kind, SG_FIND_BOTH, NULL, SG_SYNC));
}

cudaError_t cudaMemcpyAsync(
	void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct sg_box box = sg_row(dst, src, count);

	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(sg_copy(&box, kind, SG_FIND_BOTH, stream, SG_ASYNC));
}

static cudaError_t copy_peer(
	void *dst, int dst_device, const void *src, int src_device, size_t count, cudaStream_t stream)
{
	struct sg_box box = sg_row(dst, src, count);

	if (dst_device < 0 || dst_device >= sg_device_count() || src_device < 0 ||
		src_device >= sg_device_count())
		return cudaErrorInvalidDevice;
	return sg_copy(&box, cudaMemcpyDeviceToDevice, SG_FIND_BOTH, stream, SG_ASYNC);
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	cudaError_t error;

	SG_ENTER(cudaErrorInvalidValue);
	error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return sg_result(error);
	error = copy_peer(dst, dstDevice, src, srcDevice, 0, NULL);
	if (error != cudaSuccess)
		return sg_result(error);
	/* Serialised with the work of both devices: wait for it, copy, wait for the copy. */
	sg_device_drain(srcDevice);
	sg_device_drain(dstDevice);
	error = copy_peer(dst, dstDevice, src, srcDevice, count, NULL);
	if (error == cudaSuccess)
		sg_stream_drain(sg_stream_of(NULL));
	return sg_result(error);
}

cudaError_t cudaMemcpyPeerAsync(
	void *dst, int dstDevice, const void *src, int srcDevice, size_t count, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(copy_peer(dst, dstDevice, src, srcDevice, count, stream));
}

static cudaError_t copy_to_symbol(const void *symbol, const void *src, size_t count, size_t offset,
	enum cudaMemcpyKind kind, cudaStream_t stream, enum sg_wait wait)
{
	struct sg_box box;
	size_t size_bytes;
	char *address;
	cudaError_t error = sg_symbol_find(symbol, &address, &size_bytes);

	if (error != cudaSuccess)
		return error;
	if (offset > size_bytes || count > size_bytes - offset)
		return cudaErrorInvalidValue;
	if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	box = sg_row(address + offset, src, count);
	return sg_copy(&box, kind, SG_TO_IS_DEVICE, stream, wait);
}

static cudaError_t copy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
	enum cudaMemcpyKind kind, cudaStream_t stream, enum sg_wait wait)
{
	struct sg_box box;
	size_t size_bytes;
	char *address;
	cudaError_t error = sg_symbol_find(symbol, &address, &size_bytes);

	if (error != cudaSuccess)
		return error;
	if (offset > size_bytes || count > size_bytes - offset)
		return cudaErrorInvalidValue;
	if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	box = sg_row(dst, address + offset, count);
	return sg_copy(&box, kind, SG_FROM_IS_DEVICE, stream, wait);
}

cudaError_t cudaMemcpyToSymbol(
	const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(copy_to_symbol(symbol, src, count, offset, kind, NULL, SG_SYNC));
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(copy_to_symbol(symbol, src, count, offset, kind, stream, SG_ASYNC));
}

cudaError_t cudaMemcpyFromSymbol(
	void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(copy_from_symbol(dst, symbol, count, offset, kind, NULL, SG_SYNC));
}

cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidValue);
	return sg_result(copy_from_symbol(dst, symbol, count, offset, kind, stream, SG_ASYNC));
}

cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
	size_t count, struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
	cudaStream_t handle)
{
	struct sg_stream *stream;
	cudaError_t error = cudaSuccess;

	SG_ENTER(cudaErrorInvalidValue);
	stream = sg_stream_of(handle);
	if (stream == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	/* It takes no legacy stream, and every copy needs attributes: the first entry of attrsIdxs is copy 0.
	 */
	if (stream->kind == SG_LEGACY || count == 0 || dsts == NULL || srcs == NULL || sizes == NULL ||
		attrs == NULL || attrsIdxs == NULL || numAttrs == 0 || numAttrs > count || attrsIdxs[0] != 0)
		return sg_result(cudaErrorInvalidValue);
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_result(sg_capture_refuse(stream));
	for (size_t i = 0; i < count; i++) {
		if (sizes[i] == 0 || dsts[i] == NULL || srcs[i] == NULL)
			return sg_result(cudaErrorInvalidValue);
	}
	for (size_t i = 0; i < count && error == cudaSuccess; i++) {
		struct sg_box box = sg_row(dsts[i], srcs[i], sizes[i]);

		error = sg_copy(&box, cudaMemcpyDefault, SG_FIND_BOTH, handle, SG_ASYNC);
	}
	return sg_result(error);
}
