/*
 * Vectors: axpy, scal, copy, swap and the reductions dot, nrm2, asum, amax, amin.
 *
 * The one idea: one job struct and one function per operation, which gives float and double to OpenBLAS and
 * loops over 16-bit numbers itself. A reduction's result goes to host memory after waiting, or to device
 * memory in stream order.
 */
#include "cublas_private.h"
#include "openblas.h"

#include <math.h>

struct vector_job {
	int n;
	cudaDataType type; /* of x and y */
	const void *x;
	int inc_x;
	void *y; /* written by axpy, copy and swap, read by dot */
	int inc_y;
	void *x_out; /* x where it is written: scal, swap */
	struct sg_scalar alpha;
	void *result;
	cudaDataType result_type;
};

/* Where element i of a vector lies; a negative increment counts from the end. */
static int64_t vector_index(const struct vector_job *job, int64_t i, int inc)
{
	return inc >= 0 ? i * inc : (i - job->n + 1) * inc;
}

static double x_at(const struct vector_job *job, int64_t i)
{
	return sg_load(job->x, job->type, vector_index(job, i, job->inc_x));
}

static double y_at(const struct vector_job *job, int64_t i)
{
	return sg_load(job->y, job->type, vector_index(job, i, job->inc_y));
}

static void run_axpy(void *arg)
{
	const struct vector_job *job = arg;
	double alpha = sg_scalar_value(&job->alpha);

	if (job->type == CUDA_R_64F) {
		sg_blas.cblas_daxpy(job->n, alpha, job->x, job->inc_x, job->y, job->inc_y);
	} else if (job->type == CUDA_R_32F) {
		sg_blas.cblas_saxpy(job->n, (float)alpha, job->x, job->inc_x, job->y, job->inc_y);
	} else {
		for (int64_t i = 0; i < job->n; i++)
			sg_store(job->y, job->type, vector_index(job, i, job->inc_y),
				alpha * x_at(job, i) + y_at(job, i));
	}
}

static void run_scal(void *arg)
{
	const struct vector_job *job = arg;
	double alpha = sg_scalar_value(&job->alpha);

	if (job->type == CUDA_R_64F) {
		sg_blas.cblas_dscal(job->n, alpha, job->x_out, job->inc_x);
	} else if (job->type == CUDA_R_32F) {
		sg_blas.cblas_sscal(job->n, (float)alpha, job->x_out, job->inc_x);
	} else {
		for (int64_t i = 0; i < job->n && job->inc_x > 0; i++)
			sg_store(job->x_out, job->type, i * job->inc_x, alpha * x_at(job, i));
	}
}

static void run_copy(void *arg)
{
	const struct vector_job *job = arg;

	if (job->type == CUDA_R_64F)
		sg_blas.cblas_dcopy(job->n, job->x, job->inc_x, job->y, job->inc_y);
	else
		sg_blas.cblas_scopy(job->n, job->x, job->inc_x, job->y, job->inc_y);
}

static void run_swap(void *arg)
{
	const struct vector_job *job = arg;

	if (job->type == CUDA_R_64F)
		sg_blas.cblas_dswap(job->n, job->x_out, job->inc_x, job->y, job->inc_y);
	else
		sg_blas.cblas_sswap(job->n, job->x_out, job->inc_x, job->y, job->inc_y);
}

static void run_dot(void *arg)
{
	const struct vector_job *job = arg;
	double sum = 0;

	if (job->type == CUDA_R_64F) {
		sum = sg_blas.cblas_ddot(job->n, job->x, job->inc_x, job->y, job->inc_y);
	} else if (job->type == CUDA_R_32F) {
		sum = (double)sg_blas.cblas_sdot(job->n, job->x, job->inc_x, job->y, job->inc_y);
	} else {
		for (int64_t i = 0; i < job->n; i++)
			sum += x_at(job, i) * y_at(job, i);
	}
	sg_store(job->result, job->result_type, 0, sum);
}

static void run_nrm2(void *arg)
{
	const struct vector_job *job = arg;
	double norm = 0;

	if (job->type == CUDA_R_64F) {
		norm = sg_blas.cblas_dnrm2(job->n, job->x, job->inc_x);
	} else if (job->type == CUDA_R_32F) {
		norm = (double)sg_blas.cblas_snrm2(job->n, job->x, job->inc_x);
	} else {
		for (int64_t i = 0; i < job->n && job->inc_x > 0; i++)
			norm += x_at(job, i) * x_at(job, i);
		norm = sqrt(norm);
	}
	sg_store(job->result, job->result_type, 0, norm);
}

static void run_asum(void *arg)
{
	const struct vector_job *job = arg;

	sg_store(job->result, job->result_type, 0,
		job->type == CUDA_R_64F ? sg_blas.cblas_dasum(job->n, job->x, job->inc_x)
					: (double)sg_blas.cblas_sasum(job->n, job->x, job->inc_x));
}

