/* Handles and descriptors: see cusparse_private.h. Descriptors say where things are; nothing is looked at. */
#include "cusparse_private.h"

#include <stdlib.h>

#define MAJOR 12
#define MINOR 6
#define PATCH 3

/* ---- handles ---- */

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*handle = calloc(1, sizeof(**handle));
	return *handle != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	free(handle);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version)
{
	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (version == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*version = MAJOR * 1000 + MINOR * 100 + PATCH;
	return CUSPARSE_STATUS_SUCCESS;
}

/* JAX takes no device where it does not get a version. */
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
	static const int parts[] = {MAJOR, MINOR, PATCH};

	SG_ENTER();
	if ((unsigned)type >= sizeof(parts) / sizeof(parts[0]) || value == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*value = parts[type];
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t streamId)
{
	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (sg_stream_device(streamId) < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	handle->stream = streamId;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t *streamId)
{
	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (streamId == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*streamId = handle->stream;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode)
{
	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (mode != CUSPARSE_POINTER_MODE_HOST && mode != CUSPARSE_POINTER_MODE_DEVICE)
		return CUSPARSE_STATUS_INVALID_VALUE;
	handle->pointer_mode = mode;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t *mode)
{
	SG_ENTER();
	if (handle == NULL)
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (mode == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*mode = handle->pointer_mode;
	return CUSPARSE_STATUS_SUCCESS;
}

static const struct {
	const char *name, *sentence;
} statuses[] = {
	{"CUSPARSE_STATUS_SUCCESS", "success"},
	{"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
	{"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
	{"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
	{"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
	{"CUSPARSE_STATUS_MAPPING_ERROR", "texture mapping error"},
	{"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
	{"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
	{"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
	{"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
	{"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
	{"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};
#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

const char *cusparseGetErrorName(cusparseStatus_t status)
{
	sg_fault(__func__);
	return (unsigned)status < STATUSES ? statuses[status].name : "unrecognized error code";
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
	sg_fault(__func__);
	return (unsigned)status < STATUSES ? statuses[status].sentence : "unrecognized error code";
}

/* ---- kernels ---- */

#define BLOCK 256
#define MOST_BLOCKS 65535

static const struct kernel {
	const char *name;
} kernels[] = {[KERNEL_SPMM] = {"cusparseSpMM_kernel"},
	[KERNEL_SPMV] = {"cusparseSpMV_kernel"},
	[KERNEL_SDDMM] = {"cusparseSDDMM_kernel"},
	[KERNEL_COO2CSR] = {"cusparseXcoo2csr_kernel"},
	[KERNEL_SORT] = {"cusparseXsort_kernel"},
	[KERNEL_IDENTITY] = {"cusparseIdentityPermutation_kernel"}};

/* What nvcc's code calls before main. */
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
	const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);

__attribute__((constructor)) static void register_kernels(void)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		__cudaRegisterFunction(NULL, (const char *)&kernels[i], NULL, kernels[i].name, -1, NULL, NULL,
			NULL, NULL, NULL);
}

cusparseStatus_t sg_cusparse_submit(cusparseHandle_t handle, enum sg_cusparse_kernel kernel, double threads,
	const struct sg_cost *cost, sg_work *fn, void *arg, size_t size)
{
	double blocks = threads / BLOCK + 1;
	void *args[] = {arg};

	sg_launch_as(cost, fn, size);
	return cudaLaunchKernel(&kernels[kernel],
		       (dim3){blocks < MOST_BLOCKS ? (unsigned)blocks : MOST_BLOCKS, 1, 1},
		       (dim3){BLOCK, 1, 1}, args, 0, handle->stream) == cudaSuccess
		       ? CUSPARSE_STATUS_SUCCESS
		       : CUSPARSE_STATUS_EXECUTION_FAILED;
}

/* ---- numbers ---- */

size_t sg_index_bytes(cusparseIndexType_t type)
{
	return type == CUSPARSE_INDEX_32I   ? sizeof(int32_t)
	       : type == CUSPARSE_INDEX_64I ? sizeof(int64_t)
					    : 0;
}

int64_t sg_index_at(const void *indices, cusparseIndexType_t type, int64_t at)
{
	return type == CUSPARSE_INDEX_64I ? ((const int64_t *)indices)[at] : ((const int32_t *)indices)[at];
}

/* ---- of the older calls ---- */

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *descrA)
{
	SG_ENTER();
	if (descrA == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*descrA = calloc(1, sizeof(**descrA));
	return *descrA != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descrA)
{
	SG_ENTER();
	free(descrA);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t descrA, cusparseMatrixType_t type)
{
	SG_ENTER();
	if (descrA == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	return type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}

cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t descrA, cusparseIndexBase_t base)
{
	SG_ENTER();
	if (descrA == NULL || (base != CUSPARSE_INDEX_BASE_ZERO && base != CUSPARSE_INDEX_BASE_ONE))
		return CUSPARSE_STATUS_INVALID_VALUE;
	descrA->base = base;
	return CUSPARSE_STATUS_SUCCESS;
}

/* Of triangular and symmetric matrices, of which there is nothing here. */
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t descrA, cusparseDiagType_t diagType)
{
	SG_ENTER();
	(void)diagType;
	return descrA != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t descrA, cusparseFillMode_t fillMode)
{
	SG_ENTER();
	(void)fillMode;
	return descrA != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

/* ---- sparse matrices ---- */

static cusparseStatus_t create_sparse(cusparseSpMatDescr_t *out, const struct cusparseSpMatDescr *filled)
{
	if (out == NULL || filled->rows < 0 || filled->columns < 0 || filled->entries < 0 ||
		(filled->base != 0 && filled->base != 1))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (sg_real_bytes(filled->type) == 0 || sg_index_bytes(filled->offset_type) == 0 ||
		sg_index_bytes(filled->index_type) == 0)
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	*out = malloc(sizeof(**out));
	if (*out == NULL)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	**out = *filled;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,
	void *csrRowOffsets, void *csrColInd, void *csrValues, cusparseIndexType_t csrRowOffsetsType,
	cusparseIndexType_t csrColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	SG_ENTER();
	return create_sparse(spMatDescr,
		&(struct cusparseSpMatDescr){CUSPARSE_FORMAT_CSR, rows, cols, nnz, csrRowOffsets, csrColInd,
			csrValues, csrRowOffsetsType, csrColIndType, (int)idxBase, valueType, 1, 0, 0});
}

cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,
	void *cscColOffsets, void *cscRowInd, void *cscValues, cusparseIndexType_t cscColOffsetsType,
	cusparseIndexType_t cscRowIndType, cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	SG_ENTER();
	return create_sparse(spMatDescr,
		&(struct cusparseSpMatDescr){CUSPARSE_FORMAT_CSC, rows, cols, nnz, cscColOffsets, cscRowInd,
			cscValues, cscColOffsetsType, cscRowIndType, (int)idxBase, valueType, 1, 0, 0});
}

cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,
	void *cooRowInd, void *cooColInd, void *cooValues, cusparseIndexType_t cooIdxType,
	cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	SG_ENTER();
	return create_sparse(spMatDescr,
		&(struct cusparseSpMatDescr){CUSPARSE_FORMAT_COO, rows, cols, nnz, cooRowInd, cooColInd,
			cooValues, cooIdxType, cooIdxType, (int)idxBase, valueType, 1, 0, 0});
}

cusparseStatus_t cusparseCsrSetPointers(
	cusparseSpMatDescr_t spMatDescr, void *csrRowOffsets, void *csrColInd, void *csrValues)
{
	SG_ENTER();
	if (spMatDescr == NULL || spMatDescr->format != CUSPARSE_FORMAT_CSR)
		return CUSPARSE_STATUS_INVALID_VALUE;
	spMatDescr->offsets = csrRowOffsets;
	spMatDescr->indices = csrColInd;
	spMatDescr->values = csrValues;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
	int64_t offsetsBatchStride, int64_t columnsValuesBatchStride)
{
	SG_ENTER();
	if (spMatDescr == NULL || batchCount < 1)
		return CUSPARSE_STATUS_INVALID_VALUE;
	spMatDescr->batches = batchCount;
	spMatDescr->offset_stride = offsetsBatchStride;
	spMatDescr->entry_stride = columnsValuesBatchStride;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t spMatDescr)
{
	SG_ENTER();
	free((void *)(uintptr_t)spMatDescr);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMatGetSize(
	cusparseConstSpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz)
{
	SG_ENTER();
	if (spMatDescr == NULL || rows == NULL || cols == NULL || nnz == NULL)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*rows = spMatDescr->rows;
	*cols = spMatDescr->columns;
	*nnz = spMatDescr->entries;
	return CUSPARSE_STATUS_SUCCESS;
}

/* Of triangular matrices. */
cusparseStatus_t cusparseSpMatSetAttribute(
	cusparseSpMatDescr_t spMatDescr, cusparseSpMatAttribute_t attribute, void *data, size_t dataSize)
{
	SG_ENTER();
	(void)attribute;
	(void)dataSize;
	return spMatDescr != NULL && data != NULL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

/* ---- dense matrices and vectors ---- */

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *dnMatDescr, int64_t rows, int64_t cols, int64_t ld,
	void *values, cudaDataType valueType, cusparseOrder_t order)
{
	SG_ENTER();
	if (dnMatDescr == NULL || rows < 0 || cols < 0 ||
		(order != CUSPARSE_ORDER_COL && order != CUSPARSE_ORDER_ROW) ||
		ld < (order == CUSPARSE_ORDER_COL ? rows : cols))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (sg_real_bytes(valueType) == 0)
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	*dnMatDescr = malloc(sizeof(**dnMatDescr));
	if (*dnMatDescr == NULL)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	**dnMatDescr = (struct cusparseDnMatDescr){rows, cols, ld, values, valueType, order, 1, 0};
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDnMatSetStridedBatch(
	cusparseDnMatDescr_t dnMatDescr, int batchCount, int64_t batchStride)
{
	SG_ENTER();
	if (dnMatDescr == NULL || batchCount < 1)
		return CUSPARSE_STATUS_INVALID_VALUE;
	dnMatDescr->batches = batchCount;
	dnMatDescr->stride = batchStride;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t dnMatDescr)
{
	SG_ENTER();
	free((void *)(uintptr_t)dnMatDescr);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnVec(
	cusparseDnVecDescr_t *dnVecDescr, int64_t size, void *values, cudaDataType valueType)
{
	SG_ENTER();
	if (dnVecDescr == NULL || size < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (sg_real_bytes(valueType) == 0)
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	*dnVecDescr = malloc(sizeof(**dnVecDescr));
	if (*dnVecDescr == NULL)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	**dnVecDescr = (struct cusparseDnVecDescr){size, values, valueType};
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t dnVecDescr)
{
	SG_ENTER();
	free((void *)(uintptr_t)dnVecDescr);
	return CUSPARSE_STATUS_SUCCESS;
}
