/*
 * Checks what cuBLAS's and cuBLASLt's calls say they cost, against sizes and closed forms written out here,
 * and what results in host memory are when nothing is computed.
 */
#include <cublasLt.h>
#include <cublas_v2.h>

#include "test_cost.h"

/* The vendor's header declares it to C++ alone. */
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
	int n, int k, const void *alpha, const void *A, int lda, const void *B, int ldb, const void *beta,
	void *C, int ldc);

#define OK(call) \
	do { \
		if ((call) != CUBLAS_STATUS_SUCCESS) { \
			cost_failures++; \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #call); \
		} \
	} while (0)
#define EXPECT(condition) OK((condition) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR)

enum { M = 5, N = 7, K = 11, BATCH = 3 };

#define MK ((double)M * K)
#define KN ((double)K * N)
#define MN ((double)M * N)
#define FLOPS (2.0 * M * N * K)

static cublasHandle_t handle;
static const float one = 1, zero = 0;
static const double wide_one = 1, wide_zero = 0;

static void *matrix(void)
{
	return memory((size_t)BATCH * 16 * 16 * 8);
}

/* Array of pointers in device memory. */
static void *matrices(void)
{
	void *pointer[BATCH];
	void *array = memory(sizeof(pointer));

	for (int i = 0; i < BATCH; i++)
		pointer[i] = matrix();
	if (cudaMemcpy(array, pointer, sizeof(pointer), cudaMemcpyHostToDevice) != cudaSuccess)
		abort();
	return array;
}

static void sgemm(const float *beta)
{
	OK(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, &one, matrix(), 16, matrix(), 16, beta,
		matrix(), 16));
}

static void test_single(void)
{
	static const uint16_t half_one = 0x3c00, half_zero = 0;
	float *device_beta = memory(sizeof(*device_beta));

	sgemm(&zero);
	EXPECT_COST(PRODUCT, F32, FLOPS, 4 * (MK + KN + MN));
	sgemm(&one);
	EXPECT_COST(PRODUCT, F32, FLOPS, 4 * (MK + KN + 2 * MN));
	OK(cublasDgemm_v2(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &wide_one, matrix(), 16, matrix(), 16,
		&wide_zero, matrix(), 16));
	EXPECT_COST(PRODUCT, F64, FLOPS, 8 * (MK + KN + MN));
	OK(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &half_one, matrix(), 16, matrix(), 16,
		&half_zero, matrix(), 16));
	EXPECT_COST(PRODUCT, F16, FLOPS, 2 * (MK + KN + MN));
	OK(cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, matrix(), CUDA_R_16BF, 16, matrix(),
		CUDA_R_16BF, 16, &zero, matrix(), CUDA_R_32F, 16));
	EXPECT_COST(PRODUCT, F16, FLOPS, 2 * (MK + KN) + 4 * MN);
	/* A factor in device memory may be anything. */
	OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE));
	device_beta = memory(sizeof(*device_beta));
	OK(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, device_beta, matrix(), 16, matrix(), 16,
		device_beta, matrix(), 16));
	EXPECT_COST(PRODUCT, F32, FLOPS, 4 * (MK + KN + 2 * MN));
	OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST));
	/* Nothing to do is not submitted. */
	OK(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 0, N, K, &one, matrix(), 16, matrix(), 16, &zero,
		matrix(), 16));
	EXPECT(seen_count == 0);
}

static void gemm_ex(cudaDataType type, cublasComputeType_t compute)
{
	OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, matrix(), type, 16, matrix(), type,
		16, &zero, matrix(), type, 16, compute, CUBLAS_GEMM_DEFAULT));
}