/* The 1-based index of the first largest or smallest size; 0 for no elements. */
static void run_amax(void *arg)
{
	const struct vector_job *job = arg;
	bool none = job->n < 1 || job->inc_x < 1;

	*(int *)job->result = none ? 0 : (int)sg_blas.cblas_isamax(job->n, job->x, job->inc_x) + 1;
}

static void run_amin(void *arg)
{
	const struct vector_job *job = arg;
	bool none = job->n < 1 || job->inc_x < 1;

	*(int *)job->result = none ? 0 : (int)sg_blas.cblas_isamin(job->n, job->x, job->inc_x) + 1;
}

/* What an operation does, what it is given beside x, and how its flops and the elements it reads and writes
 * go with the length. */
struct operation {
	sg_work *run;
	int flops, elements;
	bool has_alpha, has_y, finds_index;
};

static const struct operation axpy = {run_axpy, 2, 3, .has_alpha = true, .has_y = true};
static const struct operation scal = {run_scal, 1, 2, .has_alpha = true};
static const struct operation copy = {run_copy, 0, 2, .has_y = true};
static const struct operation swap = {run_swap, 0, 4, .has_y = true};
static const struct operation dot = {run_dot, 2, 2, .has_y = true};
static const struct operation nrm2 = {run_nrm2, 2, 1};
static const struct operation asum = {run_asum, 1, 1};
static const struct operation amax = {run_amax, 1, 1, .finds_index = true};
static const struct operation amin = {run_amin, 1, 1, .finds_index = true};

static struct sg_cost cost_of(const struct vector_job *job, const struct operation *operation)
{
	double n = job->n > 0 ? job->n : 0;

	return sg_cost_vector(job->type, operation->flops * n, operation->elements * n);
}

static bool lacks_y(const struct vector_job *job, const struct operation *operation)
{
	return operation->has_y && job->n > 0 && job->y == NULL;
}

