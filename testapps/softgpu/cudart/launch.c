/* Kernel launches, and what the code behind kernel<<<...>>>() calls. */
#include "calls/kernel.h"

#include <string.h>

static cudaError_t launch(struct sg_kernel *kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
	cudaStream_t stream)
{
	struct sg_launch launch = {.grid = grid, .block = block, .args = args, .shared_bytes = shared_bytes};

	return sg_kernel_launch(kernel, &launch, stream);
}

cudaError_t cudaLaunchKernel(
	const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	SG_ENTER(cudaErrorLaunchOutOfResources);
	return sg_result(launch(sg_kernel_find(func), gridDim, blockDim, args, sharedMem, stream));
}

cudaError_t cudaLaunchCooperativeKernel(
	const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	SG_ENTER(cudaErrorLaunchOutOfResources);
	return sg_result(launch(sg_kernel_find(func), gridDim, blockDim, args, sharedMem, stream));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	SG_ENTER(cudaErrorLaunchOutOfResources);
	if (config == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(launch(sg_kernel_find(func), config->gridDim, config->blockDim, args,
		config->dynamicSmemBytes, config->stream));
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

cudaError_t __cudaLaunchKernel(
	cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	SG_ENTER(cudaErrorLaunchOutOfResources);
	return sg_result(launch(sg_kernel_of(kernel), gridDim, blockDim, args, sharedMem, stream));
}

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
	SG_ENTER(cudaErrorInvalidDeviceFunction);
	if (sg_kernel_find(func) == NULL)
		return sg_result(cudaErrorInvalidDeviceFunction);
	/* 8 and 9: dynamic shared memory, and the preferred part of it in percent (-1: default). */
	if (((int)attr == 8 && (value < 0 || value > 232448)) ||
		((int)attr == 9 && (value < -1 || value > 100)) || (int)attr < 8)
		return sg_result(cudaErrorInvalidValue);
	return cudaSuccess;
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