static void test_arithmetic(void)
{
	const double bytes = MK + KN + MN;

	gemm_ex(CUDA_R_32F, CUBLAS_COMPUTE_32F);
	EXPECT_COST(PRODUCT, F32, FLOPS, 4 * bytes);
	gemm_ex(CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
	EXPECT_COST(PRODUCT, TF32, FLOPS, 4 * bytes);
	gemm_ex(CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_16F);
	EXPECT_COST(PRODUCT, F16, FLOPS, 4 * bytes);
	gemm_ex(CUDA_R_16F, CUBLAS_COMPUTE_32F);
	EXPECT_COST(PRODUCT, F16, FLOPS, 2 * bytes);
	gemm_ex(CUDA_R_16F, CUBLAS_COMPUTE_32F_PEDANTIC);
	EXPECT_COST(PRODUCT, F32, FLOPS, 2 * bytes);
	OK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
	sgemm(&zero);
	EXPECT_COST(PRODUCT, TF32, FLOPS, 4 * bytes);
	gemm_ex(CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC);
	EXPECT_COST(PRODUCT, F32, FLOPS, 4 * bytes);
	OK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
	gemm_ex(CUDA_R_16F, CUBLAS_COMPUTE_32F);
	EXPECT_COST(PRODUCT, F32, FLOPS, 2 * bytes);
	OK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
}

static void test_batches(void)
{
	const double bytes = 4 * BATCH * (MK + KN + MN);

	OK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, matrices(), 16, matrices(), 16,
		&zero, matrices(), 16, BATCH));
	EXPECT_COST(PRODUCT, F32, BATCH * FLOPS, bytes);
	OK(cublasDgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &wide_one, matrices(), 16,
		matrices(), 16, &wide_one, matrices(), 16, BATCH));
	EXPECT_COST(PRODUCT, F64, BATCH * FLOPS, 2 * bytes + 8 * BATCH * MN);
	OK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, matrix(), 16, 256,
		matrix(), 16, 256, &zero, matrix(), 16, 256, BATCH));
	EXPECT_COST(PRODUCT, F32, BATCH * FLOPS, bytes);
	/* One B for all. */
	OK(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, matrix(), 16, 256,
		matrix(), 16, 0, &zero, matrix(), 16, 256, BATCH));
	EXPECT_COST(PRODUCT, F32, BATCH * FLOPS, bytes - 4 * (BATCH - 1) * KN);
	OK(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, matrix(), CUDA_R_16F,
		16, 256, matrix(), CUDA_R_16F, 16, 256, &zero, matrix(), CUDA_R_16F, 16, 256, BATCH,
		CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
	EXPECT_COST(PRODUCT, F16, BATCH * FLOPS, bytes / 2);
	OK(cublasGemmBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, matrices(), CUDA_R_32F, 16,
		matrices(), CUDA_R_32F, 16, &zero, matrices(), CUDA_R_32F, 16, BATCH, CUBLAS_COMPUTE_32F,
		CUBLAS_GEMM_DEFAULT));
	EXPECT_COST(PRODUCT, F32, BATCH * FLOPS, bytes);
}

/* Two products of one size and one of another. */
static void test_groups(void)
{
	const cublasOperation_t plain[] = {CUBLAS_OP_N, CUBLAS_OP_N};
	const int m[] = {M, N}, n[] = {N, M}, k[] = {K, K}, ld[] = {16, 16}, size[] = {2, 1};
	const float ones[] = {1, 1}, zeros[] = {0, 0};

	OK(cublasSgemmGroupedBatched(handle, plain, plain, m, n, k, ones, matrices(), ld, matrices(), ld,
		zeros, matrices(), ld, 2, size));
	EXPECT_COST(PRODUCT, F32, 3 * FLOPS, 4 * (2 * (MK + KN + MN) + N * K + K * M + MN));
}

static void test_matrix_and_vector(void)
{
	OK(cublasSgemv_v2(handle, CUBLAS_OP_N, M, N, &one, matrix(), 16, matrix(), 1, &zero, matrix(), 1));
	EXPECT_COST(VECTOR, F32, 2 * MN, 4 * (MN + M + N));
	OK(cublasDgemv_v2(
		handle, CUBLAS_OP_T, M, N, &wide_one, matrix(), 16, matrix(), 1, &wide_one, matrix(), 1));
	EXPECT_COST(VECTOR, F64, 2 * MN, 8 * (MN + M + N + N));
	OK(cublasSger_v2(handle, M, N, &one, matrix(), 1, matrix(), 1, matrix(), 16));
	EXPECT_COST(VECTOR, F32, 2 * MN, 4 * (2 * MN + M + N));
	OK(cublasSgeam(
		handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, &one, matrix(), 16, &zero, NULL, 16, matrix(), 16));
	EXPECT_COST(VECTOR, F32, MN, 4 * 2 * MN);
	OK(cublasSgeam(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, &one, matrix(), 16, &one, matrix(), 16,
		matrix(), 16));
	EXPECT_COST(VECTOR, F32, MN, 4 * 3 * MN);
	OK(cublasSdgmm(handle, CUBLAS_SIDE_RIGHT, M, N, matrix(), 16, matrix(), 1, matrix(), 16));
	EXPECT_COST(VECTOR, F32, MN, 4 * (2 * MN + N));
}

