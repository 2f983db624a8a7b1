/* Checks the driver API's virtual memory: what is mapped counts and is used across mappings, and bad calls
 * are refused. */
#include "test_cuda.h"
#include "test_common.h"

#include <string.h>

#define MIB ((size_t)1 << 20)

void test_virtual_memory(void)
{
	CUmemAllocationProp prop;
	CUmemGenericAllocationHandle first, second, found;
	CUdeviceptr range;
	size_t granularity, before, after, total;
	char bytes[8] = "mapped", back[8] = "";

	memset(&prop, 0, sizeof(prop));
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = 1; /* a device */
	OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(granularity == 2 * MIB);
	OK(cuMemGetInfo_v2(&before, &total));
	EXPECT(cuMemCreate(&first, MIB, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemCreate(&first, total + 2 * MIB, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemCreate(&first, 2 * MIB, &prop, 0));
	OK(cuMemCreate(&second, 4 * MIB, &prop, 0));
	OK(cuMemGetInfo_v2(&after, &total));
	CHECK(before - after == 6 * MIB);
	OK(cuMemAddressReserve(&range, 16 * MIB, 0, 0, 0));
	CHECK(range % (2 * MIB) == 0);
	OK(cuMemMap(range, 2 * MIB, 0, first, 0));
	EXPECT(cuMemMap(range, 4 * MIB, 0, second, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(range + 2 * MIB, 4 * MIB, 0, second, 0));
	/* over the border of the two */
	OK(cuMemcpyHtoD_v2(range + 2 * MIB - 4, bytes, sizeof(bytes)));
	OK(cuMemcpyDtoH_v2(back, range + 2 * MIB - 4, sizeof(back)));
	CHECK(strcmp(back, "mapped") == 0);
	OK(cuMemRetainAllocationHandle(&found, (void *)(uintptr_t)(range + 5 * MIB)));
	CHECK(found == second);
	OK(cuMemRelease(found));
	OK(cuMemRelease(first));
	OK(cuMemRelease(second));
	EXPECT(cuMemAddressFree(range, 16 * MIB), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetInfo_v2(&after, &total));
	CHECK(before - after == 6 * MIB);
	OK(cuMemUnmap(range, 6 * MIB));
	EXPECT(cuMemUnmap(range, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
	EXPECT(cuMemRelease(second), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetInfo_v2(&after, &total));
	CHECK(before == after);
	OK(cuMemAddressFree(range, 16 * MIB));
}
