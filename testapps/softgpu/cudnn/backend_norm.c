/*
 * Normalisations of the backend, forward and backward, and the three operations that a batch normalisation is
 * taken apart into: statistics, finalisation, gradients of the parameters.
 *
 * The one idea: layer, instance, batch and RMS normalisation differ only in shapes. The shape of the mean (or
 * of the inverse deviation) says over what an average goes, the shape of scale and bias what shares a
 * parameter; each is repeated over the data.
 */
#include "backend.h"

#include "cost.h"

#include <math.h>

SG_VECTORIZE_LOOPS

/* Walks over up to seven tensors of floats, all repeated to the dims of the last one, which is written. */
static void walk(
	int count, const struct sg_shape *const *shape, float *const *data, sg_row *row, const void *context)
{
	void *base[SG_OPERANDS_MAX];
	struct sg_loop loop;

	for (int i = 0; i < count; i++)
		base[i] = data[i];
	sg_loop_init(&loop, shape[count - 1], count, shape);
	sg_loop_run(&loop, base, row, context);
}

/* A row of up to seven operands as an expression of a[0], a[1], ...; the last operand takes the result. */
#define ROW(name, count, expression) \
	static void row_##name(int64_t n, void *const *at, const int64_t *step, const void *context) \
	{ \
		float *to = at[(count)-1]; \
		const float *by = context; \
\
		(void)by; \
		for (int64_t i = 0; i < n; i++) { \
			float a[count]; \
\
			for (int o = 0; o < (count)-1; o++) \
				a[o] = ((const float *)at[o])[i * step[o]]; \
			to[i * step[(count)-1]] = (expression); \
		} \
	}

ROW(square, 2, a[0] * a[0])
ROW(square_apart, 3, (a[0] - a[1]) * (a[0] - a[1])) /* x, mean */
ROW(inverse_root, 2, 1 / sqrtf(a[0] + by[0]))       /* variance; epsilon */
ROW(normalise, 4, (a[0] - a[1]) * a[2])             /* x, mean, inverse */
ROW(scale, 3, a[0] * a[1])
ROW(add, 3, a[0] + a[1])
ROW(multiply, 3, a[0] * a[1])
ROW(running, 3, (1 - by[0]) * a[0] + by[0] * a[1]) /* old, new; factor */
ROW(unbiased, 3, (1 - by[0]) * a[0] + by[0] * by[1] * a[1])
ROW(gradient, 6, a[3] * (a[0] - a[1] - a[2] * a[4])) /* g, mean of g, x normalised, inverse, mean of g * x */

#define SHAPES(...) ((const struct sg_shape *const[]){__VA_ARGS__})
#define FLOATS(...) ((float *const[]){__VA_ARGS__})

/* What a normalisation needs while it runs: pieces of the step's scratch memory. */
struct room {
	float *at;
};

static float *take(struct room *room, const struct sg_shape *shape)
{
	float *taken = room->at;

	room->at += (sg_shape_count(shape) + 15) & ~(int64_t)15;
	return taken;
}

/* The packed shape of the same dims. */
static struct sg_shape packed(const struct sg_shape *shape)
{
	struct sg_shape result;

	sg_shape_pack(&result, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, shape->ndims, shape->dim);
	return result;
}

static size_t room_bytes(const struct sg_shape *shape)
{
	return (size_t)((sg_shape_count(shape) + 15) & ~(int64_t)15) * sizeof(float);
}

static float scalar(const struct sg_operands *operands, int role, float otherwise)
{
	return operands->data[role] == NULL ? otherwise : operands->data[role][0];
}

/* ---- forward ---- */

/* Shapes of parameters and statistics are repeated over the data, whose parts they are. */
static bool fits(const struct sg_body *op, int role, const struct sg_shape *x)
{
	const struct sg_shape *shape = sg_body_shape(op, role);

	return shape == NULL || sg_shape_broadcasts(shape, x);
}

