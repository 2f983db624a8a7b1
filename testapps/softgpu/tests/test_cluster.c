/*
 * Checks clusters of blocks of the stand-in runtime and driver: what launches, and what
 * room there is, on a device that has them; that one of before compute capability 9.0 (SOFTGPU_PROFILE=a100)
 * refuses them.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define INVALID_CLUSTER_SIZE 912
#define NOT_SUPPORTED 801

enum { CLUSTER_WIDTH = 11, CLUSTER_HEIGHT = 12, LARGE_CLUSTERS = 14, CLUSTER_LAUNCH = 120 };

static int failures;

static void expect(int line, int got, int wanted)
{
	if (got != wanted) {
		failures++;
		printf("line %d: %d, expected %d\n", line, got, wanted);
	}
}

#define EXPECT(got, wanted) expect(__LINE__, (int)(got), (int)(wanted))

/* An attribute of a launch, as both APIs have it; of numbers that they may not have names for. */
struct attribute {
	int id;
	char pad[4];
	unsigned size[3];
	char room[52];
};

static struct attribute cluster(unsigned x, unsigned y, unsigned z)
{
	return (struct attribute){.id = 4, .size = {x, y, z}};
}

static CUfunction kernel;
static bool has_clusters;

static int by_driver(unsigned grid, struct attribute attribute)
{
	const struct attribute list[] = {{.id = 1}, attribute};
	CUlaunchConfig config;

	memset(&config, 0, sizeof(config));
	config.gridDimX = grid;
	config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
	config.attrs = (void *)(uintptr_t)list;
	config.numAttrs = 2;
	return (int)cuLaunchKernelEx(&config, kernel, NULL, NULL);
}

static cudaLaunchConfig_t configuration(unsigned grid, unsigned block, const struct attribute *attribute)
{
	cudaLaunchConfig_t config;

	memset(&config, 0, sizeof(config));
	config.gridDim = (dim3){grid, 1, 1};
	config.blockDim = (dim3){block, 1, 1};
	config.attrs = (void *)(uintptr_t)attribute;
	config.numAttrs = 1;
	return config;
}

static int by_runtime(unsigned grid, struct attribute attribute)
{
	const cudaLaunchConfig_t config = configuration(grid, 1, &attribute);
	int error = (int)cudaLaunchKernelExC(&config, (const void *)kernel, NULL);

	EXPECT(cudaGetLastError(), error);
	return error;
}

/* Both ways. */
static int launch(unsigned grid, struct attribute attribute)
{
	int error = by_driver(grid, attribute);

	EXPECT(by_runtime(grid, attribute), error);
	return error;
}

/* What there is, or that it is refused. */
static int here(int error)
{
	return has_clusters ? error : NOT_SUPPORTED;
}

static void test_launches(void)
{
	EXPECT(launch(8, (struct attribute){.id = 1}), 0);
	EXPECT(launch(8, cluster(2, 1, 1)), here(0));
	EXPECT(launch(8, cluster(8, 1, 1)), here(0));
	EXPECT(launch(8, cluster(3, 1, 1)), here(INVALID_CLUSTER_SIZE));
	EXPECT(launch(8, cluster(2, 2, 1)), here(INVALID_CLUSTER_SIZE));
	EXPECT(launch(8, cluster(2, 0, 1)), here(INVALID_CLUSTER_SIZE));
	EXPECT(launch(16, cluster(16, 1, 1)), here(INVALID_CLUSTER_SIZE));
	EXPECT(cudaFuncSetAttribute((const void *)kernel, (enum cudaFuncAttribute)LARGE_CLUSTERS, 1),
		here(0));
	EXPECT(launch(16, cluster(16, 1, 1)), here(0));
	EXPECT(launch(32, cluster(32, 1, 1)), here(INVALID_CLUSTER_SIZE));
	EXPECT(cudaFuncSetAttribute((const void *)kernel, (enum cudaFuncAttribute)LARGE_CLUSTERS, 0), 0);
	EXPECT(launch(16, cluster(16, 1, 1)), here(INVALID_CLUSTER_SIZE));
}

/* A kernel's own size holds where the launch has none. */
static void test_required(void)
{
	int value = -1;

	EXPECT(cuFuncSetAttribute(kernel, (CUfunction_attribute)CLUSTER_WIDTH, 4), here(0));
	EXPECT(cuFuncSetAttribute(kernel, (CUfunction_attribute)CLUSTER_HEIGHT, 1), here(0));
	EXPECT(cuFuncGetAttribute(&value, (CUfunction_attribute)CLUSTER_WIDTH, kernel), 0);
	EXPECT(value, has_clusters ? 4 : 0);
	EXPECT(launch(8, (struct attribute){.id = 1}), 0);
	EXPECT(launch(6, (struct attribute){.id = 1}), has_clusters ? INVALID_CLUSTER_SIZE : 0);
	EXPECT(cuFuncSetAttribute(kernel, (CUfunction_attribute)CLUSTER_WIDTH, 0), 0);
	EXPECT(cuFuncSetAttribute(kernel, (CUfunction_attribute)16, 1), CUDA_ERROR_INVALID_VALUE);
}

static void test_room(void)
{
	const struct attribute four = cluster(4, 1, 1);
	const cudaLaunchConfig_t config = configuration(8, 1024, &four);
	int clusters = -1, largest = -1, multiprocessors = 0, value = -1;

	EXPECT(cudaDeviceGetAttribute(&multiprocessors, (enum cudaDeviceAttr)16, 0), 0);
	EXPECT(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)CLUSTER_LAUNCH, 0), 0);
	EXPECT(value, has_clusters);
	EXPECT(cudaOccupancyMaxActiveClusters(&clusters, (const void *)kernel, &config), here(0));
	EXPECT(clusters, has_clusters ? 2 * multiprocessors / 4 : -1);
	EXPECT(cudaOccupancyMaxPotentialClusterSize(&largest, (const void *)kernel, &config), here(0));
	EXPECT(largest, has_clusters ? 8 : -1);
	EXPECT(cudaOccupancyMaxActiveClusters(&clusters, (const void *)kernel, NULL), cudaErrorInvalidValue);
	cudaGetLastError();
}

int main(void)
{
	CUlibrary library;
	CUkernel found;
	int major = 0;

	EXPECT(cudaSetDevice(0), 0);
	EXPECT(cudaDeviceGetAttribute(&major, (enum cudaDeviceAttr)75, 0), 0);
	has_clusters = major >= 9;
	EXPECT(cuLibraryLoadData(&library, "any image", NULL, NULL, 0, NULL, NULL, 0), 0);
	EXPECT(cuLibraryGetKernel(&found, library, "nothing"), 0);
	kernel = (CUfunction)(void *)found;
	test_launches();
	test_required();
	test_room();
	EXPECT(cudaDeviceSynchronize(), 0);
	return failures != 0;
}
