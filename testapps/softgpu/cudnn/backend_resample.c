/*
 * Resampling in the backend: maximum and average pooling, forward and backward.
 *
 * The one idea: it is the legacy calls' pooling; other modes, and the index of a maximum, are not supported.
 */
#include "backend.h"

#include "cost.h"

#include <limits.h>

/* The average that counts the padding; the project's own header has the maximum alone. */
#define AVERAGE_WITH_PADDING ((cudnnPoolingMode_t)1)
#define AVERAGE_WITHOUT_PADDING ((cudnnPoolingMode_t)2)

cudnnStatus_t sg_resample_finalize(struct sg_body *resample)
{
	int64_t dims = sg_body_int(resample, SG_RESAMPLE_DIMS);

	if (dims < 1 || dims > SG_DIMS_MAX - 2)
		return CUDNN_STATUS_BAD_PARAM;
	for (int role = SG_RESAMPLE_PRE_PAD; role <= SG_RESAMPLE_WINDOW; role++) {
		int64_t least = role == SG_RESAMPLE_PRE_PAD || role == SG_RESAMPLE_POST_PAD ? 0 : 1;

		if (resample->value[role].count != dims)
			return CUDNN_STATUS_BAD_PARAM;
		for (int64_t d = 0; d < dims; d++) {
			int64_t value = sg_body_ints(resample, role)[d];

			if (value < least || value > INT_MAX)
				return CUDNN_STATUS_BAD_PARAM;
		}
	}
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_shapes(
	const struct sg_body *op, const struct sg_shape *x, const struct sg_shape *y)
{
	const struct sg_body *resample = sg_body_at(op, SG_RESAMPLE_OP_DESC, 0);
	int64_t dims = sg_body_int(resample, SG_RESAMPLE_DIMS);

	return x->ndims == dims + 2 && y->ndims == x->ndims && x->dim[0] == y->dim[0] &&
			       x->dim[1] == y->dim[1]
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t sg_resample_forward_finalize(struct sg_body *op)
{
	return check_shapes(op, sg_body_shape(op, SG_RESAMPLE_OP_X), sg_body_shape(op, SG_RESAMPLE_OP_Y));
}

cudnnStatus_t sg_resample_backward_finalize(struct sg_body *op)
{
	return check_shapes(op, sg_body_shape(op, SG_RESAMPLE_OP_DX), sg_body_shape(op, SG_RESAMPLE_OP_DY));
}

static int run_forward(const struct sg_step *step, const struct sg_operands *operands)
{
	return sg_pooling_forward(&step->by.resample.pooling, step->by.resample.alpha,
		operands->shape[SG_RESAMPLE_OP_X], operands->data[SG_RESAMPLE_OP_X], step->by.resample.beta,
		operands->shape[SG_RESAMPLE_OP_Y], operands->data[SG_RESAMPLE_OP_Y]);
}

/* An average's gradient does not depend on x, which is then dx to have something with a shape. */
static int run_backward(const struct sg_step *step, const struct sg_operands *operands)
{
	int x = operands->data[SG_RESAMPLE_OP_X] != NULL ? SG_RESAMPLE_OP_X : SG_RESAMPLE_OP_DX;

	return sg_pooling_backward(&step->by.resample.pooling, step->by.resample.alpha,
		operands->shape[SG_RESAMPLE_OP_DY], operands->data[SG_RESAMPLE_OP_DY], operands->shape[x],
		operands->data[x], step->by.resample.beta, operands->shape[SG_RESAMPLE_OP_DX],
		operands->data[SG_RESAMPLE_OP_DX]);
}

static cudnnStatus_t fill_pooling(struct cudnnPoolingStruct *pooling, const struct sg_body *resample)
{
	static const int modes[] = {
		[CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING] = AVERAGE_WITH_PADDING,
		[CUDNN_RESAMPLE_MAXPOOL] = CUDNN_POOLING_MAX,
		[CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING] = AVERAGE_WITHOUT_PADDING,
	};
	int64_t mode = sg_body_int(resample, SG_RESAMPLE_MODE);
	int64_t padding = sg_body_int(resample, SG_RESAMPLE_PADDING);
	int64_t dims = sg_body_int(resample, SG_RESAMPLE_DIMS);

	if (mode == CUDNN_RESAMPLE_NEAREST || mode == CUDNN_RESAMPLE_BILINEAR)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (dims != 2 && dims != 3)
		return SG_STATUS_SHAPE;
	pooling->mode = (cudnnPoolingMode_t)modes[mode];
	pooling->nspatial = (int)dims;
	for (int64_t d = 0; d < dims; d++) {
		pooling->window[d] = (int)sg_body_ints(resample, SG_RESAMPLE_WINDOW)[d];
		pooling->stride[d] = (int)sg_body_ints(resample, SG_RESAMPLE_STRIDES)[d];
		pooling->pad[d] = (int)sg_body_ints(resample, SG_RESAMPLE_PRE_PAD)[d];
		if (pooling->pad[d] >= pooling->window[d])
			return SG_STATUS_PADDING;
		/* A maximum over the padding is one over nothing (minus infinity), an average over zeros. */
		if (pooling->pad[d] > 0 &&
			padding != (mode == CUDNN_RESAMPLE_MAXPOOL ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD))
			return SG_STATUS_PADDING;
	}
	return CUDNN_STATUS_SUCCESS;
}

/* Padding after the image is what the size of y leaves room for; what was asked for must be no less. */
static cudnnStatus_t check_size(
	const struct sg_body *resample, const struct sg_shape *x, const struct sg_shape *y)
{
	for (int d = 0; d < x->ndims - 2; d++) {
		int64_t before = sg_body_ints(resample, SG_RESAMPLE_PRE_PAD)[d];
		int64_t after = sg_body_ints(resample, SG_RESAMPLE_POST_PAD)[d];
		int64_t room = x->dim[d + 2] + before + after - sg_body_ints(resample, SG_RESAMPLE_WINDOW)[d];

		if (room < 0 || room / sg_body_ints(resample, SG_RESAMPLE_STRIDES)[d] + 1 != y->dim[d + 2])
			return CUDNN_STATUS_BAD_PARAM;
		if (before != after)
			return SG_STATUS_PADDING;
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sg_resample_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	const struct sg_body *resample = sg_body_at(op, SG_RESAMPLE_OP_DESC, 0);
	bool is_forward = op->kind->type == CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR;
	int x = is_forward ? SG_RESAMPLE_OP_X : SG_RESAMPLE_OP_DX;
	int y = is_forward ? SG_RESAMPLE_OP_Y : SG_RESAMPLE_OP_DY;
	cudnnStatus_t status = fill_pooling(&step->by.resample.pooling, resample);

	if (status == CUDNN_STATUS_SUCCESS)
		status = check_size(resample, sg_build_shape(build, step, x), sg_build_shape(build, step, y));
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (step->tensor[SG_RESAMPLE_OP_INDEX] >= 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (!is_forward && sg_body_int(resample, SG_RESAMPLE_MODE) == CUDNN_RESAMPLE_MAXPOOL &&
		step->tensor[SG_RESAMPLE_OP_X] < 0)
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->run = is_forward ? run_forward : run_backward;
	step->cost = sg_build_elements(build, step, y, 1);
	step->cost.flops = sg_cost_pooling_flops(&step->by.resample.pooling, sg_build_stored(build, step, y));
	step->by.resample.alpha = sg_body_real(op, SG_RESAMPLE_OP_ALPHA);
	step->by.resample.beta = sg_body_real(op, SG_RESAMPLE_OP_BETA);
	if (step->by.resample.beta != 0)
		sg_build_reads(build, step, is_forward ? y : x);
	return CUDNN_STATUS_SUCCESS;
}
