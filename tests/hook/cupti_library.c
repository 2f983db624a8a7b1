/*
 * A library as cuBLAS may be, for cupti_host: one call of it launches several kernels, and a set.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "cupti_library.h"

#define EXPORTED __attribute__((visibility("default")))

static cudaStream_t stream;

EXPORTED cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	*handle = (cublasHandle_t)(void *)&stream;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t its_stream)
{
	(void)handle;
	stream = its_stream;
	return CUBLAS_STATUS_SUCCESS;
}

EXPORTED cublasStatus_t cublasSscal_v2(cublasHandle_t handle, int n, const float *alpha, float *x, int incx)
{
	const dim3 grid = {2, 3, 4}, block = {32, 1, 1};
	int failed = 0;

	(void)handle, (void)alpha, (void)incx;
	for (int i = 0; i < LIBRARY_KERNELS; i++)
		failed |= cudaLaunchKernel(&kernel_spin, grid, block, NULL, 128, stream) != cudaSuccess;
	failed |= cudaMemsetAsync(x, 0, (size_t)n, stream) != cudaSuccess;
	return failed ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
