/* Checks the stand-in cuSPARSE against products computed the plain way: formats, types, orders, transposes,
 * batches; conversions. */
#define DISABLE_CUSPARSE_DEPRECATED /* PyTorch calls these as well */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "test_common.h"

#define ROWS 5
#define COLUMNS 4
#define WIDE 3
#define ENTRIES 7

/* In the order of rows; in that of columns it is another list. */
static const int rows_of[ENTRIES] = {0, 0, 1, 3, 3, 3, 4}, columns_of[ENTRIES] = {1, 3, 0, 0, 2, 3, 1};
static const float values_of[ENTRIES] = {2, -1, 3, 0.5f, 4, -2, 1};

static cusparseHandle_t handle;

static void *on_device(const void *from, size_t bytes)
{
	void *to;

	OK(cudaMalloc(&to, bytes));
	if (from != NULL)
		OK(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
	return to;
}

/* Offsets of the rows or columns, `base` more. */
static void offsets_of(const int *of, int count, int base, int64_t *to)
{
	memset(to, 0, (size_t)(count + 1) * sizeof(*to));
	for (int i = 0; i < ENTRIES; i++)
		to[of[i] + 1]++;
	to[0] = base;
	for (int i = 0; i < count; i++)
		to[i + 1] += to[i];
}

static cusparseSpMatDescr_t make_sparse(cusparseFormat_t format, int base)
{
	int64_t offsets[ROWS + 1], indices[ENTRIES];
	int rows[ENTRIES], columns[ENTRIES], at = 0;
	double values[ENTRIES];
	cusparseSpMatDescr_t matrix;

	if (format == CUSPARSE_FORMAT_COO) {
		for (int i = 0; i < ENTRIES; i++) {
			rows[i] = rows_of[i] + base;
			columns[i] = columns_of[i] + base;
		}
		OK(cusparseCreateCoo(&matrix, ROWS, COLUMNS, ENTRIES, on_device(rows, sizeof(rows)),
			on_device(columns, sizeof(columns)), on_device(values_of, sizeof(values_of)),
			CUSPARSE_INDEX_32I, (cusparseIndexBase_t)base, CUDA_R_32F));
		return matrix;
	}
	if (format == CUSPARSE_FORMAT_CSR) {
		offsets_of(rows_of, ROWS, base, offsets);
		for (int i = 0; i < ENTRIES; i++) {
			indices[i] = columns_of[i] + base;
			values[i] = values_of[i];
		}
		OK(cusparseCreateCsr(&matrix, ROWS, COLUMNS, ENTRIES, on_device(offsets, sizeof(offsets)),
			on_device(indices, sizeof(indices)), on_device(values, sizeof(values)),
			CUSPARSE_INDEX_64I, CUSPARSE_INDEX_64I, (cusparseIndexBase_t)base, CUDA_R_64F));
		return matrix;
	}
	offsets_of(columns_of, COLUMNS, base, offsets);
	for (int c = 0; c < COLUMNS; c++)
		for (int i = 0; i < ENTRIES; i++)
			if (columns_of[i] == c) {
				indices[at] = rows_of[i] + base;
				values[at++] = values_of[i];
			}
	OK(cusparseCreateCsc(&matrix, ROWS, COLUMNS, ENTRIES, on_device(offsets, sizeof(offsets)),
		on_device(indices, sizeof(indices)), on_device(values, sizeof(values)), CUSPARSE_INDEX_64I,
		CUSPARSE_INDEX_64I, (cusparseIndexBase_t)base, CUDA_R_64F));
	return matrix;
}

/* An element of op(sparse) times dense, dense[i][j] being 10 i + j + 1. */
static double wanted(int transposes, int row, int column)
{
	double sum = 0;

	for (int i = 0; i < ENTRIES; i++) {
		int r = transposes ? columns_of[i] : rows_of[i], c = transposes ? rows_of[i] : columns_of[i];

		if (r == row)
			sum += (double)values_of[i] * (10 * c + column + 1);
	}
	return sum;
}

static void test_multiply(
	cusparseFormat_t format, int base, int transposes, cusparseOrder_t order, int transposes_dense)
{
	const int rows = transposes ? COLUMNS : ROWS, inner = transposes ? ROWS : COLUMNS;
	const float alpha = 2, beta = 0.5f;
	const int by_column = order == CUSPARSE_ORDER_COL;
	/* stored as the transposed one: WIDE rows */
	const int stored_rows = transposes_dense ? WIDE : inner,
		  stored_columns = transposes_dense ? inner : WIDE;
	const int leading = (by_column ? stored_rows : stored_columns) + 1;
	float dense[(ROWS + 1) * (ROWS + 1)] = {0}, result[ROWS * WIDE];
	cusparseSpMatDescr_t sparse = make_sparse(format, base);
	cusparseDnMatDescr_t right, left;
	size_t bytes = 0;
	void *to;

	for (int i = 0; i < inner; i++)
		for (int j = 0; j < WIDE; j++) {
			int r = transposes_dense ? j : i, c = transposes_dense ? i : j;

			dense[by_column ? r + c * leading : r * leading + c] = (float)(10 * i + j + 1);
		}
	for (int i = 0; i < ROWS * WIDE; i++)
		result[i] = 100;
	to = on_device(result, sizeof(result));
	OK(cusparseCreateDnMat(&right, stored_rows, stored_columns, leading, on_device(dense, sizeof(dense)),
		CUDA_R_32F, order));
	OK(cusparseCreateDnMat(&left, rows, WIDE, WIDE, to, CUDA_R_32F, CUSPARSE_ORDER_ROW));
	OK(cusparseSpMM_bufferSize(handle, (cusparseOperation_t)transposes,
		(cusparseOperation_t)transposes_dense, &alpha, sparse, right, &beta, left, CUDA_R_32F,
		CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
	OK(cusparseSpMM(handle, (cusparseOperation_t)transposes, (cusparseOperation_t)transposes_dense,
		&alpha, sparse, right, &beta, left, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, NULL));
	/* what is described may go at once */
	OK(cusparseDestroySpMat(sparse));
	OK(cusparseDestroyDnMat(right));
	OK(cusparseDestroyDnMat(left));
	OK(cudaMemcpy(result, to, sizeof(result), cudaMemcpyDeviceToHost));
	for (int i = 0; i < rows * WIDE; i++)
		CHECK(fabs(result[i] - (2 * wanted(transposes, i / WIDE, i % WIDE) + 50)) < 1e-4);
}

static void test_vector(void)
{
	const double alpha = 1, beta = 0;
	double x[COLUMNS], y[ROWS];
	cusparseSpMatDescr_t sparse = make_sparse(CUSPARSE_FORMAT_CSR, 1);
	cusparseDnVecDescr_t right, left;
	int64_t rows, columns, entries;
	void *to;

	for (int i = 0; i < COLUMNS; i++)
		x[i] = 10 * i + 1;
	for (int i = 0; i < ROWS; i++)
		y[i] = NAN; /* not read where beta is 0 */
	to = on_device(y, sizeof(y));
	OK(cusparseCreateDnVec(&right, COLUMNS, on_device(x, sizeof(x)), CUDA_R_64F));
	OK(cusparseCreateDnVec(&left, ROWS, to, CUDA_R_64F));
	OK(cusparseSpMatGetSize(sparse, &rows, &columns, &entries));
	CHECK(rows == ROWS && columns == COLUMNS && entries == ENTRIES);
	OK(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, sparse, right, &beta, left,
		CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, NULL));
	EXPECT(cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, &alpha, sparse, right, &beta, left,
		       CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT, NULL),
		CUSPARSE_STATUS_INVALID_VALUE);
	EXPECT(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, sparse, right, &beta, left,
		       CUDA_R_8I, CUSPARSE_SPMV_ALG_DEFAULT, NULL),
		CUSPARSE_STATUS_NOT_SUPPORTED);
	OK(cudaMemcpy(y, to, sizeof(y), cudaMemcpyDeviceToHost));
	for (int i = 0; i < ROWS; i++)
		CHECK(fabs(y[i] - wanted(0, i, 0)) < 1e-12);
	OK(cusparseDestroyDnVec(left));
	OK(cusparseDestroyDnVec(right));
	OK(cusparseDestroySpMat(sparse));
}

