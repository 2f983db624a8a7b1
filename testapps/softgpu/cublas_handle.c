/*
 * cuBLAS handles, their settings, names of errors, and what a job does with scalars and element types.
 *
 * The one idea: a handle holds settings only; the work belongs to the stream.
 */
#include "cublas_private.h"

#include <stdlib.h>
#include <string.h>
#include <cblas.h>

/* OpenBLAS's own threads would compete with the other streams'. A user's own choice is left alone. */
__attribute__((constructor)) static void set_openblas_threads(void)
{
	if (getenv("OPENBLAS_NUM_THREADS") == NULL && getenv("GOTO_NUM_THREADS") == NULL &&
		getenv("OMP_NUM_THREADS") == NULL)
		openblas_set_num_threads(sg_threads());
}

cublasStatus_t sg_cublas_submit(cublasHandle_t handle, sg_work *fn, const void *arg, size_t size)
{
	return sg_submit(handle->stream, fn, arg, size) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
								       : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t sg_cublas_submit_result(cublasHandle_t handle, sg_work *fn, const void *arg, size_t size)
{
	bool waits = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
	cublasStatus_t status;

	if (waits && sg_capturing(handle->stream))
		return CUBLAS_STATUS_EXECUTION_FAILED;
	status = sg_cublas_submit(handle, fn, arg, size);
	if (status == CUBLAS_STATUS_SUCCESS && waits && cudaStreamSynchronize(handle->stream) != cudaSuccess)
		status = CUBLAS_STATUS_EXECUTION_FAILED;
	return status;
}

size_t sg_real_bytes(cudaDataType type)
{
	switch ((int)type) {
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

static float float_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_from_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = (half >> 10) & 0x1f;
	uint32_t fraction = half & 0x3ff;
	float size;

	if (exponent == 0x1f)
		return float_from_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent == 0) {
		size = (float)fraction * 0x1p-24f;
		return sign != 0 ? -size : size;
	}
	return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Drops the lowest `count` bits, rounding to the nearest, ties to even. */
static uint32_t round_off(uint32_t bits, int count)
{
	uint32_t half = (UINT32_C(1) << (count - 1)) - 1;

	return (bits + half + ((bits >> count) & 1)) >> count;
}

static uint16_t half_from_float(float value)
{
	uint32_t bits = bits_of_float(value);
	uint32_t sign = (bits >> 16) & 0x8000;
	uint32_t size = bits & 0x7fffffff;

	if (size > 0x7f800000)
		return (uint16_t)(sign | 0x7e00);
	if (size >= 0x47800000)
		return (uint16_t)(sign | 0x7c00);
	if (size >= 0x38800000)
		return (uint16_t)(sign | round_off(size - 0x38000000, 13));
	/* Subnormal: adding a half places the last bit kept at the end of the float's fraction, and rounds.
	 */
	return (uint16_t)(sign | (bits_of_float(float_from_bits(size) + 0.5f) - 0x3f000000));
}

static uint16_t bfloat_from_float(float value)
{
	uint32_t bits = bits_of_float(value);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)round_off(bits, 16);
}

double sg_load(const void *base, cudaDataType type, int64_t index)
{
	switch ((int)type) {
	case CUDA_R_16F:
		return (double)float_from_half(((const uint16_t *)base)[index]);
	case CUDA_R_16BF:
		return (double)float_from_bits((uint32_t)((const uint16_t *)base)[index] << 16);
	case CUDA_R_32F:
		return (double)((const float *)base)[index];
	default:
		return ((const double *)base)[index];
	}
}

void sg_store(void *base, cudaDataType type, int64_t index, double value)
{
	switch ((int)type) {
	case CUDA_R_16F:
		((uint16_t *)base)[index] = half_from_float((float)value);
		break;
	case CUDA_R_16BF:
		((uint16_t *)base)[index] = bfloat_from_float((float)value);
		break;
	case CUDA_R_32F:
		((float *)base)[index] = (float)value;
		break;
	default:
		((double *)base)[index] = value;
		break;
	}
}

struct sg_scalar sg_scalar_take(cublasHandle_t handle, const void *pointer, cudaDataType type)
{
	struct sg_scalar scalar = {.type = type};

	if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE)
		scalar.address = pointer;
	else
		scalar.value = sg_load(pointer, type, 0);
	return scalar;
}

double sg_scalar_value(const struct sg_scalar *scalar)
{
	return scalar->address != NULL ? sg_load(scalar->address, scalar->type, 0) : scalar->value;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*handle = calloc(1, sizeof(**handle));
	if (*handle == NULL)
		return CUBLAS_STATUS_ALLOC_FAILED;
	(*handle)->device = sg_device();
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	free(handle);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (sg_stream_device(streamId) < 0)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->stream = streamId;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *streamId)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (streamId == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*streamId = handle->stream;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	/* The vendor asks for this alignment; nothing here needs a workspace. */
	if ((uintptr_t)workspace % 256 != 0 || (workspace == NULL && workspaceSizeInBytes > 0))
		return CUBLAS_STATUS_INVALID_VALUE;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->pointer_mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (mode == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = handle->pointer_mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if ((int)mode < 0 || (int)mode > 31)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->math = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (mode == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*mode = handle->math;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (mode != CUBLAS_ATOMICS_NOT_ALLOWED && mode != CUBLAS_ATOMICS_ALLOWED)
		return CUBLAS_STATUS_INVALID_VALUE;
	handle->atomics = mode;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (version == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = CUBLAS_VERSION;
	return CUBLAS_STATUS_SUCCESS;
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

const char *cublasGetStatusName(cublasStatus_t status)
{
	const struct status_name *found = sg_fault(__func__) ? NULL : find_status(status);

	return found == NULL ? "CUBLAS_STATUS_UNKNOWN" : found->name;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	const struct status_name *found = sg_fault(__func__) ? NULL : find_status(status);

	return found == NULL ? "unknown status" : found->sentence;
}
