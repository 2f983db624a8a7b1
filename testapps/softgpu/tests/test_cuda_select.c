/* Checks that softgpu's twin of PyTorch's nonzero lists what it finds, and nothing where there is no room. */
#include "test_cuda.h"
#include "test_common.h"

#include <string.h>

#define COUNT 8

void test_select(void)
{
	/* as much of the mangled name as the rule looks at */
	CUfunction select = test_kernel("_Z23DeviceSelectSweepKernelI17counting_iteratorIlE10NonZeroOpIbE");
	const unsigned char flags[COUNT] = {0, 1, 0, 0, 1, 1, 0, 0};
	CUdeviceptr from, to, count_to, room;
	int64_t first = 0, found[3];
	int64_t tiles = 0;
	int n = COUNT, count = -1;
	char selector = 0;
	void *arguments[] = {&first, &from, &to, &count_to, &tiles, &selector, &selector, &n};

	OK(cuMemAlloc_v2(&from, sizeof(flags)));
	OK(cuMemAlloc_v2(&room, COUNT * sizeof(int64_t)));
	OK(cuMemAlloc_v2(&count_to, sizeof(count)));
	OK(cuMemcpyHtoD_v2(from, flags, sizeof(flags)));
	to = room;
	OK(cuLaunchKernel(select, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
	OK(cuMemcpyDtoH_v2(&count, count_to, sizeof(count)));
	OK(cuMemcpyDtoH_v2(found, room, sizeof(found)));
	CHECK(count == 3 && found[0] == 1 && found[1] == 4 && found[2] == 5);
	to = 0;
	OK(cuLaunchKernel(select, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
	OK(cuMemcpyDtoH_v2(&count, count_to, sizeof(count)));
	CHECK(count == 0);
	OK(cuMemFree_v2(from));
	OK(cuMemFree_v2(room));
	OK(cuMemFree_v2(count_to));
}
