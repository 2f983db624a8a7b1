/*
 * Products with a sparse matrix: SpMM, SpMV, SDDMM.
 *
 * The one idea: whatever the format, a sparse matrix is a list of entries (row, column, value), and
 * transposing exchanges the first two; a vector is a matrix of one column.
 */
#include "cusparse_private.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 16 /* of the result, summed at once */
#define BUFFER_BYTES 256

struct scalar {
	double value;
	const void *address; /* in device memory, to be read when the job runs; NULL: value holds */
	cudaDataType type;
};

static struct scalar scalar_of(cusparseHandle_t handle, const void *pointer, cudaDataType type)
{
	struct scalar scalar = {0, pointer, type};

	if (handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST) {
		scalar.value = sg_load(pointer, type, 0);
		scalar.address = NULL;
	}
	return scalar;
}

static double value_of(const struct scalar *scalar)
{
	return scalar->address != NULL ? sg_load(scalar->address, scalar->type, 0) : scalar->value;
}

struct job {
	struct cusparseSpMatDescr sparse;
	struct cusparseDnMatDescr left, right; /* of SpMM right and the result */
	bool transposes_left, transposes_right, transposes_sparse;
	struct scalar alpha, beta;
};

static int64_t place_in(const struct cusparseDnMatDescr *matrix, bool transposes, int64_t row, int64_t column)
{
	const int64_t i = transposes ? column : row, j = transposes ? row : column;

	return matrix->order == CUSPARSE_ORDER_COL ? i + j * matrix->leading : i * matrix->leading + j;
}

/* Where in the arrays one matrix of a batch begins; one alone serves all. */
static int64_t batch_start(int64_t stride, int batches, int batch)
{
	return batches > 1 ? stride * batch : 0;
}

/* Calls `each` for the entries of one matrix, in their order. */
typedef void each_entry(void *arg, int64_t row, int64_t column, int64_t entry);

static void walk(const struct cusparseSpMatDescr *matrix, int batch, each_entry *each, void *arg)
{
	const int64_t first = batch_start(matrix->entry_stride, matrix->batches, batch);
	const int64_t offset = batch_start(matrix->offset_stride, matrix->batches, batch);
	const int64_t outer = matrix->format == CUSPARSE_FORMAT_CSC ? matrix->columns : matrix->rows;

	if (matrix->format == CUSPARSE_FORMAT_COO) {
		for (int64_t i = 0; i < matrix->entries; i++)
			each(arg, sg_index_at(matrix->offsets, matrix->offset_type, first + i) - matrix->base,
				sg_index_at(matrix->indices, matrix->index_type, first + i) - matrix->base,
				first + i);
		return;
	}
	for (int64_t o = 0; o < outer; o++) {
		int64_t begin = sg_index_at(matrix->offsets, matrix->offset_type, offset + o) - matrix->base;
		int64_t end =
			sg_index_at(matrix->offsets, matrix->offset_type, offset + o + 1) - matrix->base;

		for (int64_t i = begin; i < end && i < matrix->entries; i++) {
			int64_t index =
				sg_index_at(matrix->indices, matrix->index_type, first + i) - matrix->base;

			if (matrix->format == CUSPARSE_FORMAT_CSR)
				each(arg, o, index, first + i);
			else
				each(arg, index, o, first + i);
		}
	}
}

/* ---- sparse times dense ---- */

struct sum {
	const struct job *job;
	const struct cusparseDnMatDescr *right;
	int64_t right_start, first, count; /* columns of the result */
	int64_t rows, inner;
	double *sums; /* [rows][count] */
};

static void add_entry(void *arg, int64_t row, int64_t column, int64_t entry)
{
	struct sum *sum = arg;
	const struct job *job = sum->job;
	const double value = sg_load(job->sparse.values, job->sparse.type, entry);
	const int64_t r = job->transposes_sparse ? column : row, c = job->transposes_sparse ? row : column;

	if (r < 0 || r >= sum->rows || c < 0 || c >= sum->inner)
		return;
	for (int64_t j = 0; j < sum->count; j++)
		sum->sums[r * sum->count + j] +=
			value * sg_load(sum->right->values, sum->right->type,
					sum->right_start + place_in(sum->right, job->transposes_right, c,
								   sum->first + j));
}

