/*
 * What the stand-in cuBLASLt's files share: what is behind the vendor's descriptors of fixed size.
 *
 * The one idea: the caller may own a descriptor's memory and copy it about, so everything is in there by
 * value, and a table of offsets and sizes says which attribute is where.
 */
#ifndef CUBLASLT_PRIVATE_H
#define CUBLASLT_PRIVATE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>
#include <cublasLt.h>

#include "cublas/common.h"
#include "core/sg.h"

#pragma GCC visibility push(hidden)

struct sg_layout {
	uint64_t rows, columns;
	int64_t ld;
	int64_t batch_stride; /* elements */
	int64_t plane_offset;
	uint32_t type; /* cudaDataType */
	int32_t order;
	int32_t batch_count;
	uint32_t batch_mode;
};

struct sg_matmul {
	int32_t compute, scale, pointer_mode;
	int32_t op_a, op_b, op_c;
	int32_t fill;
	uint32_t epilogue;
	void *bias;
	int64_t bias_stride; /* from one matrix of the batch to the next */
	void *aux;
	int64_t aux_ld, aux_stride; /* elements, of ReLU's mask bits */
	int64_t alpha_stride;
	const void *a_scale, *b_scale, *c_scale, *d_scale, *aux_scale, *d_out_scale;
	void *amax, *aux_amax;
	void *emulation;
	int32_t sm_count;
	int32_t aux_type, bias_type; /* cudaDataType, or -1: D's */
	int32_t a_scale_mode, b_scale_mode, c_scale_mode, d_scale_mode, aux_scale_mode, d_out_scale_mode;
	int8_t fast_accumulation;
};

struct sg_preference {
	uint64_t workspace_bytes;
	uint64_t implementations;
	uint32_t search, reductions;
	uint32_t alignment_a, alignment_b, alignment_c, alignment_d; /* bytes */
	float waves;
};

struct sg_transform {
	int32_t scale, pointer_mode, op_a, op_b;
};

struct sg_algorithm {
	int32_t id;
	uint32_t tile;
	int32_t splits;
	uint32_t reduction, swizzling, custom, stages;
	uint16_t inner_shape, cluster_shape;
	uint32_t is_set; /* SG_ALGORITHM_SET: came from here */
};

#define SG_ALGORITHM_ID 0 /* the only one there is */
#define SG_ALGORITHM_SET 0x5347414cu

static_assert(sizeof(struct sg_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "fits into the vendor's");
static_assert(sizeof(struct sg_matmul) <= sizeof(cublasLtMatmulDescOpaque_t), "fits into the vendor's");
static_assert(
	sizeof(struct sg_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "fits into the vendor's");
static_assert(
	sizeof(struct sg_transform) <= sizeof(cublasLtMatrixTransformDescOpaque_t), "fits into the vendor's");
static_assert(sizeof(struct sg_algorithm) <= sizeof(cublasLtMatmulAlgo_t), "fits into the vendor's");

/* One attribute of a descriptor. */
struct sg_attribute {
	int name;
	uint16_t offset, bytes;
	bool is_fixed; /* can only be asked for */
};

/* INVALID_VALUE for an attribute that there is not, or another size than its own. */
cublasStatus_t sg_attribute_set(const struct sg_attribute *table, int count, void *descriptor, int name,
	const void *value, size_t bytes);

/* As the vendor's calls: with bytes 0, *written is how many it takes. */
cublasStatus_t sg_attribute_get(const struct sg_attribute *table, int count, const void *descriptor, int name,
	void *value, size_t bytes, size_t *written);

/* How scales of 8-bit numbers lie (CUBLASLT_MATMUL_DESC_A_SCALE_MODE, ...); those of two that there is not
 * are of 8 bits themselves. */
enum {
	SG_SCALE_ONE = 0,
	SG_SCALE_OUTER = 3, /* one for each row of op(A) or column of op(B) */
	SG_SCALE_BLOCKS_OF_128 =
		4, /* and for each 128 of what is summed over; rows or columns are neighbours */
	SG_SCALE_SQUARES_OF_128 =
		5, /* for 128 of either; those along the sum are neighbours, in lines of 4 */
};

/* The bits that an epilogue is made of. */
enum {
	SG_EPILOGUE_RELU = 2,
	SG_EPILOGUE_BIAS = 4,
	SG_EPILOGUE_RELU_SLOPE = 8,
	SG_EPILOGUE_BIAS_GRADIENT = 16,
	SG_EPILOGUE_GELU = 32,
	SG_EPILOGUE_GELU_SLOPE = 64,
	SG_EPILOGUE_AUX = 128,
	SG_EPILOGUE_SUM_A = 256,
	SG_EPILOGUE_SUM_B = 512,
	SG_EPILOGUE_ANY_BIAS =
		SG_EPILOGUE_BIAS | SG_EPILOGUE_BIAS_GRADIENT | SG_EPILOGUE_SUM_A | SG_EPILOGUE_SUM_B,
};

/*
 * Whether a product fits together (INVALID_VALUE) and is of a kind that we compute (NOT_SUPPORTED). Pointers
 * do not matter, but for the auxiliary matrix's; a bias may be given after the heuristics were asked (XLA).
 */
cublasStatus_t sg_matmul_check(const struct sg_matmul *matmul, const struct sg_layout *a,
	const struct sg_layout *b, const struct sg_layout *c, const struct sg_layout *d);

/* Elements from one row to the next, and from one column to the next. */
static inline int64_t sg_row_step(const struct sg_layout *layout)
{
	return layout->order == CUBLASLT_ORDER_ROW ? layout->ld : 1;
}

static inline int64_t sg_column_step(const struct sg_layout *layout)
{
	return layout->order == CUBLASLT_ORDER_ROW ? 1 : layout->ld;
}

static inline bool sg_op_is_known(int32_t op)
{
	return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

/* Of op(matrix). */
static inline uint64_t sg_rows_of(const struct sg_layout *layout, int32_t op)
{
	return op == CUBLAS_OP_N ? layout->rows : layout->columns;
}

static inline uint64_t sg_columns_of(const struct sg_layout *layout, int32_t op)
{
	return op == CUBLAS_OP_N ? layout->columns : layout->rows;
}

/* Where in its memory a matrix of the batch begins. */
static inline void *sg_matrix_at(const void *base, const struct sg_layout *layout, int64_t index)
{
	size_t bytes = sg_real_bytes((cudaDataType)layout->type);

	return (char *)(uintptr_t)base + index * layout->batch_stride * (int64_t)bytes;
}

/* Layouts that cannot be: INVALID_VALUE; orders, types and batches that we do not have: NOT_SUPPORTED. */
cublasStatus_t sg_layout_check(const struct sg_layout *layout);

#pragma GCC visibility pop

#endif
