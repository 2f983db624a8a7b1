/*
 * The operations that a batch normalisation is taken apart into, so that its parts can be joined to the
 * convolutions before and after it: sums over a batch, what they make of the parameters, and the parameters'
 * gradients.
 *
 * The one idea: everything but the sums is arithmetic on one number per channel, in double precision.
 */
#include "backend.h"

#include "cost.h"

#include <math.h>

/* ---- sums ---- */

cudnnStatus_t sg_stats_finalize(struct sg_body *op)
{
	const struct sg_shape *x = sg_body_shape(op, SG_STATS_X);

	return sg_shape_broadcasts(sg_body_shape(op, SG_STATS_SUM), x) &&
			       sg_shape_broadcasts(sg_body_shape(op, SG_STATS_SQUARES), x)
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}

static void row_square(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	(void)context;
	for (int64_t i = 0; i < n; i++)
		((float *)at[1])[i * step[1]] = ((float *)at[0])[i * step[0]] * ((float *)at[0])[i * step[0]];
}

static int run_stats(const struct sg_step *step, const struct sg_operands *o)
{
	const struct sg_shape *x = o->shape[SG_STATS_X];
	struct sg_shape packed;
	const struct sg_shape *const shapes[] = {x, &packed};
	struct sg_loop loop;

	(void)step;
	sg_shape_pack(&packed, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, x->ndims, x->dim);
	sg_loop_init(&loop, x, 2, shapes);
	sg_loop_run(&loop, (void *const[]){o->data[SG_STATS_X], o->scratch}, row_square, NULL);
	sg_reduce_floats(CUDNN_REDUCE_TENSOR_ADD, x, o->data[SG_STATS_X], o->shape[SG_STATS_SUM],
		o->data[SG_STATS_SUM]);
	sg_reduce_floats(CUDNN_REDUCE_TENSOR_ADD, &packed, o->scratch, o->shape[SG_STATS_SQUARES],
		o->data[SG_STATS_SQUARES]);
	return 0;
}

cudnnStatus_t sg_stats_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	(void)op;
	step->run = run_stats;
	step->cost = sg_build_elements(build, step, SG_STATS_X, SG_FLOPS_MOMENTS);
	step->scratch_bytes = (size_t)sg_shape_count(sg_build_shape(build, step, SG_STATS_X)) * sizeof(float);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- finalisation ---- */