/* The result is `left`: alpha op(sparse) op(right) + beta left. */
static void multiply(void *arg)
{
	const struct job *job = arg;
	const struct cusparseDnMatDescr *result = &job->left;
	const double alpha = value_of(&job->alpha), beta = value_of(&job->beta);
	double *sums = malloc(((size_t)result->rows * COLUMNS + 1) * sizeof(*sums));

	if (sums == NULL) {
		sg_async_error(sg_device(), cudaErrorMemoryAllocation);
		return;
	}
	for (int batch = 0; batch < result->batches; batch++) {
		int64_t start = batch_start(result->stride, result->batches, batch);

		for (int64_t first = 0; first < result->columns; first += COLUMNS) {
			int64_t left = result->columns - first;
			struct sum sum = {job, &job->right,
				batch_start(job->right.stride, job->right.batches, batch), first,
				left < COLUMNS ? left : COLUMNS, result->rows,
				job->transposes_sparse ? job->sparse.rows : job->sparse.columns, sums};

			memset(sums, 0, (size_t)(sum.rows * sum.count) * sizeof(*sums));
			walk(&job->sparse, batch, add_entry, &sum);
			for (int64_t i = 0; i < sum.rows * sum.count; i++) {
				int64_t at =
					start + place_in(result, false, i / sum.count, first + i % sum.count);
				double before =
					beta != 0 ? beta * sg_load(result->values, result->type, at) : 0;

				sg_store(result->values, result->type, at, alpha * sums[i] + before);
			}
		}
	}
	free(sums);
}

/* A row of the dense matrix for each entry: what a graph's neighbours are has little order. */
static struct sg_cost cost_of(const struct job *job)
{
	const struct cusparseSpMatDescr *sparse = &job->sparse;
	const double entries = (double)sparse->entries, batches = (double)job->left.batches;
	const double columns = (double)job->left.columns;
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, sparse->type == CUDA_R_64F ? SG_COST_F64 : SG_COST_F32,
		2 * entries * columns * batches, 0);

	cost.bytes = entries * (double)(sg_real_bytes(sparse->type) + sg_index_bytes(sparse->index_type));
	cost.bytes += (sparse->format == CUSPARSE_FORMAT_COO ? entries : (double)sparse->rows) *
		      (double)sg_index_bytes(sparse->offset_type);
	cost.bytes += entries * columns * (double)sg_real_bytes(job->right.type);
	cost.bytes += (double)job->left.rows * columns * (double)sg_real_bytes(job->left.type);
	cost.bytes *= batches;
	return cost;
}

