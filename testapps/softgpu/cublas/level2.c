/*
 * Matrix and vector: gemv, ger, and the matrix sums and scalings beside them (geam, dgmm).
 *
 * The one idea: one job struct for all of them; a run picks OpenBLAS's function, or a loop where OpenBLAS has
 * none.
 */
#include "cublas_private.h"
#include "openblas.h"

struct matrix_job {
	cublasOperation_t op_a, op_b;
	int m, n;
	struct sg_scalar alpha, beta;
	const void *a, *b; /* b: a second matrix or the vector x */
	const void *y;     /* of ger */
	void *c;           /* the result: matrix or vector */
	int lda, ldb, ldc; /* leading dimensions or increments */
	int inc_y;
	bool is_double;
	bool is_right;
};

static cudaDataType type_of(const struct matrix_job *job)
{
	return job->is_double ? CUDA_R_64F : CUDA_R_32F;
}

/* Where element i of a vector lies; a negative increment counts from the end. */
static int64_t vector_index(int64_t i, int64_t n, int inc)
{
	return inc >= 0 ? i * inc : (i - n + 1) * inc;
}

static bool transposes(cublasOperation_t op)
{
	return op != CUBLAS_OP_N;
}

static void run_gemv(void *arg)
{
	const struct matrix_job *job = arg;
	CBLAS_TRANSPOSE op = transposes(job->op_a) ? CblasTrans : CblasNoTrans;
	double alpha = sg_scalar_value(&job->alpha);
	double beta = sg_scalar_value(&job->beta);

	if (job->is_double)
		sg_blas.cblas_dgemv(CblasColMajor, op, job->m, job->n, alpha, job->a, job->lda, job->b,
			job->ldb, beta, job->c, job->ldc);
	else
		sg_blas.cblas_sgemv(CblasColMajor, op, job->m, job->n, (float)alpha, job->a, job->lda, job->b,
			job->ldb, (float)beta, job->c, job->ldc);
}

static void run_ger(void *arg)
{
	const struct matrix_job *job = arg;
	double alpha = sg_scalar_value(&job->alpha);

	if (job->is_double)
		sg_blas.cblas_dger(CblasColMajor, job->m, job->n, alpha, job->b, job->ldb, job->y, job->inc_y,
			job->c, job->ldc);
	else
		sg_blas.cblas_sger(CblasColMajor, job->m, job->n, (float)alpha, job->b, job->ldb, job->y,
			job->inc_y, job->c, job->ldc);
}

/* factor times element (i, j) of op(matrix); a matrix with factor 0 is not read. */
static double term(const struct matrix_job *job, const void *matrix, cublasOperation_t op, int ld,
	double factor, int i, int j)
{
	int64_t index = transposes(op) ? (int64_t)i * ld + j : (int64_t)j * ld + i;

	return factor == 0 ? 0 : factor * sg_load(matrix, type_of(job), index);
}

static void run_geam(void *arg)
{
	const struct matrix_job *job = arg;
	double alpha = sg_scalar_value(&job->alpha);
	double beta = sg_scalar_value(&job->beta);

	for (int j = 0; j < job->n; j++) {
		for (int i = 0; i < job->m; i++)
			sg_store(job->c, type_of(job), (int64_t)j * job->ldc + i,
				term(job, job->a, job->op_a, job->lda, alpha, i, j) +
					term(job, job->b, job->op_b, job->ldb, beta, i, j));
	}
}

static void run_dgmm(void *arg)
{
	const struct matrix_job *job = arg;
	const float *a = job->a;
	const float *x = job->b;
	float *c = job->c;
	int64_t length = job->is_right ? job->n : job->m;

	for (int64_t j = 0; j < job->n; j++) {
		for (int64_t i = 0; i < job->m; i++)
			c[j * job->ldc + i] = a[j * job->lda + i] *
					      x[vector_index(job->is_right ? j : i, length, job->ldb)];
	}
}

static struct sg_cost cost_of(const struct matrix_job *job, double flops, double elements)
{
	return sg_cost_vector(type_of(job), flops, elements);
}

