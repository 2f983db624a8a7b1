/* cuLaunch*: kernels with their arguments, by pointers or packed. */
#include "cuda_private.h"
#include "calls/kernel.h"

/* What the numbers in `extra` announce. */
enum { EXTRA_END, EXTRA_BUFFER, EXTRA_BYTES };

/* Reads the packed arguments that the list names: pairs of a number and a pointer. */
static CUresult read_extra(struct sg_launch *launch, void **extra)
{
	for (size_t i = 0; (uintptr_t)extra[i] != EXTRA_END; i += 2) {
		if ((uintptr_t)extra[i] == EXTRA_BUFFER)
			launch->packed = extra[i + 1];
		else if ((uintptr_t)extra[i] == EXTRA_BYTES && extra[i + 1] != NULL)
			launch->packed_bytes = *(size_t *)extra[i + 1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult sg_driver_launch(CUfunction f, struct sg_launch *launch, void **extra, CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	if (sg_kernel_of(f) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (launch->args != NULL && extra != NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra != NULL)
		result = read_extra(launch, extra);
	if (result != CUDA_SUCCESS)
		return result;
	return sg_driver_result(sg_kernel_launch(sg_kernel_of(f), launch, stream));
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
	unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
	CUstream hStream, void **kernelParams, void **extra)
{
	struct sg_launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
		.block = {blockDimX, blockDimY, blockDimZ},
		.args = kernelParams,
		.shared_bytes = sharedMemBytes};

	SG_DRIVER(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	return sg_driver_launch(f, &launch, extra, hStream);
}

static struct sg_launch launch_of(const CUlaunchConfig *config)
{
	struct sg_launch launch = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.shared_bytes = config->sharedMemBytes};

	sg_launch_attributes(&launch, config->attrs, config->numAttrs);
	return launch;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
	struct sg_launch launch;

	SG_DRIVER(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	if (config == NULL || (config->numAttrs > 0 && config->attrs == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	launch = launch_of(config);
	launch.args = kernelParams;
	return sg_driver_launch(f, &launch, extra, config->hStream);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
	unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
	unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)
{
	struct sg_launch launch = {.grid = {gridDimX, gridDimY, gridDimZ},
		.block = {blockDimX, blockDimY, blockDimZ},
		.args = kernelParams,
		.shared_bytes = sharedMemBytes};

	SG_DRIVER(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	return sg_driver_launch(f, &launch, NULL, hStream);
}

/* What a launch of clusters of that kernel could be, by one of the questions that there are. */
static CUresult ask_of_clusters(int *answer, CUfunction func, const CUlaunchConfig *config,
	cudaError_t (*ask)(int *, const struct sg_kernel *, const struct sg_launch *))
{
	struct sg_launch launch;

	if (sg_kernel_of(func) == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (config == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	launch = launch_of(config);
	return sg_driver_result(ask(answer, sg_kernel_of(func), &launch));
}

DRIVER_OWN(cuOccupancyMaxActiveClusters,
	(int *, numClusters, CUfunction, func, const CUlaunchConfig *, config), CUDA_ERROR_INVALID_HANDLE,
	ask_of_clusters(numClusters, func, config, sg_kernel_clusters))
DRIVER_OWN(cuOccupancyMaxPotentialClusterSize,
	(int *, clusterSize, CUfunction, func, const CUlaunchConfig *, config), CUDA_ERROR_INVALID_HANDLE,
	ask_of_clusters(clusterSize, func, config, sg_kernel_largest_cluster))
