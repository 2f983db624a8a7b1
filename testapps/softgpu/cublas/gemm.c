/*
 * Matrix products, single, batched and strided, in all supported types.
 *
 * The one idea: every call becomes one job with a type per matrix, a count and a way to find the next
 * matrices; float and double go to OpenBLAS as they are, 16-bit types through float copies.
 */
#include "cublas_private.h"
#include "openblas.h"

#include <stdlib.h>

struct matrix {
	const void *base; /* the first matrix, or an array of pointers in device memory */
	cudaDataType type;
	int ld;
	int64_t stride; /* elements from one matrix to the next, where base is no array */
};

struct gemm_job {
	cublasOperation_t op_a, op_b;
	int m, n, k;
	struct sg_scalar alpha, beta;
	struct matrix a, b, c;
	bool are_arrays;
	int count;
	int device;
};

static CBLAS_TRANSPOSE transpose_of(cublasOperation_t op)
{
	return op == CUBLAS_OP_N || op == CUBLAS_OP_CONJG ? CblasNoTrans : CblasTrans;
}

static bool is_transposed(cublasOperation_t op)
{
	return transpose_of(op) == CblasTrans;
}

static void *find_matrix(const struct gemm_job *job, const struct matrix *matrix, int index)
{
	const char *base = matrix->base;

	if (job->are_arrays)
		return ((void *const *)matrix->base)[index];
	return (void *)(uintptr_t)(base + index * matrix->stride * (int64_t)sg_real_bytes(matrix->type));
}

/* A packed float copy of a matrix as it lies in memory. */
static float *widen(const void *from, const struct matrix *matrix, int rows, int columns)
{
	float *copy = malloc(((size_t)rows * (size_t)columns + 1) * sizeof(*copy));

	for (int j = 0; copy != NULL && j < columns; j++) {
		for (int i = 0; i < rows; i++)
			copy[(int64_t)j * rows + i] =
				(float)sg_load(from, matrix->type, (int64_t)j * matrix->ld + i);
	}
	return copy;
}

static void multiply_widened(
	const struct gemm_job *job, const void *a, const void *b, void *c, float alpha, float beta)
{
	int a_rows = is_transposed(job->op_a) ? job->k : job->m;
	int a_columns = is_transposed(job->op_a) ? job->m : job->k;
	int b_rows = is_transposed(job->op_b) ? job->n : job->k;
	int b_columns = is_transposed(job->op_b) ? job->k : job->n;
	float *wide_a = widen(a, &job->a, a_rows, a_columns);
	float *wide_b = widen(b, &job->b, b_rows, b_columns);
	float *wide_c = widen(c, &job->c, job->m, job->n);

	if (wide_a == NULL || wide_b == NULL || wide_c == NULL) {
		sg_async_error(job->device, cudaErrorMemoryAllocation);
		goto out;
	}
	sg_blas.cblas_sgemm(CblasColMajor, transpose_of(job->op_a), transpose_of(job->op_b), job->m, job->n,
		job->k, alpha, wide_a, a_rows > 0 ? a_rows : 1, wide_b, b_rows > 0 ? b_rows : 1, beta, wide_c,
		job->m);
	for (int j = 0; j < job->n; j++) {
		for (int i = 0; i < job->m; i++)
			sg_store(c, job->c.type, (int64_t)j * job->c.ld + i,
				(double)wide_c[(int64_t)j * job->m + i]);
	}
out:
	free(wide_a);
	free(wide_b);
	free(wide_c);
}

static void run_gemm(void *arg)
{
	const struct gemm_job *job = arg;
	double alpha = sg_scalar_value(&job->alpha);
	double beta = sg_scalar_value(&job->beta);
	bool is_float = job->a.type == CUDA_R_32F && job->b.type == CUDA_R_32F && job->c.type == CUDA_R_32F;
	CBLAS_TRANSPOSE op_a = transpose_of(job->op_a);
	CBLAS_TRANSPOSE op_b = transpose_of(job->op_b);

	for (int i = 0; i < job->count; i++) {
		const void *a = find_matrix(job, &job->a, i);
		const void *b = find_matrix(job, &job->b, i);
		void *c = find_matrix(job, &job->c, i);

		if (job->c.type == CUDA_R_64F)
			sg_blas.cblas_dgemm(CblasColMajor, op_a, op_b, job->m, job->n, job->k, alpha, a,
				job->a.ld, b, job->b.ld, beta, c, job->c.ld);
		else if (is_float)
			sg_blas.cblas_sgemm(CblasColMajor, op_a, op_b, job->m, job->n, job->k, (float)alpha,
				a, job->a.ld, b, job->b.ld, (float)beta, c, job->c.ld);
		else
			multiply_widened(job, a, b, c, (float)alpha, (float)beta);
	}
}

