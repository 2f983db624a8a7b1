/* Sorting and compressing indices of 32 bits, all in device memory. */
#include "cusparse_private.h"

#include <stdlib.h>
#include <string.h>

#define PASSES 4 /* that a radix sort makes over keys and permutation: a guess, for the cost alone */

static struct sg_cost cost_of(double integers)
{
	return (struct sg_cost)SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, integers * (double)sizeof(int));
}

/* ---- rows to offsets ---- */

struct compress {
	const int *rows;
	int count, row_count, base;
	int *offsets;
};

static void compress(void *arg)
{
	const struct compress *job = arg;
	int at = 0;

	for (int row = 0; row <= job->row_count; row++) {
		while (at < job->count && job->rows[at] - job->base < row)
			at++;
		job->offsets[row] = at + job->base;
	}
}

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int *cooRowInd, int nnz, int m,
	int *csrSortedRowPtr, cusparseIndexBase_t idxBase)
{
	struct compress job = {cooRowInd, nnz, m, (int)idxBase, csrSortedRowPtr};
	struct sg_cost cost = cost_of((double)nnz + m + 1);

	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (nnz < 0 || m < 0 || csrSortedRowPtr == NULL || (cooRowInd == NULL && nnz > 0))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return sg_cusparse_submit(handle, KERNEL_COO2CSR, nnz, &cost, compress, &job, sizeof(job));
}

/* ---- sorting ---- */

struct sort {
	const int *offsets; /* of rows whose columns are sorted; NULL: all are sorted by row */
	int *rows, *columns, *permutation;
	int count, row_count, base;
};

struct entry {
	int row, column, number, place;
};

static int by_row(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->row != b->row)
		return (a->row > b->row) - (a->row < b->row);
	return (a->place > b->place) - (a->place < b->place);
}

static int by_column(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->column != b->column)
		return (a->column > b->column) - (a->column < b->column);
	return (a->place > b->place) - (a->place < b->place);
}

static void sort(void *arg)
{
	const struct sort *job = arg;
	struct entry *entries = calloc((size_t)job->count + 1, sizeof(*entries));

	if (entries == NULL) {
		sg_async_error(sg_device(), cudaErrorMemoryAllocation);
		return;
	}
	for (int i = 0; i < job->count; i++)
		entries[i] = (struct entry){job->rows != NULL ? job->rows[i] : 0, job->columns[i],
			job->permutation != NULL ? job->permutation[i] : 0, i};
	if (job->offsets == NULL)
		qsort(entries, (size_t)job->count, sizeof(*entries), by_row);
	for (int row = 0; job->offsets != NULL && row < job->row_count; row++) {
		int begin = job->offsets[row] - job->base, end = job->offsets[row + 1] - job->base;

		if (begin >= 0 && begin < end && end <= job->count)
			qsort(entries + begin, (size_t)(end - begin), sizeof(*entries), by_column);
	}
	for (int i = 0; i < job->count; i++) {
		if (job->rows != NULL)
			job->rows[i] = entries[i].row;
		job->columns[i] = entries[i].column;
		if (job->permutation != NULL)
			job->permutation[i] = entries[i].number;
	}
	free(entries);
}

static cusparseStatus_t submit_sort(cusparseHandle_t handle, struct sort *job)
{
	struct sg_cost cost = cost_of(2.0 * PASSES * 3 * job->count);

	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (job->count < 0 || (job->columns == NULL && job->count > 0))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return sg_cusparse_submit(handle, KERNEL_SORT, job->count, &cost, sort, job, sizeof(*job));
}

static cusparseStatus_t give_buffer_size(cusparseHandle_t handle, int entries, size_t *bytes)
{
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (bytes == NULL || entries < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*bytes = (size_t)entries * 3 * sizeof(int) + 256;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
	const int *cooRowsA, const int *cooColsA, size_t *pBufferSizeInBytes)
{
	SG_ENTER();
	(void)m, (void)n, (void)cooRowsA, (void)cooColsA;
	return give_buffer_size(handle, nnz, pBufferSizeInBytes);
}

cusparseStatus_t cusparseXcoosortByRow(
	cusparseHandle_t handle, int m, int n, int nnz, int *cooRowsA, int *cooColsA, int *P, void *pBuffer)
{
	struct sort job = {NULL, cooRowsA, cooColsA, P, nnz, m, 0};

	SG_ENTER();
	(void)n, (void)pBuffer;
	return submit_sort(handle, &job);
}

cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
	const int *csrRowPtrA, const int *csrColIndA, size_t *pBufferSizeInBytes)
{
	SG_ENTER();
	(void)m, (void)n, (void)csrRowPtrA, (void)csrColIndA;
	return give_buffer_size(handle, nnz, pBufferSizeInBytes);
}

cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz,
	const cusparseMatDescr_t descrA, const int *csrRowPtrA, int *csrColIndA, int *P, void *pBuffer)
{
	struct sort job = {csrRowPtrA, NULL, csrColIndA, P, nnz, m, descrA != NULL ? (int)descrA->base : 0};

	SG_ENTER();
	(void)n, (void)pBuffer;
	if (descrA == NULL || csrRowPtrA == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	return submit_sort(handle, &job);
}

/* ---- the numbers that sorting permutes ---- */

struct identity {
	int count, *numbers;
};

static void number_all(void *arg)
{
	const struct identity *job = arg;

	for (int i = 0; i < job->count; i++)
		job->numbers[i] = i;
}

cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int *p)
{
	struct identity job = {n, p};
	struct sg_cost cost = cost_of(n);

	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (n < 0 || (p == NULL && n > 0))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return sg_cusparse_submit(handle, KERNEL_IDENTITY, n, &cost, number_all, &job, sizeof(job));
}

/* Their one argument, for whoever looks into launches (calls/kernel.c). */
#pragma GCC visibility push(default)
extern const size_t sg_twin_cusparseXcoo2csr_kernel_args[2], sg_twin_cusparseXsort_kernel_args[2],
	sg_twin_cusparseIdentityPermutation_kernel_args[2];
const size_t sg_twin_cusparseXcoo2csr_kernel_args[2] = {sizeof(struct compress)};
const size_t sg_twin_cusparseXsort_kernel_args[2] = {sizeof(struct sort)};
const size_t sg_twin_cusparseIdentityPermutation_kernel_args[2] = {sizeof(struct identity)};
#pragma GCC visibility pop
