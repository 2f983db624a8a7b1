/*
 * The three convolution operations of the backend.
 *
 * The one idea: they are the plans that the legacy calls use too; x, w and y stand for themselves or for
 * their gradients.
 */
#include "backend.h"

#include "cost.h"

#include <limits.h>
#include <string.h>

cudnnStatus_t sg_convolution_finalize(struct sg_body *convolution)
{
	int64_t dims = sg_body_int(convolution, SG_CONV_DIMS);

	if (dims < 1 || dims > SG_DIMS_MAX - 2)
		return CUDNN_STATUS_BAD_PARAM;
	for (int role = SG_CONV_PRE_PAD; role <= SG_CONV_DILATIONS; role++) {
		int64_t least = role == SG_CONV_PRE_PAD || role == SG_CONV_POST_PAD ? 0 : 1;

		if (convolution->value[role].count != dims)
			return CUDNN_STATUS_BAD_PARAM;
		for (int64_t d = 0; d < dims; d++) {
			int64_t value = sg_body_ints(convolution, role)[d];

			if (value < least || value > INT_MAX)
				return CUDNN_STATUS_BAD_PARAM;
		}
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sg_convolution_op_finalize(struct sg_body *op)
{
	const struct sg_body *convolution = sg_body_at(op, SG_CONV_OP_DESC, 0);
	const struct sg_shape *x = sg_body_shape(op, SG_CONV_OP_X);
	const struct sg_shape *w = sg_body_shape(op, SG_CONV_OP_W);
	const struct sg_shape *y = sg_body_shape(op, SG_CONV_OP_Y);
	int64_t dims = sg_body_int(convolution, SG_CONV_DIMS);

	if (x->ndims != dims + 2 || w->ndims != x->ndims || y->ndims != x->ndims)
		return CUDNN_STATUS_BAD_PARAM;
	if (x->dim[0] != y->dim[0] || y->dim[1] != w->dim[0] || x->dim[1] % w->dim[1] != 0 ||
		w->dim[0] % (x->dim[1] / w->dim[1]) != 0)
		return CUDNN_STATUS_BAD_PARAM;
	for (int d = 0; d < dims; d++) {
		int64_t reach = (w->dim[d + 2] - 1) * sg_body_ints(convolution, SG_CONV_DILATIONS)[d] + 1;
		int64_t room = x->dim[d + 2] + sg_body_ints(convolution, SG_CONV_PRE_PAD)[d] +
			       sg_body_ints(convolution, SG_CONV_POST_PAD)[d] - reach;

		if (room < 0 || room / sg_body_ints(convolution, SG_CONV_STRIDES)[d] + 1 != y->dim[d + 2])
			return CUDNN_STATUS_BAD_PARAM;
	}
	return CUDNN_STATUS_SUCCESS;
}

static int run_convolution(const struct sg_step *step, const struct sg_operands *operands)
{
	void *const tensor[] = {
		operands->data[SG_CONV_OP_X], operands->data[SG_CONV_OP_W], operands->data[SG_CONV_OP_Y]};

	return sg_convolution_plan_run(step->by.convolution.plan, tensor, operands->scratch,
		step->by.convolution.alpha, step->by.convolution.beta);
}

static enum sg_convolution_kind kind_of(const struct sg_body *op)
{
	switch ((int)op->kind->type) {
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
		return SG_CONVOLUTION_BACKWARD_DATA;
	case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
		return SG_CONVOLUTION_BACKWARD_FILTER;
	default:
		return SG_CONVOLUTION_FORWARD;
	}
}

/* The plans pad alike on both sides, which is all that the legacy calls can ask for. */
static bool pads_alike(const struct sg_body *convolution, int64_t dims)
{
	return memcmp(sg_body_ints(convolution, SG_CONV_PRE_PAD), sg_body_ints(convolution, SG_CONV_POST_PAD),
		       (size_t)dims * sizeof(int64_t)) == 0;
}

cudnnStatus_t sg_convolution_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	static const int written[] = {
		[SG_CONVOLUTION_FORWARD] = SG_CONV_OP_Y,
		[SG_CONVOLUTION_BACKWARD_DATA] = SG_CONV_OP_X,
		[SG_CONVOLUTION_BACKWARD_FILTER] = SG_CONV_OP_W,
	};
	const struct sg_body *convolution = sg_body_at(op, SG_CONV_OP_DESC, 0);
	int64_t dims = sg_body_int(convolution, SG_CONV_DIMS);
	struct sg_convolution_key key;

	if (dims > 3)
		return SG_STATUS_SHAPE;
	if (!pads_alike(convolution, dims))
		return SG_STATUS_PADDING;
	memset(&key, 0, sizeof(key));
	key.kind = kind_of(op);
	key.threads = sg_threads();
	key.flips = sg_body_int(convolution, SG_CONV_MODE) == CUDNN_CONVOLUTION;
	for (int d = 0; d < SG_DIMS_MAX; d++) {
		key.pad[d] = d < dims ? (int)sg_body_ints(convolution, SG_CONV_PRE_PAD)[d] : 0;
		key.stride[d] = d < dims ? (int)sg_body_ints(convolution, SG_CONV_STRIDES)[d] : 1;
		key.dilation[d] = d < dims ? (int)sg_body_ints(convolution, SG_CONV_DILATIONS)[d] : 1;
	}
	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++)
		key.shape[t] = *sg_build_shape(build, step, t);
	key.groups = key.shape[SG_CONVOLUTION_X].dim[1] / key.shape[SG_CONVOLUTION_W].dim[1];
	step->run = run_convolution;
	step->cost = sg_cost_convolution(&key,
		sg_cost_matrix_type(sg_build_stored(build, step, SG_CONV_OP_X)->type,
			(cudnnDataType_t)sg_body_int(convolution, SG_CONV_TYPE), CUDNN_DEFAULT_MATH),
		sg_build_stored(build, step, SG_CONV_OP_X)->type, false);
	step->by.convolution.alpha = sg_body_real(op, SG_CONV_OP_ALPHA);
	step->by.convolution.beta = sg_body_real(op, SG_CONV_OP_BETA);
	step->by.convolution.plan = sg_convolution_plan_get(&key);
	if (step->by.convolution.plan == NULL)
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->scratch_bytes = sg_convolution_plan_scratch_bytes(step->by.convolution.plan);
	if (step->by.convolution.beta != 0)
		sg_build_reads(build, step, written[key.kind]);
	return CUDNN_STATUS_SUCCESS;
}