static bool op_is_known(cublasOperation_t op)
{
	return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static bool ld_fits(int ld, int rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

/* Addresses that lie in an array in device memory are not known. */
static int alignment_of(const struct gemm_job *job)
{
	const struct matrix *const matrices[] = {&job->a, &job->b, &job->c};
	int alignment = 16;

	for (int i = 0; i < 3; i++)
		alignment = sg_cost_alignment(alignment, matrices[i]->type, matrices[i]->ld,
			job->are_arrays ? NULL : matrices[i]->base);
	return alignment;
}

static struct sg_cost cost_of(const struct gemm_job *job, cublasComputeType_t compute, cublasMath_t math)
{
	/* A stride of 0 is one matrix for all; arrays of pointers may be anything. */
	bool shares_a = !job->are_arrays && job->a.stride == 0;
	bool shares_b = !job->are_arrays && job->b.stride == 0;
	const struct sg_product product = {job->m, job->n, job->k, job->count, shares_a ? 1 : job->count,
		shares_b ? 1 : job->count, job->a.type, job->b.type, job->c.type,
		sg_scalar_may_add(&job->beta), alignment_of(job)};

	return sg_cost_product(&product, sg_cost_product_type(job->a.type, compute, math));
}

static bool is_empty(const struct gemm_job *job)
{
	return job->m == 0 || job->n == 0 || job->count == 0;
}

/* Checks a job whose scalars are still to be taken, and takes them, of type `scale`. */
static cublasStatus_t prepare(
	cublasHandle_t handle, struct gemm_job *job, const void *alpha, const void *beta, cudaDataType scale)
{
	if (!op_is_known(job->op_a) || !op_is_known(job->op_b) || job->m < 0 || job->n < 0 || job->k < 0 ||
		job->count < 0 || alpha == NULL || beta == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!ld_fits(job->a.ld, is_transposed(job->op_a) ? job->k : job->m) ||
		!ld_fits(job->b.ld, is_transposed(job->op_b) ? job->n : job->k) ||
		!ld_fits(job->c.ld, job->m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (is_empty(job))
		return CUBLAS_STATUS_SUCCESS;
	if (job->c.base == NULL || (job->k > 0 && (job->a.base == NULL || job->b.base == NULL)))
		return CUBLAS_STATUS_INVALID_VALUE;
	job->alpha = sg_scalar_take(handle, alpha, scale);
	job->beta = sg_scalar_take(handle, beta, scale);
	job->device = sg_stream_device(handle->stream);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t submit(cublasHandle_t handle, struct gemm_job *job, const void *alpha, const void *beta,
	cudaDataType scale, cublasComputeType_t compute)
{
	cublasStatus_t status;
	struct sg_cost cost;

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	status = prepare(handle, job, alpha, beta, scale);
	if (status != CUBLAS_STATUS_SUCCESS || is_empty(job))
		return status;
	cost = cost_of(job, compute, handle->math);
	return sg_cublas_submit(handle, &cost, run_gemm, job, sizeof(*job));
}

/* The type of alpha and beta; false for a combination that is not computed. */
static bool find_scale(cublasComputeType_t compute, const struct gemm_job *job, cudaDataType *scale)
{
	cudaDataType type = job->a.type;

	if (type != job->b.type)
		return false;
	switch ((int)compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		*scale = CUDA_R_16F;
		return type == CUDA_R_16F && job->c.type == CUDA_R_16F;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
		*scale = CUDA_R_32F;
		return (type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF) &&
		       (job->c.type == CUDA_R_32F || job->c.type == type);
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		*scale = CUDA_R_64F;
		return type == CUDA_R_64F && job->c.type == CUDA_R_64F;
	default:
		return false;
	}
}

static cublasStatus_t submit_ex(cublasHandle_t handle, struct gemm_job *job, const void *alpha,
	const void *beta, cublasComputeType_t compute)
{
	cudaDataType scale;

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!find_scale(compute, job, &scale))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return submit(handle, job, alpha, beta, scale, compute);
}

/* ---- the calls for one type: a row each, of name, type in C, type, arithmetic ---- */

#define GEMM(name, real, type, arithmetic) \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
		int m, int n, int k, const real *alpha, const real *A, int lda, const real *B, int ldb, \
		const real *beta, real *C, int ldc) \
	{ \
		struct gemm_job job = {transa, transb, m, n, k, .a = {A, type, lda, 0}, \
			.b = {B, type, ldb, 0}, .c = {C, type, ldc, 0}, .count = 1}; \
\
		SG_ENTER(); \
		return submit(handle, &job, alpha, beta, type, arithmetic); \
	}
GEMM(cublasSgemm_v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM(cublasDgemm_v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM(cublasHgemm, void, CUDA_R_16F, CUBLAS_COMPUTE_16F)

#define GEMM_BATCHED(name, real, type, arithmetic) \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
		int m, int n, int k, const real *alpha, const real *const Aarray[], int lda, \
		const real *const Barray[], int ldb, const real *beta, real *const Carray[], int ldc, \
		int batchCount) \
	{ \
		struct gemm_job job = {transa, transb, m, n, k, .a = {Aarray, type, lda, 0}, \
			.b = {Barray, type, ldb, 0}, .c = {Carray, type, ldc, 0}, .are_arrays = true, \
			.count = batchCount}; \
\
		SG_ENTER(); \
		return submit(handle, &job, alpha, beta, type, arithmetic); \
	}
GEMM_BATCHED(cublasSgemmBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_BATCHED(cublasDgemmBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)

#define GEMM_STRIDED(name, real, type, arithmetic) \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
		int m, int n, int k, const real *alpha, const real *A, int lda, long long int strideA, \
		const real *B, int ldb, long long int strideB, const real *beta, real *C, int ldc, \
		long long int strideC, int batchCount) \
	{ \
		struct gemm_job job = {transa, transb, m, n, k, .a = {A, type, lda, strideA}, \
			.b = {B, type, ldb, strideB}, .c = {C, type, ldc, strideC}, .count = batchCount}; \
\
		SG_ENTER(); \
		return submit(handle, &job, alpha, beta, type, arithmetic); \
	}
GEMM_STRIDED(cublasSgemmStridedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_STRIDED(cublasDgemmStridedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
GEMM_STRIDED(cublasHgemmStridedBatched, void, CUDA_R_16F, CUBLAS_COMPUTE_16F)

/* ---- the calls that are told their types ---- */

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
	int n, int k, const float *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
	cudaDataType Btype, int ldb, const float *beta, void *C, cudaDataType Ctype, int ldc)
{
	struct gemm_job job = {transa, transb, m, n, k, .a = {A, Atype, lda, 0}, .b = {B, Btype, ldb, 0},
		.c = {C, Ctype, ldc, 0}, .count = 1};

	SG_ENTER();
	return submit_ex(handle, &job, alpha, beta, CUBLAS_COMPUTE_32F);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
	int n, int k, const void *alpha, const void *A, cudaDataType Atype, int lda, const void *B,
	cudaDataType Btype, int ldb, const void *beta, void *C, cudaDataType Ctype, int ldc,
	cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
	struct gemm_job job = {transa, transb, m, n, k, .a = {A, Atype, lda, 0}, .b = {B, Btype, ldb, 0},
		.c = {C, Ctype, ldc, 0}, .count = 1};

	(void)algo;
	SG_ENTER();
	return submit_ex(handle, &job, alpha, beta, computeType);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
	int m, int n, int k, const void *alpha, const void *const Aarray[], cudaDataType Atype, int lda,
	const void *const Barray[], cudaDataType Btype, int ldb, const void *beta, void *const Carray[],
	cudaDataType Ctype, int ldc, int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
	struct gemm_job job = {transa, transb, m, n, k, .a = {Aarray, Atype, lda, 0},
		.b = {Barray, Btype, ldb, 0}, .c = {Carray, Ctype, ldc, 0}, .are_arrays = true,
		.count = batchCount};

	(void)algo;
	SG_ENTER();
	return submit_ex(handle, &job, alpha, beta, computeType);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
	cublasOperation_t transb, int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
	int lda, long long int strideA, const void *B, cudaDataType Btype, int ldb, long long int strideB,
	const void *beta, void *C, cudaDataType Ctype, int ldc, long long int strideC, int batchCount,
	cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
	struct gemm_job job = {transa, transb, m, n, k, .a = {A, Atype, lda, strideA},
		.b = {B, Btype, ldb, strideB}, .c = {C, Ctype, ldc, strideC}, .count = batchCount};

	(void)algo;
	SG_ENTER();
	return submit_ex(handle, &job, alpha, beta, computeType);
}

/* ---- groups of products, each of its own sizes, in one call ---- */

struct group_job {
	int count;
	struct gemm_job job[];
};

static void run_groups(void *arg)
{
	struct group_job *groups = arg;

	for (int i = 0; i < groups->count; i++)
		run_gemm(&groups->job[i]);
}

/* The arguments of a call: arrays in host memory with an element for each group, but for the matrices. */
struct groups {
	const cublasOperation_t *op_a, *op_b;
	const int *m, *n, *k;
	const void *alpha, *beta;
	const void *const *a, *const *b;
	void *const *c;
	cudaDataType a_type, b_type, c_type;
	const int *lda, *ldb, *ldc;
	int count;
	const int *size;
	cublasComputeType_t compute;
};

static bool groups_are_given(const struct groups *g)
{
	return g->count >= 0 &&
	       (g->count == 0 ||
		       (g->op_a != NULL && g->op_b != NULL && g->m != NULL && g->n != NULL && g->k != NULL &&
			       g->alpha != NULL && g->beta != NULL && g->lda != NULL && g->ldb != NULL &&
			       g->ldc != NULL && g->size != NULL));
}

/* Group i, whose matrices follow those of the groups before. */
static struct gemm_job group_at(const struct groups *g, int i, int64_t before)
{
	return (struct gemm_job){g->op_a[i], g->op_b[i], g->m[i], g->n[i], g->k[i],
		.a = {g->a == NULL ? NULL : (const void *)(g->a + before), g->a_type, g->lda[i], 0},
		.b = {g->b == NULL ? NULL : (const void *)(g->b + before), g->b_type, g->ldb[i], 0},
		.c = {g->c == NULL ? NULL : (const void *)(g->c + before), g->c_type, g->ldc[i], 0},
		.are_arrays = true, .count = g->size[i]};
}

/* One kernel for all of them. */
static cublasStatus_t submit_groups(cublasHandle_t handle, const struct groups *g)
{
	struct sg_cost all = SG_COST(SG_COST_PRODUCT, SG_COST_F32, 0, 0);
	cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
	struct group_job *made;
	int64_t before = 0;
	size_t size;

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!groups_are_given(g))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (handle->pointer_mode != CUBLAS_POINTER_MODE_HOST)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	size = sizeof(*made) + (size_t)g->count * sizeof(made->job[0]);
	made = calloc(1, size);
	if (made == NULL)
		return CUBLAS_STATUS_ALLOC_FAILED;
	for (int i = 0; status == CUBLAS_STATUS_SUCCESS && i < g->count; i++) {
		struct gemm_job *job = &made->job[made->count];
		size_t each;
		cudaDataType scale;
		struct sg_cost cost;

		*job = group_at(g, i, before);
		if (!find_scale(g->compute, job, &scale)) {
			status = CUBLAS_STATUS_NOT_SUPPORTED;
			continue;
		}
		each = (size_t)i * sg_real_bytes(scale);
		status = prepare(
			handle, job, (const char *)g->alpha + each, (const char *)g->beta + each, scale);
		if (status != CUBLAS_STATUS_SUCCESS)
			continue;
		before += job->count;
		if (is_empty(job))
			continue;
		cost = cost_of(job, g->compute, handle->math);
		all = (struct sg_cost){cost.kind, cost.type, all.flops + cost.flops, all.bytes + cost.bytes};
		made->count++;
	}
	if (status == CUBLAS_STATUS_SUCCESS && made->count > 0)
		status = sg_cublas_submit(handle, &all, run_groups, made, size);
	free(made);
	return status;
}

#define GROUPS(type, arithmetic) \
	(struct groups) \
	{ \
		transa_array, transb_array, m_array, n_array, k_array, alpha_array, beta_array, \
			(const void *const *)Aarray, (const void *const *)Barray, (void *const *)Carray, \
			type, type, type, lda_array, ldb_array, ldc_array, group_count, group_size, \
			arithmetic \
	}

#define GEMM_GROUPED(name, real, type, arithmetic) \
	cublasStatus_t name(cublasHandle_t handle, const cublasOperation_t transa_array[], \
		const cublasOperation_t transb_array[], const int m_array[], const int n_array[], \
		const int k_array[], const real alpha_array[], const real *const Aarray[], \
		const int lda_array[], const real *const Barray[], const int ldb_array[], \
		const real beta_array[], real *const Carray[], const int ldc_array[], int group_count, \
		const int group_size[]) \
	{ \
		const struct groups groups = GROUPS(type, arithmetic); \
\
		SG_ENTER(); \
		return submit_groups(handle, &groups); \
	}
GEMM_GROUPED(cublasSgemmGroupedBatched, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM_GROUPED(cublasDgemmGroupedBatched, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)

cublasStatus_t cublasGemmGroupedBatchedEx(cublasHandle_t handle, const cublasOperation_t transa_array[],
	const cublasOperation_t transb_array[], const int m_array[], const int n_array[], const int k_array[],
	const void *alpha_array, const void *const Aarray[], cudaDataType_t Atype, const int lda_array[],
	const void *const Barray[], cudaDataType_t Btype, const int ldb_array[], const void *beta_array,
	void *const Carray[], cudaDataType_t Ctype, const int ldc_array[], int group_count,
	const int group_size[], cublasComputeType_t computeType)
{
	struct groups groups = GROUPS(Atype, computeType);

	SG_ENTER();
	groups.b_type = Btype;
	groups.c_type = Ctype;
	return submit_groups(handle, &groups);
}