static void test_vectors(void)
{
	float result = -1;
	double wide = -1;
	int index = -1;

	OK(cublasSaxpy_v2(handle, N, &one, matrix(), 1, matrix(), 2));
	EXPECT_COST(VECTOR, F32, 2 * N, 4 * 3 * N);
	OK(cublasDscal_v2(handle, N, &wide_one, matrix(), 1));
	EXPECT_COST(VECTOR, F64, N, 8 * 2 * N);
	OK(cublasScopy_v2(handle, N, matrix(), 1, matrix(), 1));
	EXPECT_COST(VECTOR, F32, 0, 4 * 2 * N);
	OK(cublasSswap_v2(handle, N, matrix(), 1, matrix(), 1));
	EXPECT_COST(VECTOR, F32, 0, 4 * 4 * N);
	OK(cublasAxpyEx(
		handle, N, &one, CUDA_R_32F, matrix(), CUDA_R_16F, 1, matrix(), CUDA_R_16F, 1, CUDA_R_32F));
	EXPECT_COST(VECTOR, F32, 2 * N, 2 * 3 * N);
	/* The memory holds zeros from here on: with or without computing, the results are those of zeros. */
	arena_clear();
	OK(cublasSdot_v2(handle, N, matrix(), 1, matrix(), 1, &result));
	EXPECT_COST(VECTOR, F32, 2 * N, 4 * 2 * N);
	EXPECT(result == 0);
	OK(cublasDdot_v2(handle, N, matrix(), 1, matrix(), 1, &wide));
	EXPECT_COST(VECTOR, F64, 2 * N, 8 * 2 * N);
	EXPECT(wide == 0);
	wide = -1;
	OK(cublasDnrm2_v2(handle, N, matrix(), 1, &wide));
	EXPECT_COST(VECTOR, F64, 2 * N, 8 * N);
	EXPECT(wide == 0);
	result = -1;
	OK(cublasSasum_v2(handle, N, matrix(), 1, &result));
	EXPECT_COST(VECTOR, F32, N, 4 * N);
	EXPECT(result == 0);
	OK(cublasIsamax_v2(handle, N, matrix(), 1, &index));
	EXPECT_COST(VECTOR, F32, N, 4 * N);
	EXPECT(index == 1);
	OK(cublasIsamin_v2(handle, 0, matrix(), 1, &index));
	EXPECT_COST(VECTOR, F32, 0, 0);
	EXPECT(index == 0);
}

