/*
 * What every trainer file needs: error checks that name the failing call, and memory that cannot be NULL. A
 * trainer has no caller to report to: it prints one line and exits with 1.
 */
#ifndef CHECK_H
#define CHECK_H

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>

/* Each answers NULL for success, else the library's own text for its error code. */
static inline const char *check_cuda(cudaError_t result)
{
	return result == cudaSuccess ? NULL : cudaGetErrorString(result);
}

static inline const char *check_cudnn(cudnnStatus_t result)
{
	return result == CUDNN_STATUS_SUCCESS ? NULL : cudnnGetErrorString(result);
}

static inline const char *check_cublas(cublasStatus_t result)
{
	return result == CUBLAS_STATUS_SUCCESS ? NULL : cublasGetStatusString(result);
}

static inline const char *check_nccl(ncclResult_t result)
{
	return result == ncclSuccess ? NULL : ncclGetErrorString(result);
}

/* The function above for the type of a call's result. */
/* clang-format off */
#define CHECK_OF(call) _Generic((call), \
	cudaError_t: check_cuda, \
	cudnnStatus_t: check_cudnn, \
	cublasStatus_t: check_cublas, \
	ncclResult_t: check_nccl)
/* clang-format on */

/* Makes a call of one of the four libraries; if it fails, prints call, error and line, and exits. */
#define CHECK(call) \
	do { \
		const char *text_ = CHECK_OF(call)(call); \
		if (text_) \
			errx(1, "%s:%d: %s: %s", __FILE_NAME__, __LINE__, #call, text_); \
	} while (0)

/* `count` zeroed elements of `size` bytes; the caller frees them. */
static inline void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		err(1, "%zu x %zu bytes of memory", count, size);
	return p;
}

#endif
