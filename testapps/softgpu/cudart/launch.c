/* Kernel launches, and what the code behind kernel<<<...>>>() calls. */
#include "calls/kernel.h"
#include "cudart_private.h"

#include <string.h>

static cudaError_t launch(struct sg_kernel *kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
	cudaStream_t stream)
{
	struct sg_launch launch = {.grid = grid, .block = block, .args = args, .shared_bytes = shared_bytes};

	return sg_kernel_launch(kernel, &launch, stream);
}

RUNTIME_PTSZ(cudaLaunchKernel,
	(const void *, func, dim3, gridDim, dim3, blockDim, void **, args, size_t, sharedMem, cudaStream_t,
		stream),
	cudaErrorLaunchOutOfResources,
	launch(sg_kernel_find(func), gridDim, blockDim, args, sharedMem, stream))
RUNTIME_PTSZ(cudaLaunchCooperativeKernel,
	(const void *, func, dim3, gridDim, dim3, blockDim, void **, args, size_t, sharedMem, cudaStream_t,
		stream),
	cudaErrorLaunchOutOfResources,
	launch(sg_kernel_find(func), gridDim, blockDim, args, sharedMem, stream))

static struct sg_launch launch_of(const cudaLaunchConfig_t *config)
{
	struct sg_launch what = {
		.grid = config->gridDim, .block = config->blockDim, .shared_bytes = config->dynamicSmemBytes};

	sg_launch_attributes(&what, config->attrs, config->numAttrs);
	return what;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	struct sg_launch what;

	SG_ENTER(cudaErrorLaunchOutOfResources);
	if (config == NULL || (config->numAttrs > 0 && config->attrs == NULL))
		return sg_result(cudaErrorInvalidValue);
	what = launch_of(config);
	what.args = args;
	return sg_result(sg_kernel_launch(sg_kernel_find(func), &what, config->stream));
}

/* ---- what the code behind kernel<<<...>>>() calls; a cudaKernel_t is a struct sg_kernel ---- */

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);
cudaError_t __cudaLaunchKernel(
	cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream);

/* Configurations nest only when an argument of a launch launches; a few levels are plenty. */
#define CONFIGURATIONS 16

static __thread struct {
	dim3 grid, block;
	size_t shared_bytes;
	void *stream;
} configurations[CONFIGURATIONS];

static __thread int configuration_count;

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, void *stream)
{
	if (configuration_count == CONFIGURATIONS)
		return 1;
	configurations[configuration_count].grid = gridDim;
	configurations[configuration_count].block = blockDim;
	configurations[configuration_count].shared_bytes = sharedMem;
	configurations[configuration_count].stream = stream;
	configuration_count++;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream)
{
	if (configuration_count == 0)
		return sg_result(cudaErrorMissingConfiguration);
	configuration_count--;
	*gridDim = configurations[configuration_count].grid;
	*blockDim = configurations[configuration_count].block;
	*sharedMem = configurations[configuration_count].shared_bytes;
	*(void **)stream = configurations[configuration_count].stream;
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	struct sg_kernel *found = sg_kernel_find(func);

	*kernel = (cudaKernel_t)(void *)found;
	return found != NULL ? cudaSuccess : sg_result(cudaErrorInvalidDeviceFunction);
}

RUNTIME_PTSZ(__cudaLaunchKernel,
	(cudaKernel_t, kernel, dim3, gridDim, dim3, blockDim, void **, args, size_t, sharedMem, cudaStream_t,
		stream),
	cudaErrorLaunchOutOfResources,
	launch(sg_kernel_of(kernel), gridDim, blockDim, args, sharedMem, stream))

/* ---- questions about kernels ---- */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	SG_ENTER(cudaErrorInvalidDeviceFunction);
	if (attr == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (sg_kernel_find(func) == NULL)
		return sg_result(cudaErrorInvalidDeviceFunction);
	memset(attr, 0, sizeof(*attr));
	attr->maxThreadsPerBlock = SG_BLOCK_THREADS;
	attr->numRegs = 32;
	attr->ptxVersion = 90;
	attr->binaryVersion = 90;
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	struct sg_kernel *kernel;

	SG_ENTER(cudaErrorInvalidDeviceFunction);
	kernel = sg_kernel_find(func);
	return sg_result(
		kernel == NULL ? cudaErrorInvalidDeviceFunction : sg_kernel_set(kernel, (int)attr, value));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
	int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize)
{
	SG_ENTER(cudaErrorInvalidDeviceFunction);
	if (sg_kernel_find(func) == NULL)
		return sg_result(cudaErrorInvalidDeviceFunction);
	return sg_result(sg_kernel_occupancy(numBlocks, blockSize, dynamicSMemSize));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidDeviceFunction);
	if (flags > 1) /* 1: caching is not overridden */
		return sg_result(cudaErrorInvalidValue);
	if (sg_kernel_find(func) == NULL)
		return sg_result(cudaErrorInvalidDeviceFunction);
	return sg_result(sg_kernel_occupancy(numBlocks, blockSize, dynamicSMemSize));
}

/* What a launch of clusters of that kernel could be, by one of the questions that there are. */
static cudaError_t ask_of_clusters(int *answer, const void *func, const cudaLaunchConfig_t *config,
	cudaError_t (*ask)(int *, const struct sg_kernel *, const struct sg_launch *))
{
	const struct sg_kernel *kernel;
	struct sg_launch what;

	if (config == NULL)
		return cudaErrorInvalidValue;
	kernel = sg_kernel_find(func);
	if (kernel == NULL)
		return cudaErrorInvalidDeviceFunction;
	what = launch_of(config);
	return ask(answer, kernel, &what);
}

RUNTIME(cudaOccupancyMaxActiveClusters,
	(int *, numClusters, const void *, func, const cudaLaunchConfig_t *, launchConfig),
	cudaErrorInvalidDeviceFunction, ask_of_clusters(numClusters, func, launchConfig, sg_kernel_clusters))
RUNTIME(cudaOccupancyMaxPotentialClusterSize,
	(int *, clusterSize, const void *, func, const cudaLaunchConfig_t *, launchConfig),
	cudaErrorInvalidDeviceFunction,
	ask_of_clusters(clusterSize, func, launchConfig, sg_kernel_largest_cluster))
