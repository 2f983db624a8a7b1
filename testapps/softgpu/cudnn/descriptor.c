/*
 * Tensor and filter descriptors, and what can be asked of a shape.
 *
 * The one idea: a layout (NCHW, NHWC) exists only while a descriptor is being set; from then on there are
 * dimensions and strides.
 */
#include "cudnn_private.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MAX INT64_C(0x7fffffff)

size_t sg_type_bytes(cudnnDataType_t type)
{
	switch ((int)type) {
	case CUDNN_DATA_FLOAT:
	case CUDNN_DATA_INT32:
		return 4;
	case CUDNN_DATA_DOUBLE:
	case CUDNN_DATA_INT64:
		return 8;
	case CUDNN_DATA_HALF:
	case CUDNN_DATA_BFLOAT16:
		return 2;
	case CUDNN_DATA_INT8:
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_BOOLEAN:
		return 1;
	default:
		return 0;
	}
}

void sg_shape_pack(
	struct sg_shape *shape, cudnnDataType_t type, cudnnTensorFormat_t format, int ndims, const int *dim)
{
	int64_t stride = 1;

	memset(shape, 0, sizeof(*shape));
	shape->type = type;
	shape->ndims = ndims;
	memcpy(shape->dim, dim, (size_t)ndims * sizeof(*dim));
	if (format == CUDNN_TENSOR_NHWC && ndims > 2) {
		shape->stride[1] = 1;
		stride = dim[1];
	}
	for (int d = ndims - 1; d >= 0; d--) {
		if (d == 1 && format == CUDNN_TENSOR_NHWC && ndims > 2)
			continue;
		shape->stride[d] = stride;
		stride *= dim[d];
	}
}

int64_t sg_shape_count(const struct sg_shape *shape)
{
	int64_t count = 1;

	for (int d = 0; d < shape->ndims; d++)
		count *= shape->dim[d];
	return count;
}

bool sg_shape_same_dims(const struct sg_shape *a, const struct sg_shape *b)
{
	return a->ndims == b->ndims && memcmp(a->dim, b->dim, (size_t)a->ndims * sizeof(a->dim[0])) == 0;
}

bool sg_shape_broadcasts(const struct sg_shape *from, const struct sg_shape *to)
{
	if (from->ndims != to->ndims)
		return false;
	for (int d = 0; d < to->ndims; d++) {
		if (from->dim[d] != to->dim[d] && from->dim[d] != 1)
			return false;
	}
	return true;
}

bool sg_shape_is_packed(const struct sg_shape *shape)
{
	int64_t stride = 1;

	for (int d = shape->ndims - 1; d >= 0; d--) {
		if (shape->dim[d] != 1 && shape->stride[d] != stride)
			return false;
		stride *= shape->dim[d];
	}
	return true;
}

bool sg_type_is_real(cudnnDataType_t type)
{
	return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE;
}

double sg_factor(cudnnDataType_t type, const void *factor)
{
	return type == CUDNN_DATA_DOUBLE ? *(const double *)factor : (double)*(const float *)factor;
}

static bool dims_are_positive(int ndims, const int *dim)
{
	for (int d = 0; d < ndims; d++) {
		if (dim[d] <= 0)
			return false;
	}
	return true;
}

/* The largest offset of an element plus one: what a descriptor spans. Saturates above ELEMENTS_MAX. */
static int64_t spanned_elements(const struct sg_shape *shape)
{
	int64_t span = 1;

	for (int d = 0; d < shape->ndims; d++) {
		int64_t moves;

		if (__builtin_mul_overflow((int64_t)(shape->dim[d] - 1), shape->stride[d], &moves) ||
			__builtin_add_overflow(span, moves, &span) || span > ELEMENTS_MAX)
			return ELEMENTS_MAX + 1;
	}
	return span;
}

static bool count_is_representable(int ndims, const int *dim)
{
	int64_t count = 1;

	for (int d = 0; d < ndims; d++) {
		count *= dim[d];
		if (count > ELEMENTS_MAX)
			return false;
	}
	return true;
}

/* Packed layouts, for tensors and filters alike. */
static cudnnStatus_t set_packed(
	struct sg_shape *shape, cudnnTensorFormat_t format, cudnnDataType_t type, int ndims, const int *dim)
{
	if (dim == NULL || (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC &&
				   format != CUDNN_TENSOR_NCHW_VECT_C))
		return CUDNN_STATUS_BAD_PARAM;
	if (ndims < 3 || ndims > SG_DIMS_MAX)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (!dims_are_positive(ndims, dim))
		return CUDNN_STATUS_BAD_PARAM;
	if (format == CUDNN_TENSOR_NCHW_VECT_C || sg_type_bytes(type) == 0 ||
		!count_is_representable(ndims, dim))
		return CUDNN_STATUS_NOT_SUPPORTED;
	sg_shape_pack(shape, type, format, ndims, dim);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_strided(
	struct sg_shape *shape, cudnnDataType_t type, int ndims, const int *dim, const int *stride)
{
	struct sg_shape made = {.type = type, .ndims = ndims};

