/*
 * What the stand-in cuBLAS's files share: handles, scalars that may lie in host or device memory, element
 * types.
 *
 * The one idea: a call checks its arguments, copies them and its host scalars into a job and submits that to
 * the handle's stream; scalars in device memory are read when the job runs.
 */
#ifndef CUBLAS_PRIVATE_H
#define CUBLAS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>
#include <cublas_v2.h>
#include "common.h"
#include "cost.h"
#include "core/sg.h"

/* The vendor's header declares the half precision calls to C++ alone; the pointers are to 16-bit numbers. */
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
	int n, int k, const void *alpha, const void *A, int lda, const void *B, int ldb, const void *beta,
	void *C, int ldc);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
	cublasOperation_t transb, int m, int n, int k, const void *alpha, const void *A, int lda,
	long long int strideA, const void *B, int ldb, long long int strideB, const void *beta, void *C,
	int ldc, long long int strideC, int batchCount);

#pragma GCC visibility push(hidden)

struct cublasContext {
	cudaStream_t stream;
	int device;
	cublasPointerMode_t pointer_mode;
	cublasMath_t math;
	cublasAtomicsMode_t atomics;
};

/* alpha or beta: taken at the call, or an address to read when the job runs. */
struct sg_scalar {
	double value;
	const void *address; /* NULL: value holds */
	cudaDataType type;
};

/* pointer: where the handle's pointer mode says, and of the given type (16-bit, float or double). Not NULL.
 */
struct sg_scalar sg_scalar_take(cublasHandle_t handle, const void *pointer, cudaDataType type);
double sg_scalar_value(const struct sg_scalar *scalar);

/* Whether what is scaled by it is read: a factor in device memory may be anything by then. */
bool sg_scalar_may_add(const struct sg_scalar *factor);

/* Queues fn on the handle's stream; `size` bytes at `arg` are copied. The formulas of costs are in
 * cost.h. fn must not have effects beside results: the model clock may leave it out. */
cublasStatus_t sg_cublas_submit(
	cublasHandle_t handle, const struct sg_cost *cost, sg_work *fn, const void *arg, size_t size);

/*
 * For calls with a result. Submits; waits where the result goes to host memory (pointer mode host), as cuBLAS
 * does. EXECUTION_FAILED during capture in that mode, for nothing can be waited for then. Where nothing is
 * computed (sg_numerics() is 0), `bytes` from `zeros` become the host's result: what vectors of zeros give.
 */
cublasStatus_t sg_cublas_submit_result(cublasHandle_t handle, const struct sg_cost *cost, sg_work *fn,
	const void *arg, size_t size, void *result, const void *zeros, size_t bytes);

#pragma GCC visibility pop

#endif