/* Two matrices of a batch, the sparse one the same for both. */
static void test_batch(void)
{
	const float alpha = 1, beta = 0;
	float dense[2][COLUMNS], result[2][ROWS];
	cusparseSpMatDescr_t sparse = make_sparse(CUSPARSE_FORMAT_COO, 0);
	cusparseDnMatDescr_t right, left;
	void *to = on_device(NULL, sizeof(result));

	for (int i = 0; i < 2 * COLUMNS; i++)
		dense[i / COLUMNS][i % COLUMNS] = (float)((i / COLUMNS + 1) * (10 * (i % COLUMNS) + 1));
	OK(cusparseCreateDnMat(&right, COLUMNS, 1, COLUMNS, on_device(dense, sizeof(dense)), CUDA_R_32F,
		CUSPARSE_ORDER_COL));
	OK(cusparseCreateDnMat(&left, ROWS, 1, ROWS, to, CUDA_R_32F, CUSPARSE_ORDER_COL));
	OK(cusparseDnMatSetStridedBatch(right, 2, COLUMNS));
	OK(cusparseDnMatSetStridedBatch(left, 2, ROWS));
	OK(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha,
		sparse, right, &beta, left, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, NULL));
	OK(cudaMemcpy(result, to, sizeof(result), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 2 * ROWS; i++)
		CHECK(fabs(result[i / ROWS][i % ROWS] - (i / ROWS + 1) * wanted(0, i % ROWS, 0)) < 1e-4);
	OK(cusparseDestroyDnMat(left));
	OK(cusparseDestroyDnMat(right));
	OK(cusparseDestroySpMat(sparse));
}