	if (dim == NULL || stride == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	if (ndims < 3 || ndims > SG_DIMS_MAX)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (!dims_are_positive(ndims, dim))
		return CUDNN_STATUS_BAD_PARAM;
	if (sg_type_bytes(type) == 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	for (int d = 0; d < ndims; d++) {
		if (stride[d] < 0)
			return CUDNN_STATUS_BAD_PARAM;
		made.dim[d] = dim[d];
		made.stride[d] = stride[d];
	}
	if (spanned_elements(&made) > ELEMENTS_MAX)
		return CUDNN_STATUS_NOT_SUPPORTED;
	*shape = made;
	return CUDNN_STATUS_SUCCESS;
}

SG_CREATE(cudnnCreateTensorDescriptor, cudnnTensorDescriptor_t)

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensorDesc)
{
	SG_ENTER();
	free(tensorDesc);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
	cudnnDataType_t dataType, int n, int c, int h, int w)
{
	const int dim[] = {n, c, h, w};

	SG_ENTER();
	if (tensorDesc == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return set_packed(&tensorDesc->shape, format, dataType, 4, dim);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType,
	int n, int c, int h, int w, int nStride, int cStride, int hStride, int wStride)
{
	const int dim[] = {n, c, h, w};
	const int stride[] = {nStride, cStride, hStride, wStride};

	SG_ENTER();
	if (tensorDesc == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return set_strided(&tensorDesc->shape, dataType, 4, dim, stride);
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType,
	int nbDims, const int dimA[], const int strideA[])
{
	SG_ENTER();
	if (tensorDesc == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return set_strided(&tensorDesc->shape, dataType, nbDims, dimA, strideA);
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
	cudnnDataType_t dataType, int nbDims, const int dimA[])
{
	SG_ENTER();
	if (tensorDesc == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return set_packed(&tensorDesc->shape, format, dataType, nbDims, dimA);
}

cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t *dataType,
	int *n, int *c, int *h, int *w, int *nStride, int *cStride, int *hStride, int *wStride)
{
	SG_ENTER();
	if (tensorDesc == NULL || tensorDesc->shape.ndims != 4 || dataType == NULL)
		return CUDNN_STATUS_BAD_PARAM;

	int *const dim[] = {n, c, h, w};
	int *const stride[] = {nStride, cStride, hStride, wStride};

	for (int d = 0; d < 4; d++) {
		if (dim[d] == NULL || stride[d] == NULL)
			return CUDNN_STATUS_BAD_PARAM;
		*dim[d] = tensorDesc->shape.dim[d];
		*stride[d] = (int)tensorDesc->shape.stride[d];
	}
	*dataType = tensorDesc->shape.type;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensorDesc, int nbDimsRequested,
	cudnnDataType_t *dataType, int *nbDims, int dimA[], int strideA[])
{
	SG_ENTER();
	if (tensorDesc == NULL || dataType == NULL || nbDims == NULL || nbDimsRequested < 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (nbDimsRequested > SG_DIMS_MAX)
		return CUDNN_STATUS_NOT_SUPPORTED;
	*dataType = tensorDesc->shape.type;
	*nbDims = tensorDesc->shape.ndims;
	for (int d = 0; d < nbDimsRequested && d < tensorDesc->shape.ndims; d++) {
		if (dimA != NULL)
			dimA[d] = tensorDesc->shape.dim[d];
		if (strideA != NULL)
			strideA[d] = (int)tensorDesc->shape.stride[d];
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensorDesc, size_t *size)
{
	SG_ENTER();
	if (tensorDesc == NULL || size == NULL || tensorDesc->shape.ndims == 0)
		return CUDNN_STATUS_BAD_PARAM;
	*size = (size_t)spanned_elements(&tensorDesc->shape) * sg_type_bytes(tensorDesc->shape.type);
	return CUDNN_STATUS_SUCCESS;
}

SG_CREATE(cudnnCreateFilterDescriptor, cudnnFilterDescriptor_t)

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filterDesc)
{
	SG_ENTER();
	free(filterDesc);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set_filter(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
	cudnnTensorFormat_t format, int ndims, const int *dim)
{
	cudnnStatus_t status;

	if (filter == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = set_packed(&filter->shape, format, type, ndims, dim);
	if (status == CUDNN_STATUS_SUCCESS)
		filter->format = format;
	return status;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType,
	cudnnTensorFormat_t format, int k, int c, int h, int w)
{
	const int dim[] = {k, c, h, w};

	SG_ENTER();
	return set_filter(filterDesc, dataType, format, 4, dim);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType,
	cudnnTensorFormat_t format, int nbDims, const int filterDimA[])
{
	SG_ENTER();
	return set_filter(filterDesc, dataType, format, nbDims, filterDimA);
}

cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filterDesc, cudnnDataType_t *dataType,
	cudnnTensorFormat_t *format, int *k, int *c, int *h, int *w)
{
	SG_ENTER();
	if (filterDesc == NULL || filterDesc->shape.ndims != 4 || dataType == NULL || format == NULL ||
		k == NULL || c == NULL || h == NULL || w == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*dataType = filterDesc->shape.type;
	*format = filterDesc->format;
	*k = filterDesc->shape.dim[0];
	*c = filterDesc->shape.dim[1];
	*h = filterDesc->shape.dim[2];
	*w = filterDesc->shape.dim[3];
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested,
	cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *nbDims, int filterDimA[])
{
	SG_ENTER();
	if (filterDesc == NULL || filterDesc->shape.ndims == 0 || dataType == NULL || format == NULL ||
		nbDims == NULL || filterDimA == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*dataType = filterDesc->shape.type;
	*format = filterDesc->format;
	*nbDims = filterDesc->shape.ndims;
	for (int i = 0; i < filterDesc->shape.ndims && i < nbDimsRequested; i++)
		filterDimA[i] = filterDesc->shape.dim[i];
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filterDesc, size_t *size)
{
	SG_ENTER();
	if (filterDesc == NULL || size == NULL || filterDesc->shape.ndims == 0)
		return CUDNN_STATUS_BAD_PARAM;
	*size = (size_t)sg_shape_count(&filterDesc->shape) * sg_type_bytes(filterDesc->shape.type);
	return CUDNN_STATUS_SUCCESS;
}
