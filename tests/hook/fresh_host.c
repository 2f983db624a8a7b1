/*
 * A loop whose memory never has an address twice, as a framework's allocator may have it: on a library that
 * does nothing.
 *
 *     fresh_host STEPS
 */
#include <stdint.h>
#include <stdlib.h>

#include "pm_abi.h"

#define LAYERS 6u

cudaError_t cudaMemcpyAsync(
	void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *dst, int value, size_t count, cudaStream_t stream);
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
	int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb,
	const float *beta, float *c, int ldc);
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul, const void *alpha,
	const void *a, cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
	const void *beta, const void *c, cublasLtMatrixLayout_t c_layout, void *d,
	cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspace_bytes, cudaStream_t stream);
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t a_desc,
	const void *a, const void *beta, cudnnTensorDescriptor_t c_desc, void *c);

static void *fresh(void)
{
	static uintptr_t last = (uintptr_t)1 << 40;

	return (void *)(last += 512);
}

int main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 100;
	const float one = 1, zero = 0;

	for (int step = 0; step < steps; step++) {
		cudaMemcpyAsync(fresh(), fresh(), 4096, cudaMemcpyHostToDevice, NULL);
		for (unsigned layer = 0; layer < LAYERS; layer++) {
			/* the second half of the layers is as large as the first */
			const int width = 64 << layer % (LAYERS / 2);

			cublasSgemm_v2(NULL, CUBLAS_OP_N, CUBLAS_OP_N, width, 32, width, &one, fresh(), width,
				fresh(), width, &zero, fresh(), width);
			cublasLtMatmul(NULL, NULL, &one, fresh(), NULL, fresh(), NULL, &zero, fresh(), NULL,
				fresh(), NULL, NULL, fresh(), 0, NULL);
			cudnnAddTensor(NULL, &one, NULL, fresh(), &one, NULL, fresh());
		}
		cudaMemsetAsync(fresh(), 0, 512, NULL);
	}
	return 0;
}
