/*
 * cublasLt's descriptors: what a matrix product is.
 */
#ifndef MATMUL_H
#define MATMUL_H

#include <stddef.h>
#include <stdint.h>

#include "pm_abi.h"

/* Addresses are 0 where the epilogue has none. */
struct pmh_matmul {
	int64_t transa, transb, m, n, k, batch, epilogue;
	uint64_t type, beta, bias, dbias, aux;
};
struct pmh_matmul pmh_matmul(const void *matmul, const void *a, const void *d, const void *beta);
void pmh_matmul_made(const void *matmul, cublasComputeType_t type);
void pmh_matmul_set(
	const void *matmul, cublasLtMatmulDescAttributes_t name, const void *value, size_t value_bytes);
void pmh_layout_made(const void *layout, cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t ld);
void pmh_layout_set(
	const void *layout, cublasLtMatrixLayoutAttribute_t name, const void *value, size_t value_bytes);

#endif
