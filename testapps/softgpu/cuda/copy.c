/* cuMemcpy*: each names the sides of its copy in another way; sg_copy does the rest. */
#include "cuda_private.h"

static CUresult copy(void *to, const void *from, size_t count, enum cudaMemcpyKind kind, CUstream stream,
	enum sg_wait wait)
{
	struct sg_box box = sg_row(to, from, count);

	return sg_driver_result(sg_copy(&box, kind, SG_FIND_BOTH, stream, wait));
}

DRIVER_OWN_PTDS(cuMemcpy, (CUdeviceptr, dst, CUdeviceptr, src, size_t, ByteCount), CUDA_ERROR_INVALID_VALUE,
	copy(sg_pointer(dst), sg_pointer(src), ByteCount, cudaMemcpyDefault, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemcpyAsync, (CUdeviceptr, dst, CUdeviceptr, src, size_t, ByteCount, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE,
	copy(sg_pointer(dst), sg_pointer(src), ByteCount, cudaMemcpyDefault, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr, dstDevice, const void *, srcHost, size_t, ByteCount),
	CUDA_ERROR_INVALID_VALUE,
	copy(sg_pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemcpyHtoDAsync_v2,
	(CUdeviceptr, dstDevice, const void *, srcHost, size_t, ByteCount, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE,
	copy(sg_pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemcpyDtoH_v2, (void *, dstHost, CUdeviceptr, srcDevice, size_t, ByteCount),
	CUDA_ERROR_INVALID_VALUE,
	copy(dstHost, sg_pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemcpyDtoHAsync_v2,
	(void *, dstHost, CUdeviceptr, srcDevice, size_t, ByteCount, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE,
	copy(dstHost, sg_pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr, dstDevice, CUdeviceptr, srcDevice, size_t, ByteCount),
	CUDA_ERROR_INVALID_VALUE,
	copy(sg_pointer(dstDevice), sg_pointer(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, NULL,
		SG_SYNC))
DRIVER_OWN_PTSZ(cuMemcpyDtoDAsync_v2,
	(CUdeviceptr, dstDevice, CUdeviceptr, srcDevice, size_t, ByteCount, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE,
	copy(sg_pointer(dstDevice), sg_pointer(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, hStream,
		SG_ASYNC))

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
	CUcontext srcContext, size_t ByteCount)
{
	const struct sg_context *to, *from;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	to = sg_context_of(dstContext);
	from = sg_context_of(srcContext);
	if (to == NULL || from == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_driver_result(sg_copy_peer(
		sg_pointer(dstDevice), to->device, sg_pointer(srcDevice), from->device, ByteCount));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
	CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
	const struct sg_context *to, *from;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	to = sg_context_of(dstContext);
	from = sg_context_of(srcContext);
	if (to == NULL || from == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_driver_result(sg_copy_peer_async(
		sg_pointer(dstDevice), to->device, sg_pointer(srcDevice), from->device, ByteCount, hStream));
}

/* The driver's arrays of addresses are arrays of pointers here: both have eight bytes. */
static CUresult copy_batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
	const CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, CUstream stream)
{
	_Static_assert(sizeof(CUdeviceptr) == sizeof(void *), "a device address is a pointer");

	if (attributes == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_copy_batch((void *const *)to, (const void *const *)from, sizes, count,
		indices, attribute_count, stream));
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
	CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx, CUstream hStream)
{
	CUresult result;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	result = copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream);
	if (result != CUDA_SUCCESS && failIdx != NULL)
		*failIdx = SIZE_MAX; /* no single copy is to blame */
	return result;
}

DRIVER_OWN_PTSZ(cuMemcpyBatchAsync_v2,
	(CUdeviceptr *, dsts, CUdeviceptr *, srcs, size_t *, sizes, size_t, count, CUmemcpyAttributes *,
		attrs, size_t *, attrsIdxs, size_t, numAttrs, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, copy_batch(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream))

/* ---- two and three dimensions ---- */

/* One side of a copy as the driver's structures name it. */
struct side {
	int type; /* CUmemorytype: 1 host, 2 device, 3 array, 4 found out */
	char *host;
	CUdeviceptr device;
	size_t x, y, z; /* bytes, rows, layers */
	size_t pitch, height;
};

enum { HOST = 1, DEVICE, ARRAY, UNIFIED };

/* Where the side begins, and its distances from row to row and from layer to layer. */
static CUresult resolve(const struct side *side, size_t width, size_t rows, size_t layers, char **start,
	size_t *pitch, size_t *slice)
{
	if (side->type == ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (side->type < HOST || side->type > UNIFIED)
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = side->pitch != 0 ? side->pitch : width + side->x;
	if (*pitch < width + side->x || (layers > 1 && side->height < rows + side->y))
		return CUDA_ERROR_INVALID_VALUE;
	*slice = *pitch * (side->height != 0 ? side->height : rows + side->y);
	*start = side->type == HOST ? side->host : sg_pointer(side->device);
	if (*start == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*start += side->z * *slice + side->y * *pitch + side->x;
	return CUDA_SUCCESS;
}

static enum cudaMemcpyKind direction(int to, int from)
{
	if (to == UNIFIED || from == UNIFIED)
		return cudaMemcpyDefault;
	if (from == HOST)
		return to == HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
	return to == HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static CUresult copy_box(const struct side *to, const struct side *from, size_t width, size_t rows,
	size_t layers, CUstream stream, enum sg_wait wait)
{
	struct sg_box box = {.width = width, .height = rows, .depth = layers};
	char *start;
	CUresult result;

	if (width == 0 || rows == 0 || layers == 0)
		return CUDA_SUCCESS;
	result = resolve(from, width, rows, layers, &start, &box.from_pitch, &box.from_slice);
	box.from = start;
	if (result == CUDA_SUCCESS)
		result = resolve(to, width, rows, layers, &box.to, &box.to_pitch, &box.to_slice);
	if (result != CUDA_SUCCESS)
		return result;
	return sg_driver_result(sg_copy(&box, direction(to->type, from->type), SG_FIND_BOTH, stream, wait));
}

static char *writable(const void *pointer)
{
	return (char *)(uintptr_t)pointer;
}

static CUresult copy2d(const CUDA_MEMCPY2D *p, CUstream stream, enum sg_wait wait)
{
	struct side to, from;

	if (p == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	from = (struct side){.type = (int)p->srcMemoryType,
		.host = writable(p->srcHost),
		.device = p->srcDevice,
		.x = p->srcXInBytes,
		.y = p->srcY,
		.pitch = p->srcPitch};
	to = (struct side){.type = (int)p->dstMemoryType,
		.host = p->dstHost,
		.device = p->dstDevice,
		.x = p->dstXInBytes,
		.y = p->dstY,
		.pitch = p->dstPitch};
	return copy_box(&to, &from, p->WidthInBytes, p->Height, 1, stream, wait);
}

DRIVER_OWN_PTDS(
	cuMemcpy2D_v2, (const CUDA_MEMCPY2D *, pCopy), CUDA_ERROR_INVALID_VALUE, copy2d(pCopy, NULL, SG_SYNC))
DRIVER_OWN_PTDS(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *, pCopy), CUDA_ERROR_INVALID_VALUE,
	copy2d(pCopy, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *, pCopy, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, copy2d(pCopy, hStream, SG_ASYNC))

/* The structures of the two kinds of three-dimensional copies have the same names for the sides. */
#define SIDES(p, to, from) \
	do { \
		from = (struct side){.type = (int)(p)->srcMemoryType, \
			.host = writable((p)->srcHost), \
			.device = (p)->srcDevice, \
			.x = (p)->srcXInBytes, \
			.y = (p)->srcY, \
			.z = (p)->srcZ, \
			.pitch = (p)->srcPitch, \
			.height = (p)->srcHeight}; \
		to = (struct side){.type = (int)(p)->dstMemoryType, \
			.host = (p)->dstHost, \
			.device = (p)->dstDevice, \
			.x = (p)->dstXInBytes, \
			.y = (p)->dstY, \
			.z = (p)->dstZ, \
			.pitch = (p)->dstPitch, \
			.height = (p)->dstHeight}; \
	} while (0)

CUresult sg_driver_copy3d(const CUDA_MEMCPY3D *p, CUstream stream, enum sg_wait wait)
{
	struct side to, from;

	if (p == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	SIDES(p, to, from);
	return copy_box(&to, &from, p->WidthInBytes, p->Height, p->Depth, stream, wait);
}

DRIVER_OWN_PTDS(cuMemcpy3D_v2, (const CUDA_MEMCPY3D *, pCopy), CUDA_ERROR_INVALID_VALUE,
	sg_driver_copy3d(pCopy, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *, pCopy, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, sg_driver_copy3d(pCopy, hStream, SG_ASYNC))

static CUresult copy3d_peer(const CUDA_MEMCPY3D_PEER *p, CUstream stream, enum sg_wait wait)
{
	const struct sg_context *contexts[2];
	struct side to, from;

	if (p == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	contexts[0] = sg_context_of(p->srcContext);
	contexts[1] = sg_context_of(p->dstContext);
	if (contexts[0] == NULL || contexts[1] == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (wait == SG_SYNC) {
		sg_device_drain(contexts[0]->device);
		sg_device_drain(contexts[1]->device);
	}
	SIDES(p, to, from);
	return copy_box(&to, &from, p->WidthInBytes, p->Height, p->Depth, stream, wait);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
	CUresult result;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	result = copy3d_peer(pCopy, NULL, SG_SYNC);
	if (result == CUDA_SUCCESS)
		sg_stream_drain(sg_stream_of(NULL));
	return result;
}

DRIVER_OWN_PTSZ(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *, pCopy, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, copy3d_peer(pCopy, hStream, SG_ASYNC))
