/* Copies of one row: cudaMemcpy*, between devices, to and from device variables, and in batches. */
#include "cudart_private.h"

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

RUNTIME(cudaMemcpyPeer, (void *, dst, int, dstDevice, const void *, src, int, srcDevice, size_t, count),
	cudaErrorInvalidValue, sg_copy_peer(dst, dstDevice, src, srcDevice, count))
RUNTIME(cudaMemcpyPeerAsync,
	(void *, dst, int, dstDevice, const void *, src, int, srcDevice, size_t, count, cudaStream_t, stream),
	cudaErrorInvalidValue, sg_copy_peer_async(dst, dstDevice, src, srcDevice, count, stream))

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

RUNTIME_PTDS(cudaMemcpyToSymbol,
	(const void *, symbol, const void *, src, size_t, count, size_t, offset, enum cudaMemcpyKind, kind),
	cudaErrorInvalidValue, copy_to_symbol(symbol, src, count, offset, kind, NULL, SG_SYNC))
RUNTIME_PTSZ(cudaMemcpyToSymbolAsync,
	(const void *, symbol, const void *, src, size_t, count, size_t, offset, enum cudaMemcpyKind, kind,
		cudaStream_t, stream),
	cudaErrorInvalidValue, copy_to_symbol(symbol, src, count, offset, kind, stream, SG_ASYNC))
RUNTIME_PTDS(cudaMemcpyFromSymbol,
	(void *, dst, const void *, symbol, size_t, count, size_t, offset, enum cudaMemcpyKind, kind),
	cudaErrorInvalidValue, copy_from_symbol(dst, symbol, count, offset, kind, NULL, SG_SYNC))
RUNTIME_PTSZ(cudaMemcpyFromSymbolAsync,
	(void *, dst, const void *, symbol, size_t, count, size_t, offset, enum cudaMemcpyKind, kind,
		cudaStream_t, stream),
	cudaErrorInvalidValue, copy_from_symbol(dst, symbol, count, offset, kind, stream, SG_ASYNC))

cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
	size_t count, struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
	cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidValue);
	if (attrs == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(sg_copy_batch(dsts, srcs, sizes, count, attrsIdxs, numAttrs, stream));
}
