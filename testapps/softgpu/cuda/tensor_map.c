/*
 * cuTensorMap*: what Hopper's kernels are told of a tensor that they read by bulk copies.
 *
 * The one idea: nobody reads the 128 bytes but kernels, which are not run; they begin with the tensor's
 * address, so that what a kernel may have written there is known to be so.
 */
#include "cuda_private.h"

#include <string.h>

#define RANK_LIMIT 5
#define TYPES 16
#define PACKED_TYPE 13 /* the first of those whose elements are no whole bytes */

/* A tensor in device memory, as both ways of encoding have it. */
struct tensor {
	unsigned type, rank, interleave;
	void *address;
	const cuuint64_t *dims, *strides; /* strides in bytes, of all dimensions but the first */
	const cuuint32_t *element_strides;
};

static const unsigned char element_bytes[PACKED_TYPE] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

static int is_valid(const CUtensorMap *map, const struct tensor *tensor)
{
	unsigned alignment = tensor->interleave == 2 || tensor->type >= PACKED_TYPE + 1 ? 32 : 16;

	if (map == NULL || (uintptr_t)map % 64 != 0 || tensor->type >= TYPES || tensor->interleave > 2)
		return 0;
	if (tensor->rank == 0 || tensor->rank > RANK_LIMIT || (tensor->interleave != 0 && tensor->rank < 3))
		return 0;
	if (tensor->address == NULL || (uintptr_t)tensor->address % alignment != 0)
		return 0;
	if (tensor->dims == NULL || tensor->element_strides == NULL ||
		(tensor->rank > 1 && tensor->strides == NULL))
		return 0;
	for (unsigned i = 0; i < tensor->rank; i++) {
		if (tensor->dims[i] == 0 || tensor->dims[i] > (cuuint64_t)1 << 32 ||
			tensor->element_strides[i] == 0 || tensor->element_strides[i] > 8)
			return 0;
		if (i > 0 && (tensor->strides[i - 1] % alignment != 0 ||
				     tensor->strides[i - 1] >= (cuuint64_t)1 << 40))
			return 0;
	}
	return 1;
}

static void encode(CUtensorMap *map, const struct tensor *tensor)
{
	cuuint64_t words[16] = {(uintptr_t)tensor->address, tensor->type | tensor->rank << 8};

	memcpy(&words[2], tensor->dims, tensor->rank * sizeof(*words));
	memcpy(map, words, sizeof(words));
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
	cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
	const cuuint64_t *globalStrides, const cuuint32_t *boxDim, const cuuint32_t *elementStrides,
	CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
	CUtensorMapFloatOOBfill oobFill)
{
	struct tensor tensor = {(unsigned)tensorDataType, tensorRank, (unsigned)interleave, globalAddress,
		globalDim, globalStrides, elementStrides};

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)swizzle;
	(void)l2Promotion;
	(void)oobFill;
	if (!is_valid(tensorMap, &tensor) || boxDim == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < tensorRank; i++) {
		if (boxDim[i] == 0 || boxDim[i] > 256)
			return CUDA_ERROR_INVALID_VALUE;
	}
	/* a row of the box is moved by units of 16 bytes */
	if (tensor.interleave == 0 && tensor.type < PACKED_TYPE &&
		(size_t)boxDim[0] * element_bytes[tensor.type] % 16 != 0)
		return CUDA_ERROR_INVALID_VALUE;
	encode(tensorMap, &tensor);
	return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType,
	cuuint32_t tensorRank, void *globalAddress, const cuuint64_t *globalDim,
	const cuuint64_t *globalStrides, const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner,
	cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides,
	CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
	CUtensorMapFloatOOBfill oobFill)
{
	struct tensor tensor = {(unsigned)tensorDataType, tensorRank, (unsigned)interleave, globalAddress,
		globalDim, globalStrides, elementStrides};

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	(void)swizzle;
	(void)l2Promotion;
	(void)oobFill;
	if (!is_valid(tensorMap, &tensor) || tensorRank < 3 || pixelBoxLowerCorner == NULL ||
		pixelBoxUpperCorner == NULL || channelsPerPixel > 256 || pixelsPerColumn > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	encode(tensorMap, &tensor);
	return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
	cuuint64_t address = (uintptr_t)globalAddress;

	SG_DRIVER(CUDA_ERROR_INVALID_VALUE);
	if (tensorMap == NULL || (uintptr_t)tensorMap % 64 != 0 || address == 0 || address % 16 != 0)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(tensorMap, &address, sizeof(address));
	return CUDA_SUCCESS;
}
