/* Kernel launches: a registered kernel's C twin runs in stream order with a copy of its arguments. */
#include "cudart_register.h"

#include <stdlib.h>
#include <string.h>

#define ARG_LIMIT 256
#define BLOCK_THREADS 1024

/* Followed by the arguments, each aligned to 16 bytes. */
struct launch {
	struct sg_kernel *kernel;
	dim3 grid, block;
	int arg_count;
};

static size_t padded(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

static void launch_work(void *arg)
{
	struct launch *launch = arg;
	char *value = (char *)launch + padded(sizeof(*launch));
	void *args[ARG_LIMIT];

	for (int i = 0; i < launch->arg_count; i++) {
		args[i] = value;
		value += padded(launch->kernel->arg_bytes[i]);
	}
	if (launch->kernel->twin != NULL)
		launch->kernel->twin(launch->grid, launch->block, launch->arg_count > 0 ? args : NULL);
}

static cudaError_t queue_launch(
	struct sg_kernel *kernel, dim3 grid, dim3 block, void **args, struct sg_stream *stream)
{
	struct launch launch = {kernel, grid, block, 0};
	size_t size = padded(sizeof(launch));
	char small[1024], *data = small, *value;
	cudaError_t error;

	if (kernel->arg_bytes != NULL && args != NULL) {
		while (launch.arg_count < ARG_LIMIT && kernel->arg_bytes[launch.arg_count] != 0)
			size += padded(kernel->arg_bytes[launch.arg_count++]);
	}
	if (size > sizeof(small))
		data = malloc(size);
	if (data == NULL)
		return cudaErrorMemoryAllocation;
	memcpy(data, &launch, sizeof(launch));
	value = data + padded(sizeof(launch));
	for (int i = 0; i < launch.arg_count; i++) {
		memcpy(value, args[i], kernel->arg_bytes[i]);
		value += padded(kernel->arg_bytes[i]);
	}
	error = sg_queue(stream, launch_work, data, size, NULL);
	if (data != small)
		free(data);
	return error;
}

static cudaError_t launch(struct sg_kernel *kernel, dim3 grid, dim3 block, void **args, cudaStream_t handle)
{
	struct sg_stream *stream = sg_stream_of(handle);

	if (kernel == NULL)
		return cudaErrorInvalidDeviceFunction;
	if (stream == NULL || stream->device != sg_self.device)
		return cudaErrorInvalidResourceHandle;
	if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0 ||
		(uint64_t)block.x * block.y * block.z > BLOCK_THREADS || grid.y > 65535 || grid.z > 65535)
		return cudaErrorInvalidConfiguration;
	return queue_launch(kernel, grid, block, args, stream);
}

cudaError_t cudaLaunchKernel(
	const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	SG_ENTER(cudaErrorLaunchOutOfResources);
	(void)sharedMem;
	return sg_result(launch(sg_kernel_find(func), gridDim, blockDim, args, stream));
}

cudaError_t cudaLaunchCooperativeKernel(
	const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream)
{
	SG_ENTER(cudaErrorLaunchOutOfResources);
	(void)sharedMem;
	return sg_result(launch(sg_kernel_find(func), gridDim, blockDim, args, stream));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	SG_ENTER(cudaErrorLaunchOutOfResources);
	if (config == NULL)
		return sg_result(cudaErrorInvalidValue);
	return sg_result(
		launch(sg_kernel_find(func), config->gridDim, config->blockDim, args, config->stream));
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
	(void)sharedMem;
	return sg_result(launch((struct sg_kernel *)(void *)kernel, gridDim, blockDim, args, stream));
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
	attr->maxThreadsPerBlock = BLOCK_THREADS;
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
	if (numBlocks == NULL || blockSize <= 0 || blockSize > BLOCK_THREADS)
		return sg_result(cudaErrorInvalidValue);
	*numBlocks = 2048 / blockSize < 32 ? 2048 / blockSize : 32;
	if (dynamicSMemSize > 0 && 233472 / dynamicSMemSize < (size_t)*numBlocks)
		*numBlocks = (int)(233472 / dynamicSMemSize);
	return cudaSuccess;
}
