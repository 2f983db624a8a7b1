/*
 * What cuBLAS's and cuBLASLt's stand-ins share: element types, names of errors.
 *
 * The one idea: two libraries, neither of which needs the other, are both built from this file.
 */
#include "common.h"

#include <stdlib.h>
#include "core/half.h"

size_t sg_real_bytes(cudaDataType type)
{
	switch ((int)type) {
	case SG_R_8F_E4M3:
	case SG_R_8F_E5M2:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
		return 4;
	case CUDA_R_64F:
		return 8;
	default:
		return 0;
	}
}

double sg_load(const void *base, cudaDataType type, int64_t index)
{
	switch ((int)type) {
	case SG_R_8F_E4M3:
		return (double)sg_float_from_e4m3(((const uint8_t *)base)[index]);
	case SG_R_8F_E5M2:
		return (double)sg_float_from_e5m2(((const uint8_t *)base)[index]);
	case CUDA_R_16F:
		return (double)sg_float_from_half(((const uint16_t *)base)[index]);
	case CUDA_R_16BF:
		return (double)sg_float_from_bfloat(((const uint16_t *)base)[index]);
	case CUDA_R_32F:
		return (double)((const float *)base)[index];
	default:
		return ((const double *)base)[index];
	}
}

void sg_store(void *base, cudaDataType type, int64_t index, double value)
{
	switch ((int)type) {
	case SG_R_8F_E4M3:
		((uint8_t *)base)[index] = sg_e4m3_from_float((float)value);
		break;
	case SG_R_8F_E5M2:
		((uint8_t *)base)[index] = sg_e5m2_from_float((float)value);
		break;
	case CUDA_R_16F:
		((uint16_t *)base)[index] = sg_half_from_float((float)value);
		break;
	case CUDA_R_16BF:
		((uint16_t *)base)[index] = sg_bfloat_from_float((float)value);
		break;
	case CUDA_R_32F:
		((float *)base)[index] = (float)value;
		break;
	default:
		((double *)base)[index] = value;
		break;
	}
}

struct status_name {
	cublasStatus_t status;
	const char *name;
	const char *sentence;
};

static const struct status_name status_names[] = {
	{CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
	{CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
	{CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
	{CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
		"an unsupported value or parameter was passed to the function"},
	{CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
		"the function requires an architectural feature absent from the architecture"},
	{CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to the memory failed"},
	{CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch"},
	{CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
	{CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
		"the requested function is not supported"},
	{CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR",
		"the license was not found or is not valid"},
};

static const struct status_name *find_status(cublasStatus_t status)
{
	for (size_t i = 0; i < sizeof(status_names) / sizeof(status_names[0]); i++) {
		if (status_names[i].status == status)
			return &status_names[i];
	}
	return NULL;
}

const char *sg_status_name(cublasStatus_t status)
{
	const struct status_name *found = find_status(status);

	return found == NULL ? "CUBLAS_STATUS_UNKNOWN" : found->name;
}

const char *sg_status_sentence(cublasStatus_t status)
{
	const struct status_name *found = find_status(status);

	return found == NULL ? "unknown status" : found->sentence;
}
