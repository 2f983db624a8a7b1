/*
 * Convolution descriptors and the size of what a convolution gives.
 *
 * The one idea: 2-D and 3-D are the same, with arrays of one value per spatial dimension.
 */
#include "cudnn_private.h"

#include <stdlib.h>

cudnnStatus_t sg_convolution_output(const struct cudnnConvolutionStruct *conv, const struct sg_shape *x,
	const struct sg_shape *w, int *dim)
{
	if (conv->nspatial == 0 || x->ndims != conv->nspatial + 2 || w->ndims != x->ndims)
		return CUDNN_STATUS_BAD_PARAM;
	if (x->dim[1] != (int64_t)w->dim[1] * conv->groups || w->dim[0] % conv->groups != 0)
		return CUDNN_STATUS_BAD_PARAM;
	dim[0] = x->dim[0];
	dim[1] = w->dim[0];
	for (int d = 0; d < conv->nspatial; d++) {
		int64_t reach = (int64_t)(w->dim[d + 2] - 1) * conv->dilation[d] + 1;
		int64_t room = (int64_t)x->dim[d + 2] + 2 * (int64_t)conv->pad[d] - reach;

		if (room < 0)
			return CUDNN_STATUS_BAD_PARAM;
		dim[d + 2] = (int)(room / conv->stride[d] + 1);
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *convDesc)
{
	SG_ENTER();
	if (convDesc == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*convDesc = calloc(1, sizeof(**convDesc));
	if (*convDesc == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	(*convDesc)->groups = 1;
	return CUDNN_STATUS_SUCCESS;
}

SG_DESTROY(cudnnDestroyConvolutionDescriptor, cudnnConvolutionDescriptor_t)

static cudnnStatus_t set_convolution(cudnnConvolutionDescriptor_t conv, int nspatial, const int *pad,
	const int *stride, const int *dilation, cudnnConvolutionMode_t mode, cudnnDataType_t compute)
{
	if (conv == NULL || pad == NULL || stride == NULL || dilation == NULL || nspatial < 1)
		return CUDNN_STATUS_BAD_PARAM;
	if (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION)
		return CUDNN_STATUS_BAD_PARAM;
	for (int d = 0; d < nspatial; d++) {
		if (d >= SG_DIMS_MAX - 2)
			return CUDNN_STATUS_NOT_SUPPORTED;
		if (pad[d] < 0 || stride[d] <= 0 || dilation[d] <= 0)
			return CUDNN_STATUS_BAD_PARAM;
	}
	if (nspatial != 2 && nspatial != 3)
		return CUDNN_STATUS_NOT_SUPPORTED;
	conv->nspatial = nspatial;
	for (int d = 0; d < nspatial; d++) {
		conv->pad[d] = pad[d];
		conv->stride[d] = stride[d];
		conv->dilation[d] = dilation[d];
	}
	conv->mode = mode;
	conv->compute = compute;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convDesc, int pad_h, int pad_w,
	int u, int v, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
	cudnnDataType_t computeType)
{
	const int pad[] = {pad_h, pad_w};
	const int stride[] = {u, v};
	const int dilation[] = {dilation_h, dilation_w};

	SG_ENTER();
	return set_convolution(convDesc, 2, pad, stride, dilation, mode, computeType);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc, int arrayLength,
	const int padA[], const int filterStrideA[], const int dilationA[], cudnnConvolutionMode_t mode,
	cudnnDataType_t computeType)
{
	SG_ENTER();
	return set_convolution(convDesc, arrayLength, padA, filterStrideA, dilationA, mode, computeType);
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int groupCount)
{
	SG_ENTER();
	if (convDesc == NULL || groupCount < 1)
		return CUDNN_STATUS_BAD_PARAM;
	convDesc->groups = groupCount;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t mathType)
{
	SG_ENTER();
	if (convDesc == NULL ||
		(mathType != CUDNN_DEFAULT_MATH && mathType != CUDNN_TENSOR_OP_MATH &&
			mathType != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION && mathType != CUDNN_FMA_MATH))
		return CUDNN_STATUS_BAD_PARAM;
	convDesc->math = mathType;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t *mathType)
{
	SG_ENTER();
	if (convDesc == NULL || mathType == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*mathType = convDesc->math;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionReorderType(
	cudnnConvolutionDescriptor_t convDesc, cudnnReorderType_t reorderType)
{
	SG_ENTER();
	if (convDesc == NULL || (reorderType != CUDNN_DEFAULT_REORDER && reorderType != CUDNN_NO_REORDER))
		return CUDNN_STATUS_BAD_PARAM;
	convDesc->reorder = reorderType;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc,
	const cudnnTensorDescriptor_t inputTensorDesc, const cudnnFilterDescriptor_t filterDesc, int *n,
	int *c, int *h, int *w)
{
	int dim[SG_DIMS_MAX];
	cudnnStatus_t status;

	SG_ENTER();
	if (convDesc == NULL || convDesc->nspatial != 2 || inputTensorDesc == NULL || filterDesc == NULL ||
		n == NULL || c == NULL || h == NULL || w == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = sg_convolution_output(convDesc, &inputTensorDesc->shape, &filterDesc->shape, dim);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	*n = dim[0];
	*c = dim[1];
	*h = dim[2];
	*w = dim[3];
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc,
	const cudnnTensorDescriptor_t inputTensorDesc, const cudnnFilterDescriptor_t filterDesc, int nbDims,
	int tensorOuputDimA[])
{
	int dim[SG_DIMS_MAX];
	cudnnStatus_t status;

	SG_ENTER();
	if (convDesc == NULL || inputTensorDesc == NULL || filterDesc == NULL || tensorOuputDimA == NULL ||
		nbDims != inputTensorDesc->shape.ndims)
		return CUDNN_STATUS_BAD_PARAM;
	status = sg_convolution_output(convDesc, &inputTensorDesc->shape, &filterDesc->shape, dim);
	for (int d = 0; status == CUDNN_STATUS_SUCCESS && d < nbDims; d++)
		tensorOuputDimA[d] = dim[d];
	return status;
}