static cublasLtMatrixLayout_t layout_of(cudaDataType type, int rows, int columns, int batch)
{
	cublasLtMatrixLayout_t layout = NULL;
	int64_t stride = 256;

	OK(cublasLtMatrixLayoutCreate(&layout, type, (uint64_t)rows, (uint64_t)columns, 16));
	OK(cublasLtMatrixLayoutSetAttribute(
		layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)));
	OK(cublasLtMatrixLayoutSetAttribute(
		layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
	return layout;
}

static void lt_matmul(cublasLtHandle_t lt, cudaDataType type, cublasComputeType_t compute,
	cublasLtEpilogue_t epilogue, int batch, const float *beta)
{
	cublasLtMatrixLayout_t a = layout_of(type, M, K, batch), b = layout_of(type, K, N, batch);
	cublasLtMatrixLayout_t c = layout_of(type, M, N, batch);
	cublasLtMatmulDesc_t how = NULL;
	void *bias = matrix(), *aux = matrix();
	int64_t aux_ld = 128;

	OK(cublasLtMatmulDescCreate(&how, compute, CUDA_R_32F));
	OK(cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	OK(cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
	OK(cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof(aux)));
	OK(cublasLtMatmulDescSetAttribute(
		how, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &aux_ld, sizeof(aux_ld)));
	OK(cublasLtMatmul(lt, how, &one, matrix(), a, matrix(), b, beta, matrix(), c, matrix(), c, NULL, NULL,
		0, NULL));
	OK(cublasLtMatmulDescDestroy(how));
	OK(cublasLtMatrixLayoutDestroy(a));
	OK(cublasLtMatrixLayoutDestroy(b));
	OK(cublasLtMatrixLayoutDestroy(c));
}

/* A transposed, in lines of 16. */
static void test_8_bits(cublasLtHandle_t lt)
{
	cublasLtMatrixLayout_t a = layout_of((cudaDataType)28, 16, M, 1),
			       b = layout_of((cudaDataType)28, 16, N, 1);
	cublasLtMatrixLayout_t c = layout_of(CUDA_R_16F, M, N, 1);
	cublasLtMatmulDesc_t how = NULL;
	const int32_t transposed = CUBLAS_OP_T;

	OK(cublasLtMatmulDescCreate(&how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	OK(cublasLtMatmulDescSetAttribute(how, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)));
	OK(cublasLtMatmul(lt, how, &one, matrix(), a, matrix(), b, &zero, matrix(), c, matrix(), c, NULL,
		NULL, 0, NULL));
	EXPECT_COST(PRODUCT, F8, 2.0 * M * N * 16, 16 * M + 16 * N + 2 * MN);
	OK(cublasLtMatmulDescDestroy(how));
	OK(cublasLtMatrixLayoutDestroy(a));
	OK(cublasLtMatrixLayoutDestroy(b));
	OK(cublasLtMatrixLayoutDestroy(c));
}

static void test_lt(void)
{
	const double bytes = 4 * (MK + KN + MN);
	cublasLtHandle_t lt = NULL;
	cublasLtMatrixLayout_t layout = layout_of(CUDA_R_32F, M, N, BATCH);
	cublasLtMatrixTransformDesc_t transform = NULL;

	OK(cublasLtCreate(&lt));
	lt_matmul(lt, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLASLT_EPILOGUE_DEFAULT, 1, &zero);
	EXPECT_COST(PRODUCT, F32, FLOPS, bytes);
	lt_matmul(lt, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLASLT_EPILOGUE_DEFAULT, 1, &one);
	EXPECT_COST(PRODUCT, TF32, FLOPS, bytes + 4 * MN);
	lt_matmul(lt, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUBLASLT_EPILOGUE_DEFAULT, BATCH, &zero);
	EXPECT_COST(PRODUCT, F16, BATCH * FLOPS, BATCH * bytes / 2);
	lt_matmul(lt, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLASLT_EPILOGUE_RELU_BIAS, 1, &zero);
	EXPECT_COST(PRODUCT, F32, FLOPS, bytes + 4 * M);
	lt_matmul(lt, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, 1, &zero);
	EXPECT_COST(PRODUCT, F32, FLOPS, bytes + 4 * M + MN / 8);
	lt_matmul(lt, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLASLT_EPILOGUE_GELU_AUX, 1, &zero);
	EXPECT_COST(PRODUCT, F32, FLOPS, bytes + 4 * MN);
	lt_matmul(lt, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUBLASLT_EPILOGUE_BGRADB, 1, &zero);
	EXPECT_COST(PRODUCT, F32, FLOPS, bytes + 4 * N);
	test_8_bits(lt);
	OK(cublasLtMatrixTransformDescCreate(&transform, CUDA_R_32F));
	OK(cublasLtMatrixTransform(
		lt, transform, &one, matrix(), layout, NULL, NULL, NULL, matrix(), layout, NULL));
	EXPECT_COST(VECTOR, F32, 0, 4 * 2 * BATCH * MN);
	OK(cublasLtMatrixTransform(
		lt, transform, &one, matrix(), layout, &one, matrix(), layout, matrix(), layout, NULL));
	EXPECT_COST(VECTOR, F32, BATCH * MN, 4 * 3 * BATCH * MN);
	OK(cublasLtMatrixTransformDescDestroy(transform));
	OK(cublasLtMatrixLayoutDestroy(layout));
	OK(cublasLtDestroy(lt));
}

int main(int argc, char **argv)
{
	computes = argc > 1 && strcmp(argv[1], "compute") == 0;
	arena_begin();
	OK(cublasCreate_v2(&handle));
	test_single();
	test_arithmetic();
	test_batches();
	test_groups();
	test_matrix_and_vector();
	test_vectors();
	test_lt();
	expect_loaded("libopenblas");
	OK(cublasDestroy_v2(handle));
	arena_end();
	return cost_failures != 0;
}
