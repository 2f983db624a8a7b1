/*
 * Matrix products by cuBLASLt, with what follows them done in the same call.
 *
 * The one idea: as with convolutions, layouts and algorithm are settled once and a run only names memory.
 * Matrices are column-major and of floats.
 */
#ifndef PRODUCT_H
#define PRODUCT_H

#include <cublasLt.h>

struct product;

/* d (m x n) = op(a) * op(b), k being what is summed over; leading dimensions are the matrices' own heights.
 */
struct product_shape {
	cublasOperation_t op_a, op_b;
	int m, n, k;
};

/*
 * bias: what the epilogue adds or, for BGRADB, sets, as in the first runs; NULL for none. *workspace_size is
 * raised to what the product needs.
 */
struct product *product_create(cublasLtHandle_t lt, const struct product_shape *shape,
	cublasLtEpilogue_t epilogue, const float *bias, size_t *workspace_size);
void product_destroy(struct product *product); /* NULL is ignored */

/* adds: to d, instead of setting it. bias: as for product_create; it may be another than before. */
void product_run(cublasLtHandle_t lt, struct product *product, const float *a, const float *b, int adds,
	float *d, const float *bias, void *workspace, size_t workspace_size, cudaStream_t stream);

#endif