cudnnStatus_t sg_norm_forward_finalize(struct sg_body *op)
{
	const struct sg_shape *x = sg_body_shape(op, SG_NORM_X);
	bool is_training = sg_body_int(op, SG_NORM_PHASE) == CUDNN_NORM_FWD_TRAINING;
	bool is_rms = sg_body_int(op, SG_NORM_MODE) == CUDNN_RMS_NORM;

	if (!sg_shape_same_dims(x, sg_body_shape(op, SG_NORM_Y)))
		return CUDNN_STATUS_BAD_PARAM;
	for (int role = SG_NORM_MEAN; role <= SG_NORM_BIAS; role++) {
		if (!fits(op, role, x))
			return CUDNN_STATUS_BAD_PARAM;
	}
	if (sg_body_at(op, SG_NORM_SCALE, 0) == NULL || (!is_rms && sg_body_at(op, SG_NORM_BIAS, 0) == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	if (is_training && (sg_body_at(op, SG_NORM_EPSILON, 0) == NULL ||
				   sg_body_at(op, SG_NORM_INV_VARIANCE, 0) == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

/* Mean and variance (of RMS: the mean square) over what stats leaves out. */
static void measure(const struct sg_shape *x_shape, const float *x, const struct sg_shape *stats, bool is_rms,
	float *mean, float *variance, float *square)
{
	struct sg_shape whole = packed(x_shape);
	float *values = (float *)(uintptr_t)x;

	if (is_rms) {
		walk(2, SHAPES(x_shape, &whole), FLOATS(values, square), row_square, NULL);
	} else {
		sg_reduce_floats(CUDNN_REDUCE_TENSOR_AVG, x_shape, x, stats, mean);
		walk(3, SHAPES(x_shape, stats, &whole), FLOATS(values, mean, square), row_square_apart, NULL);
	}
	sg_reduce_floats(CUDNN_REDUCE_TENSOR_AVG, &whole, square, stats, variance);
}

/* Running averages, of the variance as an estimate from a sample. */
static void run_averages(
	const struct sg_operands *o, const struct sg_shape *stats, float *mean, float *variance)
{
	float share = (float)sg_shape_count(o->shape[SG_NORM_X]) / (float)sg_shape_count(stats);
	float by[] = {scalar(o, SG_NORM_FACTOR, 1), share > 1 ? share / (share - 1) : 1};

	if (o->data[SG_NORM_NEW_MEAN] != NULL && o->data[SG_NORM_OLD_MEAN] != NULL)
		walk(3, SHAPES(o->shape[SG_NORM_OLD_MEAN], stats, o->shape[SG_NORM_NEW_MEAN]),
			FLOATS(o->data[SG_NORM_OLD_MEAN], mean, o->data[SG_NORM_NEW_MEAN]), row_running, by);
	if (o->data[SG_NORM_NEW_VARIANCE] != NULL && o->data[SG_NORM_OLD_VARIANCE] != NULL)
		walk(3, SHAPES(o->shape[SG_NORM_OLD_VARIANCE], stats, o->shape[SG_NORM_NEW_VARIANCE]),
			FLOATS(o->data[SG_NORM_OLD_VARIANCE], variance, o->data[SG_NORM_NEW_VARIANCE]),
			row_unbiased, by);
}

static void copy(
	const struct sg_shape *from_shape, const float *from, const struct sg_shape *to_shape, float *to)
{
	const struct sg_blend by = {1, 0};

	walk(2, SHAPES(from_shape, to_shape), FLOATS((float *)(uintptr_t)from, to), sg_row_blend_f32, &by);
}

static void set(const struct sg_shape *shape, float *data, float value)
{
	struct sg_shape one = *shape;

	for (int d = 0; d < one.ndims; d++)
		one.dim[d] = 1;
	copy(&one, &value, shape, data);
}

/* y = (x - mean) * inverse * scale + bias. */
static void normalise(const struct sg_operands *o, const struct sg_shape *stats, float *mean, float *inverse)
{
	const struct sg_shape *x = o->shape[SG_NORM_X], *y = o->shape[SG_NORM_Y];
	float *out = o->data[SG_NORM_Y];

	walk(4, SHAPES(x, stats, stats, y), FLOATS(o->data[SG_NORM_X], mean, inverse, out), row_normalise,
		NULL);
	walk(3, SHAPES(y, o->shape[SG_NORM_SCALE], y), FLOATS(out, o->data[SG_NORM_SCALE], out), row_scale,
		NULL);
	if (o->data[SG_NORM_BIAS] != NULL)
		walk(3, SHAPES(y, o->shape[SG_NORM_BIAS], y), FLOATS(out, o->data[SG_NORM_BIAS], out),
			row_add, NULL);
}

static int run_forward(const struct sg_step *step, const struct sg_operands *o)
{
	const struct sg_shape *given = o->shape[SG_NORM_INV_VARIANCE];
	struct sg_shape stats = packed(given);
	struct room room = {o->scratch};
	float *mean = take(&room, &stats);
	float *variance = take(&room, &stats);
	float epsilon = scalar(o, SG_NORM_EPSILON, 0);

	if (step->by.norm.is_training) {
		set(&stats, mean, 0);
		measure(o->shape[SG_NORM_X], o->data[SG_NORM_X], &stats, step->by.norm.is_rms, mean, variance,
			room.at);
		run_averages(o, &stats, mean, variance);
		walk(2, SHAPES(&stats, &stats), FLOATS(variance, variance), row_inverse_root, &epsilon);
		if (o->data[SG_NORM_MEAN] != NULL)
			copy(&stats, mean, o->shape[SG_NORM_MEAN], o->data[SG_NORM_MEAN]);
		copy(&stats, variance, given, o->data[SG_NORM_INV_VARIANCE]);
	} else {
		if (o->data[SG_NORM_MEAN] != NULL)
			copy(o->shape[SG_NORM_MEAN], o->data[SG_NORM_MEAN], &stats, mean);
		else
			set(&stats, mean, 0);
		copy(given, o->data[SG_NORM_INV_VARIANCE], &stats, variance);
	}
	normalise(o, &stats, mean, variance);
	return 0;
}

/* Inference without statistics measures them as training does, but has nowhere to leave them. */
static int run_inference_measured(const struct sg_step *step, const struct sg_operands *o)
{
	struct sg_shape stats = packed(o->shape[SG_NORM_X]);
	struct room room = {o->scratch};
	float epsilon = scalar(o, SG_NORM_EPSILON, 0);
	float *mean, *variance;

	/* One number for all that shares no parameter: the dims in which scale has size 1. */
	for (int d = 0; d < stats.ndims; d++)
		stats.dim[d] = o->shape[SG_NORM_SCALE]->dim[d] == 1 ? stats.dim[d] : 1;
	stats = packed(&stats);
	mean = take(&room, &stats);
	variance = take(&room, &stats);
	set(&stats, mean, 0);
	measure(o->shape[SG_NORM_X], o->data[SG_NORM_X], &stats, step->by.norm.is_rms, mean, variance,
		room.at);
	walk(2, SHAPES(&stats, &stats), FLOATS(variance, variance), row_inverse_root, &epsilon);
	normalise(o, &stats, mean, variance);
	return 0;
}

cudnnStatus_t sg_norm_forward_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	int64_t mode = sg_body_int(op, SG_NORM_MODE);
	bool has_stats = step->tensor[SG_NORM_INV_VARIANCE] >= 0;
	const struct sg_shape *x = sg_build_shape(build, step, SG_NORM_X);
	const struct sg_shape *stats = has_stats ? sg_build_shape(build, step, SG_NORM_INV_VARIANCE) : x;

	if (mode == CUDNN_GROUP_NORM || mode > CUDNN_RMS_NORM || op->value[SG_NORM_PEERS].count > 1)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (!has_stats && mode != CUDNN_LAYER_NORM && mode != CUDNN_RMS_NORM)
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->run = has_stats ? run_forward : run_inference_measured;
	step->by.norm.is_rms = mode == CUDNN_RMS_NORM;
	step->by.norm.is_training = sg_body_int(op, SG_NORM_PHASE) == CUDNN_NORM_FWD_TRAINING;
	step->cost = sg_build_elements(build, step, SG_NORM_X,
		step->by.norm.is_training || !has_stats ? SG_FLOPS_NORM_FORWARD : SG_FLOPS_NORM_APPLY);
	step->scratch_bytes = 2 * room_bytes(stats) + room_bytes(x);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- backward ---- */

cudnnStatus_t sg_norm_backward_finalize(struct sg_body *op)
{
	const struct sg_shape *x = sg_body_shape(op, SG_NORM_BWD_X);

	if (!sg_shape_same_dims(x, sg_body_shape(op, SG_NORM_BWD_DX)) ||
		!sg_shape_same_dims(x, sg_body_shape(op, SG_NORM_BWD_DY)))
		return CUDNN_STATUS_BAD_PARAM;
	for (int role = SG_NORM_BWD_MEAN; role <= SG_NORM_BWD_DBIAS; role++) {
		if (role != SG_NORM_BWD_DY && !fits(op, role, x))
			return CUDNN_STATUS_BAD_PARAM;
	}
	return CUDNN_STATUS_SUCCESS;
}

/*
 * With h = (x - mean) * inverse, g = dy * scale and M the mean over what shares a mean:
 * dx = inverse * (g - M(g) - h * M(g * h)); of RMS, whose mean is none, M(g) is left out.
 */
static int run_backward(const struct sg_step *step, const struct sg_operands *o)
{
	const struct sg_shape *x = o->shape[SG_NORM_BWD_X];
	struct sg_shape whole = packed(x), stats = packed(o->shape[SG_NORM_BWD_INV_VARIANCE]);
	struct room room = {o->scratch};
	float *mean = take(&room, &stats), *inverse = take(&room, &stats);
	float *mean_g = take(&room, &stats), *mean_gh = take(&room, &stats);
	float *h = take(&room, &whole), *g = take(&room, &whole), *product = take(&room, &whole);

	copy(o->shape[SG_NORM_BWD_INV_VARIANCE], o->data[SG_NORM_BWD_INV_VARIANCE], &stats, inverse);
	set(&stats, mean, 0);
	set(&stats, mean_g, 0);
	if (!step->by.norm.is_rms)
		copy(o->shape[SG_NORM_BWD_MEAN], o->data[SG_NORM_BWD_MEAN], &stats, mean);
	walk(4, SHAPES(x, &stats, &stats, &whole), FLOATS(o->data[SG_NORM_BWD_X], mean, inverse, h),
		row_normalise, NULL);
	walk(3, SHAPES(o->shape[SG_NORM_BWD_DY], &whole, &whole), FLOATS(o->data[SG_NORM_BWD_DY], h, product),
		row_multiply, NULL);
	if (o->data[SG_NORM_BWD_DSCALE] != NULL)
		sg_reduce_floats(CUDNN_REDUCE_TENSOR_ADD, &whole, product, o->shape[SG_NORM_BWD_DSCALE],
			o->data[SG_NORM_BWD_DSCALE]);
	if (o->data[SG_NORM_BWD_DBIAS] != NULL)
		sg_reduce_floats(CUDNN_REDUCE_TENSOR_ADD, o->shape[SG_NORM_BWD_DY], o->data[SG_NORM_BWD_DY],
			o->shape[SG_NORM_BWD_DBIAS], o->data[SG_NORM_BWD_DBIAS]);
	walk(3, SHAPES(o->shape[SG_NORM_BWD_DY], o->shape[SG_NORM_BWD_SCALE], &whole),
		FLOATS(o->data[SG_NORM_BWD_DY], o->data[SG_NORM_BWD_SCALE], g), row_multiply, NULL);
	if (!step->by.norm.is_rms)
		sg_reduce_floats(CUDNN_REDUCE_TENSOR_AVG, &whole, g, &stats, mean_g);
	walk(3, SHAPES(&whole, &whole, &whole), FLOATS(g, h, product), row_multiply, NULL);
	sg_reduce_floats(CUDNN_REDUCE_TENSOR_AVG, &whole, product, &stats, mean_gh);
	walk(6, SHAPES(&whole, &stats, &whole, &stats, &stats, o->shape[SG_NORM_BWD_DX]),
		FLOATS(g, mean_g, h, inverse, mean_gh, o->data[SG_NORM_BWD_DX]), row_gradient, NULL);
	return 0;
}

cudnnStatus_t sg_norm_backward_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	int64_t mode = sg_body_int(op, SG_NORM_BWD_MODE);
	bool is_rms = mode == CUDNN_RMS_NORM;

	if (mode == CUDNN_GROUP_NORM || mode > CUDNN_RMS_NORM || op->value[SG_NORM_BWD_PEERS].count > 1 ||
		step->tensor[SG_NORM_BWD_INV_VARIANCE] < 0 || (!is_rms && step->tensor[SG_NORM_BWD_MEAN] < 0))
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->run = run_backward;
	step->by.norm.is_rms = is_rms;
	step->cost = sg_build_elements(build, step, SG_NORM_BWD_X, SG_FLOPS_NORM_BACKWARD);
	step->scratch_bytes = 4 * room_bytes(sg_build_shape(build, step, SG_NORM_BWD_INV_VARIANCE)) +
			      3 * room_bytes(sg_build_shape(build, step, SG_NORM_BWD_X));
	return CUDNN_STATUS_SUCCESS;
}