/* What all products ask first; of their operands. */
static cusparseStatus_t check_call(cusparseHandle_t handle, const void *alpha, const void *a, const void *b,
	const void *beta, const void *c, cudaDataType compute)
{
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (alpha == NULL || a == NULL || b == NULL || beta == NULL || c == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	return compute == CUDA_R_32F || compute == CUDA_R_64F ? CUSPARSE_STATUS_SUCCESS
							      : CUSPARSE_STATUS_NOT_SUPPORTED;
}

static cusparseStatus_t check_multiply(const struct job *job)
{
	const struct cusparseSpMatDescr *sparse = &job->sparse;
	const int64_t rows = job->transposes_sparse ? sparse->columns : sparse->rows;
	const int64_t inner = job->transposes_sparse ? sparse->rows : sparse->columns;
	const int64_t right_rows = job->transposes_right ? job->right.columns : job->right.rows;
	const int64_t right_columns = job->transposes_right ? job->right.rows : job->right.columns;

	if (job->left.rows != rows || right_rows != inner || job->left.columns != right_columns)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if ((sparse->batches > 1 && sparse->batches != job->left.batches) ||
		(job->right.batches > 1 && job->right.batches != job->left.batches))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t give_buffer_size(cusparseHandle_t handle, size_t *bytes)
{
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (bytes == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	/* Some programs take a buffer of no bytes for a failure. */
	*bytes = BUFFER_BYTES;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t submit_multiply(
	cusparseHandle_t handle, enum sg_cusparse_kernel kernel, struct job *job)
{
	cusparseStatus_t status = check_multiply(job);
	struct sg_cost cost = cost_of(job);

	if (status == CUSPARSE_STATUS_SUCCESS)
		status =
			sg_cusparse_submit(handle, kernel, (double)job->left.rows * (double)job->left.columns,
				&cost, multiply, job, sizeof(*job));
	return status;
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
	cusparseOperation_t opB, const void *alpha, cusparseConstSpMatDescr_t matA,
	cusparseConstDnMatDescr_t matB, const void *beta, cusparseDnMatDescr_t matC, cudaDataType computeType,
	cusparseSpMMAlg_t alg, size_t *bufferSize)
{
	SG_ENTER();
	(void)opA, (void)opB, (void)alpha, (void)matA, (void)matB, (void)beta, (void)matC, (void)computeType,
		(void)alg;
	return give_buffer_size(handle, bufferSize);
}

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
	const void *alpha, cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void *beta,
	cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpMMAlg_t alg, void *externalBuffer)
{
	cusparseStatus_t status;
	struct job job;

	SG_ENTER();
	(void)alg, (void)externalBuffer;
	status = check_call(handle, alpha, matA, matB, beta, matC, computeType);
	if (status != CUSPARSE_STATUS_SUCCESS)
		return status;
	job = (struct job){*matA, *matC, *matB, false, opB != CUSPARSE_OPERATION_NON_TRANSPOSE,
		opA != CUSPARSE_OPERATION_NON_TRANSPOSE, scalar_of(handle, alpha, computeType),
		scalar_of(handle, beta, computeType)};
	return submit_multiply(handle, KERNEL_SPMM, &job);
}

static struct cusparseDnMatDescr column_of(const struct cusparseDnVecDescr *vector)
{
	return (struct cusparseDnMatDescr){
		vector->size, 1, vector->size, vector->values, vector->type, CUSPARSE_ORDER_COL, 1, 0};
}

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA, const void *alpha,
	cusparseConstSpMatDescr_t matA, cusparseConstDnVecDescr_t vecX, const void *beta,
	cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpMVAlg_t alg, size_t *bufferSize)
{
	SG_ENTER();
	(void)opA, (void)alpha, (void)matA, (void)vecX, (void)beta, (void)vecY, (void)computeType, (void)alg;
	return give_buffer_size(handle, bufferSize);
}

cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t opA, const void *alpha,
	cusparseConstSpMatDescr_t matA, cusparseConstDnVecDescr_t vecX, const void *beta,
	cusparseDnVecDescr_t vecY, cudaDataType computeType, cusparseSpMVAlg_t alg, void *externalBuffer)
{
	cusparseStatus_t status;
	struct job job;

	SG_ENTER();
	(void)alg, (void)externalBuffer;
	status = check_call(handle, alpha, matA, vecX, beta, vecY, computeType);
	if (status != CUSPARSE_STATUS_SUCCESS)
		return status;
	job = (struct job){*matA, column_of(vecY), column_of(vecX), false, false,
		opA != CUSPARSE_OPERATION_NON_TRANSPOSE, scalar_of(handle, alpha, computeType),
		scalar_of(handle, beta, computeType)};
	return submit_multiply(handle, KERNEL_SPMV, &job);
}

/* ---- dense times dense, where the sparse matrix has entries ---- */

struct sample {
	const struct job *job;
	double alpha, beta;
	int64_t left_start, right_start, inner;
};

static void sample_entry(void *arg, int64_t row, int64_t column, int64_t entry)
{
	const struct sample *sample = arg;
	const struct job *job = sample->job;
	double sum = 0, before = 0;

	for (int64_t k = 0; k < sample->inner; k++)
		sum += sg_load(job->left.values, job->left.type,
			       sample->left_start + place_in(&job->left, job->transposes_left, row, k)) *
		       sg_load(job->right.values, job->right.type,
			       sample->right_start + place_in(&job->right, job->transposes_right, k, column));
	if (sample->beta != 0)
		before = sample->beta * sg_load(job->sparse.values, job->sparse.type, entry);
	sg_store(job->sparse.values, job->sparse.type, entry, sample->alpha * sum + before);
}

static void sample_products(void *arg)
{
	const struct job *job = arg;

	for (int batch = 0; batch < job->sparse.batches; batch++) {
		struct sample sample = {job, value_of(&job->alpha), value_of(&job->beta),
			batch_start(job->left.stride, job->left.batches, batch),
			batch_start(job->right.stride, job->right.batches, batch),
			job->transposes_left ? job->left.rows : job->left.columns};

		walk(&job->sparse, batch, sample_entry, &sample);
	}
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
	cusparseOperation_t opB, const void *alpha, cusparseConstDnMatDescr_t matA,
	cusparseConstDnMatDescr_t matB, const void *beta, cusparseSpMatDescr_t matC, cudaDataType computeType,
	cusparseSDDMMAlg_t alg, size_t *bufferSize)
{
	SG_ENTER();
	(void)opA, (void)opB, (void)alpha, (void)matA, (void)matB, (void)beta, (void)matC, (void)computeType,
		(void)alg;
	return give_buffer_size(handle, bufferSize);
}

cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA,
	cusparseOperation_t opB, const void *alpha, cusparseConstDnMatDescr_t matA,
	cusparseConstDnMatDescr_t matB, const void *beta, cusparseSpMatDescr_t matC, cudaDataType computeType,
	cusparseSDDMMAlg_t alg, void *externalBuffer)
{
	SG_ENTER();
	(void)opA, (void)opB, (void)alpha, (void)matA, (void)matB, (void)beta, (void)computeType, (void)alg;
	(void)externalBuffer;
	return handle == NULL ? CUSPARSE_STATUS_NOT_INITIALIZED
	       : matC == NULL ? CUSPARSE_STATUS_INVALID_VALUE
			      : CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
	const void *alpha, cusparseConstDnMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void *beta,
	cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSDDMMAlg_t alg, void *externalBuffer)
{
	struct sg_cost cost;
	double entries, inner;
	cusparseStatus_t status;
	struct job job;

	SG_ENTER();
	(void)alg, (void)externalBuffer;
	status = check_call(handle, alpha, matA, matB, beta, matC, computeType);
	if (status != CUSPARSE_STATUS_SUCCESS)
		return status;
	job = (struct job){*matC, *matA, *matB, opA != CUSPARSE_OPERATION_NON_TRANSPOSE,
		opB != CUSPARSE_OPERATION_NON_TRANSPOSE, false, scalar_of(handle, alpha, computeType),
		scalar_of(handle, beta, computeType)};
	if ((job.transposes_left ? matA->columns : matA->rows) != matC->rows ||
		(job.transposes_right ? matB->rows : matB->columns) != matC->columns ||
		(job.transposes_left ? matA->rows : matA->columns) !=
			(job.transposes_right ? matB->columns : matB->rows))
		return CUSPARSE_STATUS_INVALID_VALUE;
	entries = (double)matC->entries * matC->batches;
	inner = (double)(job.transposes_left ? matA->rows : matA->columns);
	cost = (struct sg_cost)SG_COST(SG_COST_VECTOR, matC->type == CUDA_R_64F ? SG_COST_F64 : SG_COST_F32,
		2 * entries * inner,
		entries * (2 * inner + 2) * (double)sg_real_bytes(matC->type) +
			entries * (double)sg_index_bytes(matC->index_type));
	return sg_cusparse_submit(handle, KERNEL_SDDMM, entries, &cost, sample_products, &job, sizeof(job));
}

/* Their one argument, for whoever looks into launches (calls/kernel.c). */
#pragma GCC visibility push(default)
extern const size_t sg_twin_cusparseSpMM_kernel_args[2], sg_twin_cusparseSpMV_kernel_args[2],
	sg_twin_cusparseSDDMM_kernel_args[2];
const size_t sg_twin_cusparseSpMM_kernel_args[2] = {sizeof(struct job)};
const size_t sg_twin_cusparseSpMV_kernel_args[2] = {sizeof(struct job)};
const size_t sg_twin_cusparseSDDMM_kernel_args[2] = {sizeof(struct job)};
#pragma GCC visibility pop
