/*
 * What the stand-in cuSPARSE's files share: the handle, and what descriptors hold.
 *
 * The one idea: a call checks its arguments, copies the descriptors into a job and submits that to the
 * handle's stream, so that descriptors may be destroyed at once, as PyTorch does.
 */
#ifndef CUSPARSE_PRIVATE_H
#define CUSPARSE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "cublas/common.h"
#include "core/sg.h"

/* Its name is cuBLAS's status there. */
#undef SG_ENTER
/* First statement of every exported function that returns a status. */
#define SG_ENTER() \
	do { \
		if (sg_fault(__func__)) \
			return CUSPARSE_STATUS_INTERNAL_ERROR; \
	} while (0)

#pragma GCC visibility push(hidden)

struct cusparseContext {
	cudaStream_t stream;
	cusparsePointerMode_t pointer_mode;
};

/* Of the older calls. */
struct cusparseMatDescr {
	cusparseIndexBase_t base;
};

struct cusparseSpMatDescr {
	cusparseFormat_t format;
	int64_t rows, columns, entries; /* of one matrix of a batch */
	void *offsets;                  /* of rows (CSR) or columns (CSC), 1 more than there are; COO: rows */
	void *indices, *values;
	cusparseIndexType_t offset_type, index_type;
	int base; /* 0 or 1, of offsets and indices */
	cudaDataType type;
	int batches;
	int64_t offset_stride, entry_stride; /* from one matrix of a batch to the next, in elements */
};

struct cusparseDnMatDescr {
	int64_t rows, columns, leading;
	void *values;
	cudaDataType type;
	cusparseOrder_t order;
	int batches;
	int64_t stride;
};

struct cusparseDnVecDescr {
	int64_t size;
	void *values;
	cudaDataType type;
};

/* The kernels, by the names that they have in traces; nobody intercepts the calls. */
enum sg_cusparse_kernel {
	KERNEL_SPMM,
	KERNEL_SPMV,
	KERNEL_SDDMM,
	KERNEL_COO2CSR,
	KERNEL_SORT,
	KERNEL_IDENTITY
};

/* Launches a kernel of so many threads, which is fn on `size` bytes at arg, which are copied. */
cusparseStatus_t sg_cusparse_submit(cusparseHandle_t handle, enum sg_cusparse_kernel kernel, double threads,
	const struct sg_cost *cost, sg_work *fn, void *arg, size_t size);

size_t sg_index_bytes(cusparseIndexType_t type); /* 0: neither 32 nor 64 bits */
/* An index at a place, in elements. */
int64_t sg_index_at(const void *indices, cusparseIndexType_t type, int64_t at);

#pragma GCC visibility pop

#endif
