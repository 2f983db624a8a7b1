/*
 * What the work of cuBLAS and cuBLASLt costs, for the model clock: see struct sg_cost in core/sg.h.
 *
 * The one idea: sizes in, cost out, on the caller's thread before anything is submitted. What products cost
 * is worked out here; calls bound by memory say how many numbers they touch. Bytes are those of each operand
 * once, an output that is also read (beta not 0) twice. Any thread; nothing can fail.
 */
#ifndef CUBLAS_COST_H
#define CUBLAS_COST_H

#include <stdbool.h>

#include "common.h"
#include "core/sg.h"

#pragma GCC visibility push(hidden)

/*
 * What products of matrices of a type are done in: as the vendor's default is, floats stay floats unless the
 * handle's math mode or the compute type lets them go to the matrix unit. math: 0 where there is no handle.
 */
enum sg_cost_type sg_cost_product_type(cudaDataType type, cublasComputeType_t compute, cublasMath_t math);

/*
 * The alignment of a product's columns, in bytes: that of the matrices so far (16: none yet) and of one more,
 * by its leading dimension and its address, which libraries look at when they choose a kernel. NULL: not
 * known.
 */
int sg_cost_alignment(int so_far, cudaDataType type, int64_t ld, const void *address);

struct sg_product {
	double m, n, k;
	double count;            /* products of a batch */
	double a_count, b_count; /* matrices that differ: 1 where all products share one */
	cudaDataType a_type, b_type, c_type;
	bool adds;     /* c is read too */
	int alignment; /* bytes that each column's start is a multiple of (sg_alignment) */
};
struct sg_cost sg_cost_product(const struct sg_product *product, enum sg_cost_type type);

/* Work bound by memory on so many elements, read and written, of one type. */
struct sg_cost sg_cost_vector(cudaDataType type, double flops, double elements);

#pragma GCC visibility pop

#endif