/* For operations that write a vector. Nothing to do for no elements. */
static cublasStatus_t submit(cublasHandle_t handle, const struct operation *operation, struct vector_job *job,
	const void *alpha, cudaDataType alpha_type)
{
	struct sg_cost cost = cost_of(job, operation);

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if ((operation->has_alpha && alpha == NULL) || lacks_y(job, operation))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (job->n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	if (job->x == NULL && job->x_out == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (operation->has_alpha)
		job->alpha = sg_scalar_take(handle, alpha, alpha_type);
	return sg_cublas_submit(handle, &cost, operation->run, job, sizeof(*job));
}

static cublasStatus_t submit_result(
	cublasHandle_t handle, const struct operation *operation, const struct vector_job *job)
{
	struct sg_cost cost = cost_of(job, operation);
	double zero = 0;
	int first = job->n > 0 && job->inc_x > 0; /* of numbers that are all the same */

	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (lacks_y(job, operation) || job->result == NULL || (job->n > 0 && job->x == NULL))
		return CUBLAS_STATUS_INVALID_VALUE;
	return sg_cublas_submit_result(handle, &cost, operation->run, job, sizeof(*job), job->result,
		operation->finds_index ? (const void *)&first : &zero,
		operation->finds_index ? sizeof(first) : sg_real_bytes(job->result_type));
}

/* Vectors of one type, computed in float or wider. */
static bool types_are_supported(cudaDataType vector, cudaDataType execution)
{
	if (vector == CUDA_R_64F)
		return execution == CUDA_R_64F;
	return sg_real_bytes(vector) > 1 && execution == CUDA_R_32F;
}

/* ---- the calls for float and double: a row each, of name, type in C, type ---- */

#define AXPY(name, real, real_type) \
	cublasStatus_t name( \
		cublasHandle_t handle, int n, const real *alpha, const real *x, int incx, real *y, int incy) \
	{ \
		struct vector_job job = { \
			.n = n, .type = real_type, .x = x, .inc_x = incx, .y = y, .inc_y = incy}; \
\
		SG_ENTER(); \
		return submit(handle, &axpy, &job, alpha, real_type); \
	}
AXPY(cublasSaxpy_v2, float, CUDA_R_32F)
AXPY(cublasDaxpy_v2, double, CUDA_R_64F)

#define SCAL(name, real, real_type) \
	cublasStatus_t name(cublasHandle_t handle, int n, const real *alpha, real *x, int incx) \
	{ \
		struct vector_job job = {.n = n, .type = real_type, .x = x, .x_out = x, .inc_x = incx}; \
\
		SG_ENTER(); \
		return submit(handle, &scal, &job, alpha, real_type); \
	}
SCAL(cublasSscal_v2, float, CUDA_R_32F)
SCAL(cublasDscal_v2, double, CUDA_R_64F)

#define COPY(name, real, real_type) \
	cublasStatus_t name(cublasHandle_t handle, int n, const real *x, int incx, real *y, int incy) \
	{ \
		struct vector_job job = { \
			.n = n, .type = real_type, .x = x, .inc_x = incx, .y = y, .inc_y = incy}; \
\
		SG_ENTER(); \
		return submit(handle, &copy, &job, NULL, real_type); \
	}
COPY(cublasScopy_v2, float, CUDA_R_32F)
COPY(cublasDcopy_v2, double, CUDA_R_64F)

#define SWAP(name, real, real_type) \
	cublasStatus_t name(cublasHandle_t handle, int n, real *x, int incx, real *y, int incy) \
	{ \
		struct vector_job job = { \
			.n = n, .type = real_type, .x_out = x, .inc_x = incx, .y = y, .inc_y = incy}; \
\
		SG_ENTER(); \
		return submit(handle, &swap, &job, NULL, real_type); \
	}
SWAP(cublasSswap_v2, float, CUDA_R_32F)
SWAP(cublasDswap_v2, double, CUDA_R_64F)

#define DOT(name, real, real_type) \
	cublasStatus_t name(cublasHandle_t handle, int n, const real *x, int incx, const real *y, int incy, \
		real *result) \
	{ \
		const struct vector_job job = {.n = n, \
			.type = real_type, \
			.x = x, \
			.inc_x = incx, \
			.y = sg_unconst(y), \
			.inc_y = incy, \
			.result = result, \
			.result_type = real_type}; \
\
		SG_ENTER(); \
		return submit_result(handle, &dot, &job); \
	}
DOT(cublasSdot_v2, float, CUDA_R_32F)
DOT(cublasDdot_v2, double, CUDA_R_64F)

/* One vector in, one number out: of the vector's type, or an index. */
#define REDUCE(name, operation, real, real_type, found) \
	cublasStatus_t name(cublasHandle_t handle, int n, const real *x, int incx, found *result) \
	{ \
		const struct vector_job job = {.n = n, \
			.type = real_type, \
			.x = x, \
			.inc_x = incx, \
			.result = result, \
			.result_type = real_type}; \
\
		SG_ENTER(); \
		return submit_result(handle, &(operation), &job); \
	}
REDUCE(cublasSnrm2_v2, nrm2, float, CUDA_R_32F, float)
REDUCE(cublasDnrm2_v2, nrm2, double, CUDA_R_64F, double)
REDUCE(cublasSasum_v2, asum, float, CUDA_R_32F, float)
REDUCE(cublasDasum_v2, asum, double, CUDA_R_64F, double)
REDUCE(cublasIsamax_v2, amax, float, CUDA_R_32F, int)
REDUCE(cublasIsamin_v2, amin, float, CUDA_R_32F, int)

/* ---- the calls for any type ---- */

cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void *alpha, cudaDataType alphaType,
	const void *x, cudaDataType xType, int incx, void *y, cudaDataType yType, int incy,
	cudaDataType executiontype)
{
	struct vector_job job = {.n = n, .type = xType, .x = x, .inc_x = incx, .y = y, .inc_y = incy};

	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (xType != yType || !types_are_supported(xType, executiontype) ||
		(alphaType != executiontype && alphaType != xType))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return submit(handle, &axpy, &job, alpha, alphaType);
}

cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void *alpha, cudaDataType alphaType, void *x,
	cudaDataType xType, int incx, cudaDataType executionType)
{
	struct vector_job job = {.n = n, .type = xType, .x = x, .x_out = x, .inc_x = incx};

	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!types_are_supported(xType, executionType) || (alphaType != executionType && alphaType != xType))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return submit(handle, &scal, &job, alpha, alphaType);
}

cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void *x, cudaDataType xType, int incx,
	const void *y, cudaDataType yType, int incy, void *result, cudaDataType resultType,
	cudaDataType executionType)
{
	const struct vector_job job = {.n = n,
		.type = xType,
		.x = x,
		.inc_x = incx,
		.y = sg_unconst(y),
		.inc_y = incy,
		.result = result,
		.result_type = resultType};

	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (xType != yType || resultType != xType || !types_are_supported(xType, executionType))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return submit_result(handle, &dot, &job);
}

cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void *x, cudaDataType xType, int incx,
	void *result, cudaDataType resultType, cudaDataType executionType)
{
	const struct vector_job job = {
		.n = n, .type = xType, .x = x, .inc_x = incx, .result = result, .result_type = resultType};

	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (resultType != xType || !types_are_supported(xType, executionType))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return submit_result(handle, &nrm2, &job);
}