/* All that is given per channel has one size. */
static cudnnStatus_t check_channels(const struct sg_body *op, int first, int last, int channels)
{
	for (int role = first; role <= last; role++) {
		const struct sg_shape *shape = sg_body_shape(op, role);

		if (shape != NULL && sg_shape_count(shape) != channels)
			return CUDNN_STATUS_BAD_PARAM;
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sg_bn_finalize_finalize(struct sg_body *op)
{
	int channels = (int)sg_shape_count(sg_body_shape(op, SG_BN_SUM));
	cudnnStatus_t status = check_channels(op, SG_BN_SUM, SG_BN_OLD_VARIANCE, channels);

	if (status == CUDNN_STATUS_SUCCESS)
		status = check_channels(op, SG_BN_COUNT, SG_BN_FACTOR, 1);
	if (status == CUDNN_STATUS_SUCCESS)
		status = check_channels(op, SG_BN_NEW_MEAN, SG_BN_EQ_BIAS, channels);
	return status;
}

/* The step from channel to channel: one dimension at most is larger than 1. */
static int64_t channel_step(const struct sg_shape *shape)
{
	for (int d = 0; d < shape->ndims; d++) {
		if (shape->dim[d] > 1)
			return shape->stride[d];
	}
	return 0;
}

static double get(const struct sg_operands *o, int role, int64_t channel, double otherwise)
{
	return o->data[role] == NULL ? otherwise
				     : (double)o->data[role][channel * channel_step(o->shape[role])];
}

static void put(const struct sg_operands *o, int role, int64_t channel, double value)
{
	if (o->data[role] != NULL)
		o->data[role][channel * channel_step(o->shape[role])] = (float)value;
}

static int run_finalize(const struct sg_step *step, const struct sg_operands *o)
{
	int64_t channels = sg_shape_count(o->shape[SG_BN_SUM]);
	double count = get(o, SG_BN_COUNT, 0, 1);
	double factor = get(o, SG_BN_FACTOR, 0, 1);

	(void)step;
	for (int64_t c = 0; c < channels; c++) {
		double mean = get(o, SG_BN_SUM, c, 0) / count;
		double variance = get(o, SG_BN_SQUARES, c, 0) / count - mean * mean;
		double inverse = 1 / sqrt((variance > 0 ? variance : 0) + get(o, SG_BN_EPSILON, 0, 0));
		double sampled = count > 1 ? variance * count / (count - 1) : variance;
		double scale = get(o, SG_BN_SCALE, c, 1);

		put(o, SG_BN_NEW_MEAN, c, (1 - factor) * get(o, SG_BN_OLD_MEAN, c, 0) + factor * mean);
		put(o, SG_BN_NEW_VARIANCE, c,
			(1 - factor) * get(o, SG_BN_OLD_VARIANCE, c, 0) + factor * sampled);
		put(o, SG_BN_SAVED_MEAN, c, mean);
		put(o, SG_BN_SAVED_INV, c, inverse);
		put(o, SG_BN_EQ_SCALE, c, scale * inverse);
		put(o, SG_BN_EQ_BIAS, c, get(o, SG_BN_BIAS, c, 0) - scale * inverse * mean);
	}
	return 0;
}

cudnnStatus_t sg_bn_finalize_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	if (sg_body_int(op, SG_BN_MODE) != CUDNN_BN_FINALIZE_STATISTICS_TRAINING)
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->run = run_finalize;
	step->cost = sg_build_elements(build, step, SG_BN_SUM, SG_FLOPS_NORM_FORWARD);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- gradients of the parameters ---- */

cudnnStatus_t sg_bn_weights_finalize(struct sg_body *op)
{
	const struct sg_shape *x = sg_body_shape(op, SG_BNW_X);
	const struct sg_shape *mean = sg_body_shape(op, SG_BNW_MEAN);
	int channels = (int)sg_shape_count(mean);
	cudnnStatus_t status = check_channels(op, SG_BNW_INV, SG_BNW_SCALE, channels);

	if (!sg_shape_same_dims(x, sg_body_shape(op, SG_BNW_DY)) || !sg_shape_broadcasts(mean, x) ||
		x->ndims < 2 || channels != x->dim[1] || mean->dim[1] != channels)
		return CUDNN_STATUS_BAD_PARAM;
	return status == CUDNN_STATUS_SUCCESS ? check_channels(op, SG_BNW_DSCALE, SG_BNW_EQ_BIAS, channels)
					      : status;
}

struct channel_sums {
	double dy, dy_h; /* of dy, and of dy times x normalised */
	double mean, inverse;
};

/* Operands: x, dy. */
static void row_sum(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	struct channel_sums *sums = *(struct channel_sums *const *)context;

	for (int64_t i = 0; i < n; i++) {
		double dy = (double)((float *)at[1])[i * step[1]];

		sums->dy += dy;
		sums->dy_h += dy * ((double)((float *)at[0])[i * step[0]] - sums->mean) * sums->inverse;
	}
}

/* dx is eq_dy * dy + eq_x * x + eq_bias, and what comes out here are these three numbers of each channel. */
static int run_weights(const struct sg_step *step, const struct sg_operands *o)
{
	struct sg_shape x = *o->shape[SG_BNW_X], dy = *o->shape[SG_BNW_DY];
	const struct sg_shape *const shapes[] = {&x, &dy};
	int channels = x.dim[1];
	double count = (double)sg_shape_count(&x) / channels;

	(void)step;
	x.dim[1] = dy.dim[1] = 1;
	for (int64_t c = 0; c < channels; c++) {
		struct channel_sums sums = {0, 0, get(o, SG_BNW_MEAN, c, 0), get(o, SG_BNW_INV, c, 1)};
		const struct channel_sums *context = &sums;
		double scale = get(o, SG_BNW_SCALE, c, 1) * sums.inverse;
		struct sg_loop loop;
		double eq_x;

		sg_loop_init(&loop, &x, 2, shapes);
		sg_loop_run(&loop,
			(void *const[]){
				o->data[SG_BNW_X] + c * x.stride[1], o->data[SG_BNW_DY] + c * dy.stride[1]},
			row_sum, &context);
		eq_x = -scale * sums.inverse * sums.dy_h / count;
		put(o, SG_BNW_DSCALE, c, sums.dy_h);
		put(o, SG_BNW_DBIAS, c, sums.dy);
		put(o, SG_BNW_EQ_DY, c, scale);
		put(o, SG_BNW_EQ_X, c, eq_x);
		put(o, SG_BNW_EQ_BIAS, c, -scale * sums.dy / count - eq_x * sums.mean);
	}
	return 0;
}

cudnnStatus_t sg_bn_weights_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	(void)op;
	step->run = run_weights;
	step->cost = sg_build_elements(build, step, SG_BNW_X, SG_FLOPS_MOMENTS);
	return CUDNN_STATUS_SUCCESS;
}
