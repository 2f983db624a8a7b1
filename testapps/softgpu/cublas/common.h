/* What cuBLAS's and cuBLASLt's stand-ins share: see common.c. */
#ifndef CUBLAS_COMMON_H
#define CUBLAS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cublas_v2.h>

#pragma GCC visibility push(hidden)

/* First statement of every exported function that returns a status. */
#define SG_ENTER() \
	do { \
		if (sg_fault(__func__)) \
			return CUBLAS_STATUS_INTERNAL_ERROR; \
	} while (0)

/* cudaDataType's, which the project's own header leaves out. */
#define SG_R_8F_E4M3 28
#define SG_R_8F_E5M2 29

static inline bool sg_is_8f(uint32_t type)
{
	return type == SG_R_8F_E4M3 || type == SG_R_8F_E5M2;
}

/* Single numbers of the types 8F, 16F, 16BF, 32F and 64F, at an index counted in elements. */
double sg_load(const void *base, cudaDataType type, int64_t index);
void sg_store(void *base, cudaDataType type, int64_t index, double value);
size_t sg_real_bytes(cudaDataType type); /* 0: none of these */

/* What cublasGetStatusName and cublasGetStatusString answer. */
const char *sg_status_name(cublasStatus_t status);
const char *sg_status_sentence(cublasStatus_t status);

#pragma GCC visibility pop

#endif