static void test_sampled(void)
{
	const double alpha = 2, beta = 0.5;
	double a[ROWS * WIDE], b[WIDE * COLUMNS], values[ENTRIES];
	void *to = on_device(NULL, sizeof(values)), *offsets_to, *indices_to;
	int64_t offsets[ROWS + 1], indices[ENTRIES];
	cusparseDnMatDescr_t left, right;
	cusparseSpMatDescr_t result;

	offsets_of(rows_of, ROWS, 0, offsets);
	for (int i = 0; i < ENTRIES; i++) {
		indices[i] = columns_of[i];
		values[i] = values_of[i];
	}
	for (int i = 0; i < ROWS * WIDE; i++)
		a[i] = i + 1;
	for (int i = 0; i < WIDE * COLUMNS; i++)
		b[i] = 2 * i - 3;
	offsets_to = on_device(offsets, sizeof(offsets));
	indices_to = on_device(indices, sizeof(indices));
	OK(cudaMemcpy(to, values, sizeof(values), cudaMemcpyHostToDevice));
	OK(cusparseCreateCsr(&result, ROWS, COLUMNS, ENTRIES, offsets_to, indices_to, to, CUSPARSE_INDEX_64I,
		CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
	OK(cusparseCreateDnMat(
		&left, ROWS, WIDE, WIDE, on_device(a, sizeof(a)), CUDA_R_64F, CUSPARSE_ORDER_ROW));
	OK(cusparseCreateDnMat(
		&right, WIDE, COLUMNS, WIDE, on_device(b, sizeof(b)), CUDA_R_64F, CUSPARSE_ORDER_COL));
	OK(cusparseSDDMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha,
		left, right, &beta, result, CUDA_R_64F, CUSPARSE_SDDMM_ALG_DEFAULT, NULL));
	OK(cudaMemcpy(values, to, sizeof(values), cudaMemcpyDeviceToHost));
	for (int i = 0; i < ENTRIES; i++) {
		double sum = 0;

		for (int k = 0; k < WIDE; k++)
			sum += a[rows_of[i] * WIDE + k] * b[k + columns_of[i] * WIDE];
		CHECK(fabs(values[i] - (2 * sum + 0.5 * (double)values_of[i])) < 1e-12);
	}
	OK(cusparseDestroyDnMat(left));
	OK(cusparseDestroyDnMat(right));
	OK(cusparseDestroySpMat(result));
}

static void test_conversions(void)
{
	static const int mixed_rows[ENTRIES] = {3, 0, 3, 4, 1, 0, 3},
			 mixed_columns[ENTRIES] = {2, 3, 0, 1, 0, 1, 3};
	static const int sorted_rows[ENTRIES] = {0, 0, 1, 3, 3, 3, 4},
			 sorted_columns[ENTRIES] = {3, 1, 0, 2, 0, 3, 1};
	static const int order[ENTRIES] = {1, 5, 4, 0, 2, 6, 3};
	static const int offsets_wanted[ROWS + 1] = {1, 3, 4, 4, 7, 8};
	int *rows = on_device(mixed_rows, sizeof(mixed_rows)),
	    *columns = on_device(mixed_columns, sizeof(mixed_columns));
	int *permutation = on_device(NULL, ENTRIES * sizeof(int)),
	    *offsets = on_device(NULL, (ROWS + 1) * sizeof(int));
	int found[ENTRIES];
	cusparseMatDescr_t plain;
	size_t bytes;

	OK(cusparseCreateIdentityPermutation(handle, ENTRIES, permutation));
	OK(cusparseXcoosort_bufferSizeExt(handle, ROWS, COLUMNS, ENTRIES, rows, columns, &bytes));
	OK(cusparseXcoosortByRow(handle, ROWS, COLUMNS, ENTRIES, rows, columns, permutation, NULL));
	OK(cudaMemcpy(found, rows, sizeof(found), cudaMemcpyDeviceToHost));
	CHECK(memcmp(found, sorted_rows, sizeof(found)) == 0);
	OK(cudaMemcpy(found, columns, sizeof(found), cudaMemcpyDeviceToHost));
	CHECK(memcmp(found, sorted_columns, sizeof(found)) == 0);
	OK(cudaMemcpy(found, permutation, sizeof(found), cudaMemcpyDeviceToHost));
	CHECK(memcmp(found, order, sizeof(found)) == 0);
	/* base 1: the offsets of rows that count from 1 */
	for (int i = 0; i < ENTRIES; i++)
		found[i] = sorted_rows[i] + 1;
	OK(cudaMemcpy(rows, found, sizeof(found), cudaMemcpyHostToDevice));
	OK(cusparseXcoo2csr(handle, rows, ENTRIES, ROWS, offsets, CUSPARSE_INDEX_BASE_ONE));
	OK(cudaMemcpy(found, offsets, sizeof(offsets_wanted), cudaMemcpyDeviceToHost));
	CHECK(memcmp(found, offsets_wanted, sizeof(offsets_wanted)) == 0);
	OK(cusparseCreateMatDescr(&plain));
	OK(cusparseSetMatType(plain, CUSPARSE_MATRIX_TYPE_GENERAL));
	OK(cusparseSetMatIndexBase(plain, CUSPARSE_INDEX_BASE_ONE));
	OK(cusparseXcsrsort_bufferSizeExt(handle, ROWS, COLUMNS, ENTRIES, offsets, columns, &bytes));
	OK(cusparseXcsrsort(handle, ROWS, COLUMNS, ENTRIES, plain, offsets, columns, permutation, NULL));
	OK(cudaMemcpy(found, columns, sizeof(found), cudaMemcpyDeviceToHost));
	CHECK(memcmp(found, columns_of, sizeof(found)) == 0);
	OK(cudaMemcpy(found, permutation, sizeof(found), cudaMemcpyDeviceToHost));
	CHECK(found[0] == 5 && found[1] == 1 && found[3] == 2 && found[4] == 0 && found[6] == 3);
	OK(cusparseDestroyMatDescr(plain));
}

static void test_arguments(void)
{
	cusparseSpMatDescr_t sparse = make_sparse(CUSPARSE_FORMAT_CSR, 0), none;
	const float one = 1;
	cusparseDnMatDescr_t dense;
	int version = 0;

	OK(cusparseGetVersion(handle, &version));
	CHECK(version >= 12000);
	OK(cusparseGetProperty(MAJOR_VERSION, &version));
	CHECK(version == 12);
	CHECK(strcmp(cusparseGetErrorString(CUSPARSE_STATUS_SUCCESS), "success") == 0);
	EXPECT(cusparseCreateDnMat(&dense, 4, 4, 3, NULL, CUDA_R_32F, CUSPARSE_ORDER_ROW),
		CUSPARSE_STATUS_INVALID_VALUE);
	OK(cusparseCreateDnMat(&dense, 4, 4, 4, NULL, CUDA_R_32F, CUSPARSE_ORDER_ROW));
	EXPECT(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
		       sparse, dense, &one, dense, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, NULL),
		CUSPARSE_STATUS_INVALID_VALUE);
	EXPECT(cusparseSpMM(NULL, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
		       sparse, dense, &one, dense, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, NULL),
		CUSPARSE_STATUS_NOT_INITIALIZED);
	EXPECT(cusparseCreateCsr(&none, 1, 1, 1, NULL, NULL, NULL, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
		       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_8I),
		CUSPARSE_STATUS_NOT_SUPPORTED);
	OK(cusparseDestroyDnMat(dense));
	OK(cusparseDestroySpMat(sparse));
}

int main(void)
{
	static const cusparseFormat_t formats[] = {
		CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO};

	OK(cusparseCreate(&handle));
	for (int i = 0; i < 48; i++)
		test_multiply(formats[i % 3], i / 3 % 2, i / 6 % 2,
			i / 12 % 2 ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW, i / 24);
	test_vector();
	test_batch();
	test_sampled();
	test_conversions();
	test_arguments();
	OK(cusparseDestroy(handle));
	return 0;
}