static bool op_is_known(cublasOperation_t op)
{
	return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

static bool ld_fits(int ld, int rows)
{
	return ld >= (rows > 1 ? rows : 1);
}

static cublasStatus_t submit_gemv(
	cublasHandle_t handle, struct matrix_job *job, const void *alpha, const void *beta)
{
	double size = (double)job->m * job->n, y_length = transposes(job->op_a) ? job->n : job->m;
	double read_again;
	struct sg_cost cost;

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!op_is_known(job->op_a) || job->m < 0 || job->n < 0 || !ld_fits(job->lda, job->m) ||
		job->ldb == 0 || job->ldc == 0 || alpha == NULL || beta == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (job->m == 0 || job->n == 0)
		return CUBLAS_STATUS_SUCCESS;
	if (job->a == NULL || job->b == NULL || job->c == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	job->alpha = sg_scalar_take(handle, alpha, type_of(job));
	job->beta = sg_scalar_take(handle, beta, type_of(job));
	read_again = sg_scalar_may_add(&job->beta) ? y_length : 0;
	cost = cost_of(job, 2.0 * size, size + job->m + job->n + read_again);
	return sg_cublas_submit(handle, &cost, run_gemv, job, sizeof(*job));
}

static cublasStatus_t submit_ger(cublasHandle_t handle, struct matrix_job *job, const void *alpha)
{
	double size = (double)job->m * job->n;
	struct sg_cost cost = cost_of(job, 2 * size, 2 * size + job->m + job->n);

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (job->m < 0 || job->n < 0 || !ld_fits(job->ldc, job->m) || job->ldb == 0 || job->inc_y == 0 ||
		alpha == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (job->m == 0 || job->n == 0)
		return CUBLAS_STATUS_SUCCESS;
	if (job->b == NULL || job->y == NULL || job->c == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	job->alpha = sg_scalar_take(handle, alpha, type_of(job));
	return sg_cublas_submit(handle, &cost, run_ger, job, sizeof(*job));
}

static cublasStatus_t submit_geam(
	cublasHandle_t handle, struct matrix_job *job, const void *alpha, const void *beta)
{
	double size = (double)job->m * job->n;
	int inputs;
	struct sg_cost cost;

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!op_is_known(job->op_a) || !op_is_known(job->op_b) || job->m < 0 || job->n < 0 || alpha == NULL ||
		beta == NULL || !ld_fits(job->lda, transposes(job->op_a) ? job->n : job->m) ||
		!ld_fits(job->ldb, transposes(job->op_b) ? job->n : job->m) || !ld_fits(job->ldc, job->m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (job->m == 0 || job->n == 0)
		return CUBLAS_STATUS_SUCCESS;
	/* In place only where each element is read and written at one address. */
	if (job->c == NULL || (job->c == job->a && (transposes(job->op_a) || job->lda != job->ldc)) ||
		(job->c == job->b && (transposes(job->op_b) || job->ldb != job->ldc)))
		return CUBLAS_STATUS_INVALID_VALUE;
	job->alpha = sg_scalar_take(handle, alpha, type_of(job));
	job->beta = sg_scalar_take(handle, beta, type_of(job));
	inputs = sg_scalar_may_add(&job->alpha) + sg_scalar_may_add(&job->beta);
	cost = cost_of(job, size, (1 + inputs) * size);
	return sg_cublas_submit(handle, &cost, run_geam, job, sizeof(*job));
}

/* ---- the calls for float and double: a row each, of name, type in C, whether it is double ---- */

#define GEMV(name, real, doubles) \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const real *alpha, \
		const real *A, int lda, const real *x, int incx, const real *beta, real *y, int incy) \
	{ \
		struct matrix_job job = {.op_a = trans, \
			.m = m, \
			.n = n, \
			.a = A, \
			.lda = lda, \
			.b = x, \
			.ldb = incx, \
			.c = y, \
			.ldc = incy, \
			.is_double = (doubles)}; \
\
		SG_ENTER(); \
		return submit_gemv(handle, &job, alpha, beta); \
	}
GEMV(cublasSgemv_v2, float, false)
GEMV(cublasDgemv_v2, double, true)

#define GER(name, real, doubles) \
	cublasStatus_t name(cublasHandle_t handle, int m, int n, const real *alpha, const real *x, int incx, \
		const real *y, int incy, real *A, int lda) \
	{ \
		struct matrix_job job = {.m = m, \
			.n = n, \
			.b = x, \
			.ldb = incx, \
			.y = y, \
			.inc_y = incy, \
			.c = A, \
			.ldc = lda, \
			.is_double = (doubles)}; \
\
		SG_ENTER(); \
		return submit_ger(handle, &job, alpha); \
	}
GER(cublasSger_v2, float, false)
GER(cublasDger_v2, double, true)

#define GEAM(name, real, doubles) \
	cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, \
		int m, int n, const real *alpha, const real *A, int lda, const real *beta, const real *B, \
		int ldb, real *C, int ldc) \
	{ \
		struct matrix_job job = {.op_a = transa, \
			.op_b = transb, \
			.m = m, \
			.n = n, \
			.a = A, \
			.lda = lda, \
			.b = B, \
			.ldb = ldb, \
			.c = C, \
			.ldc = ldc, \
			.is_double = (doubles)}; \
\
		SG_ENTER(); \
		return submit_geam(handle, &job, alpha, beta); \
	}
GEAM(cublasSgeam, float, false)
GEAM(cublasDgeam, double, true)

cublasStatus_t cublasSdgmm(cublasHandle_t handle, cublasSideMode_t mode, int m, int n, const float *A,
	int lda, const float *x, int incx, float *C, int ldc)
{
	struct matrix_job job = {.m = m,
		.n = n,
		.a = A,
		.lda = lda,
		.b = x,
		.ldb = incx,
		.c = C,
		.ldc = ldc,
		.is_right = mode == CUBLAS_SIDE_RIGHT};
	double size = (double)m * n;
	const struct sg_cost cost = cost_of(&job, size, 2 * size + (job.is_right ? n : m));

	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if ((mode != CUBLAS_SIDE_LEFT && mode != CUBLAS_SIDE_RIGHT) || m < 0 || n < 0 || !ld_fits(lda, m) ||
		!ld_fits(ldc, m))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (m == 0 || n == 0)
		return CUBLAS_STATUS_SUCCESS;
	if (A == NULL || x == NULL || C == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	return sg_cublas_submit(handle, &cost, run_dgmm, &job, sizeof(job));
}
