/*
 * cuBLAS handles, their settings, and what a job does with scalars.
 *
 * The one idea: a handle holds settings only; the work belongs to the stream.
 */
#include "cublas_private.h"

#include "openblas.h"

#include <stdlib.h>
#include <string.h>

cublasStatus_t sg_cublas_submit(
	cublasHandle_t handle, const struct sg_cost *cost, sg_work *fn, const void *arg, size_t size)
{
	return sg_submit_cost(handle->stream, cost, fn, arg, size) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t sg_cublas_submit_result(cublasHandle_t handle, const struct sg_cost *cost, sg_work *fn,
	const void *arg, size_t size, void *result, const void *zeros, size_t bytes)
{
	bool waits = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
	cublasStatus_t status;

	if (waits && sg_capturing(handle->stream))
		return CUBLAS_STATUS_EXECUTION_FAILED;
	status = sg_cublas_submit(handle, cost, fn, arg, size);
	if (status == CUBLAS_STATUS_SUCCESS && waits && cudaStreamSynchronize(handle->stream) != cudaSuccess)
		status = CUBLAS_STATUS_EXECUTION_FAILED;
	if (status == CUBLAS_STATUS_SUCCESS && waits && !sg_numerics())
		memcpy(result, zeros, bytes);
	return status;
}

bool sg_scalar_may_add(const struct sg_scalar *factor)
{
	return factor->address != NULL || factor->value != 0;
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
	if (sg_openblas_open() != 0)
		return CUBLAS_STATUS_NOT_INITIALIZED;
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

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
	SG_ENTER();
	if (handle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	/* The vendor asks for 256 and takes less: a workspace of XLA's is a part of a buffer, at a multiple of
	 * 128. Nothing here needs one. */
	if ((uintptr_t)workspace % 128 != 0 || (workspace == NULL && workspaceSizeInBytes > 0))
		return CUBLAS_STATUS_INVALID_VALUE;
	return CUBLAS_STATUS_SUCCESS;
}

/* What a handle is set to, and is asked for: a row of name, type, field and, to set, what is allowed. */
#define SETTER(name, type, field, allowed) \
	cublasStatus_t name(cublasHandle_t handle, type mode) \
	{ \
		SG_ENTER(); \
		if (handle == NULL) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (!(allowed)) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		handle->field = mode; \
		return CUBLAS_STATUS_SUCCESS; \
	}
#define GETTER(name, type, field) \
	cublasStatus_t name(cublasHandle_t handle, type *to) \
	{ \
		SG_ENTER(); \
		if (handle == NULL) \
			return CUBLAS_STATUS_NOT_INITIALIZED; \
		if (to == NULL) \
			return CUBLAS_STATUS_INVALID_VALUE; \
		*to = handle->field; \
		return CUBLAS_STATUS_SUCCESS; \
	}
SETTER(cublasSetStream_v2, cudaStream_t, stream, sg_stream_device(mode) >= 0)
GETTER(cublasGetStream_v2, cudaStream_t, stream)
SETTER(cublasSetPointerMode_v2, cublasPointerMode_t, pointer_mode,
	mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE)
GETTER(cublasGetPointerMode_v2, cublasPointerMode_t, pointer_mode)
SETTER(cublasSetMathMode, cublasMath_t, math, (int)mode >= 0 && (int)mode <= 31)
GETTER(cublasGetMathMode, cublasMath_t, math)
SETTER(cublasSetAtomicsMode, cublasAtomicsMode_t, atomics,
	mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED)

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	SG_ENTER();
	/* asked for without a handle too: JAX does before it makes one */
	(void)handle;
	if (version == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = CUBLAS_VERSION;
	return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
	return sg_fault(__func__) ? "CUBLAS_STATUS_UNKNOWN" : sg_status_name(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	return sg_fault(__func__) ? "unknown status" : sg_status_sentence(status);
}
