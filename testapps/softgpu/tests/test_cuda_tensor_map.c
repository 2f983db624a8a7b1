/* Checks what the stand-in CUDA driver takes for a tensor that Hopper's kernels copy in bulk. */
#include "test_cuda.h"
#include "test_common.h"

#include <string.h>

struct tiled {
	uint32_t rank;
	char *address;
	uint64_t dims[3], strides[2];
	uint32_t box[3], steps[3];
};

static const struct tiled good = {3, NULL, {64, 128, 4}, {128, 16384}, {64, 16, 1}, {1, 1, 1}};

static CUresult encode(CUtensorMap *map, const struct tiled *tiled)
{
	return cuTensorMapEncodeTiled(map, (CUtensorMapDataType)6 /* half */, tiled->rank, tiled->address,
		tiled->dims, tiled->strides, tiled->box, tiled->steps, (CUtensorMapInterleave)0,
		(CUtensorMapSwizzle)3, (CUtensorMapL2promotion)2, (CUtensorMapFloatOOBfill)0);
}

#define REFUSED(change) \
	do { \
		tiled = good; \
		tiled.address = (char *)(uintptr_t)memory; \
		change; \
		EXPECT(encode(&map, &tiled), CUDA_ERROR_INVALID_VALUE); \
	} while (0)

void test_tensor_maps(void)
{
	struct tiled tiled = good;
	CUtensorMap map;
	CUdeviceptr memory;

	OK(cuMemAlloc_v2(&memory, 65536));
	tiled.address = (char *)(uintptr_t)memory;
	memset(&map, 0, sizeof(map));
	OK(encode(&map, &tiled));
	CHECK(memcmp(&map, &memory, sizeof(memory)) == 0);
	memory += 1024;
	OK(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)memory));
	CHECK(memcmp(&map, &memory, sizeof(memory)) == 0);
	EXPECT(cuTensorMapReplaceAddress(&map, (void *)(uintptr_t)(memory + 8)), CUDA_ERROR_INVALID_VALUE);
	memory -= 1024;
	EXPECT(encode(NULL, &tiled), CUDA_ERROR_INVALID_VALUE);
	REFUSED(tiled.rank = 0);
	REFUSED(tiled.rank = 6);
	REFUSED(tiled.address = NULL);
	REFUSED(tiled.address += 8);
	REFUSED(tiled.dims[1] = 0);
	REFUSED(tiled.strides[0] = 130);
	REFUSED(tiled.box[1] = 257);
	REFUSED(tiled.box[0] = 4);
	REFUSED(tiled.steps[2] = 9);
	OK(cuMemFree_v2(memory));
}
