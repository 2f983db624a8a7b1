/*
 * The pointwise operations of the backend: arithmetic, functions, activations and their gradients,
 * comparisons.
 *
 * The one idea: each mode is one expression of x, b and t; the walk of sg_loop brings them together,
 * repeating what is smaller than the result.
 */
#include "backend.h"

#include "cost.h"

#include <float.h>
#include <math.h>

SG_VECTORIZE_LOOPS

#include "vector_math.h"

#define GELU_SLOPE 0.79788456f /* sqrt(2 / pi), of the approximation by tanh */
#define GELU_CUBIC 0.044715f

/* How many inputs a mode has, or 0 for a number that is no mode. Gradients take dy and x or y. */
static int inputs_of(int64_t mode)
{
	switch (mode) {
	case CUDNN_POINTWISE_BINARY_SELECT:
		return 3;
	case CUDNN_POINTWISE_ADD:
	case CUDNN_POINTWISE_ADD_SQUARE:
	case CUDNN_POINTWISE_DIV:
	case CUDNN_POINTWISE_MAX:
	case CUDNN_POINTWISE_MIN:
	case CUDNN_POINTWISE_MOD:
	case CUDNN_POINTWISE_MUL:
	case CUDNN_POINTWISE_POW:
	case CUDNN_POINTWISE_SUB:
	case CUDNN_POINTWISE_ATAN2:
	case CUDNN_POINTWISE_LOGICAL_AND:
	case CUDNN_POINTWISE_LOGICAL_OR:
		return 2;
	case CUDNN_POINTWISE_SQRT:
	case CUDNN_POINTWISE_LOGICAL_NOT:
	case CUDNN_POINTWISE_GEN_INDEX:
		return 1;
	default:
		if ((mode >= CUDNN_POINTWISE_ABS && mode <= CUDNN_POINTWISE_RECIPROCAL) ||
			(mode >= CUDNN_POINTWISE_RELU_FWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_FWD))
			return 1;
		if ((mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD) ||
			(mode >= CUDNN_POINTWISE_CMP_EQ && mode <= CUDNN_POINTWISE_CMP_LE))
			return 2;
		return 0;
	}
}

static bool is_gradient(int64_t mode)
{
	return mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
}

/* Gradients that can be had from y where x is not given. */
static bool knows_slope_from_y(int64_t mode)
{
	return mode == CUDNN_POINTWISE_RELU_BWD || mode == CUDNN_POINTWISE_TANH_BWD ||
	       mode == CUDNN_POINTWISE_SIGMOID_BWD || mode == CUDNN_POINTWISE_ELU_BWD;
}

/* A scalar may have fewer dimensions than what it is repeated along. */
static bool is_missing_or_fits(const struct sg_shape *shape, const struct sg_shape *to)
{
	return shape == NULL || (shape->ndims < to->ndims && sg_shape_count(shape) == 1) ||
	       sg_shape_broadcasts(shape, to);
}

cudnnStatus_t sg_pointwise_op_finalize(struct sg_body *op)
{
	int64_t mode = sg_body_int(sg_body_at(op, SG_POINTWISE_OP_DESC, 0), SG_POINTWISE_MODE);
	int inputs = inputs_of(mode);
	const struct sg_shape *x = sg_body_shape(op, SG_POINTWISE_OP_X);
	const struct sg_shape *b = sg_body_shape(op, SG_POINTWISE_OP_B);
	const struct sg_shape *t = sg_body_shape(op, SG_POINTWISE_OP_T);
	const struct sg_shape *y = sg_body_shape(op, SG_POINTWISE_OP_Y);
	const struct sg_shape *dy = sg_body_shape(op, SG_POINTWISE_OP_DY);
	const struct sg_shape *dx = sg_body_shape(op, SG_POINTWISE_OP_DX);

	if (inputs == 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (is_gradient(mode)) {
		if (dx == NULL || dy == NULL || (x == NULL && y == NULL) || b != NULL || t != NULL)
			return CUDNN_STATUS_BAD_PARAM;
		return sg_shape_broadcasts(dy, dx) && is_missing_or_fits(x, dx) && is_missing_or_fits(y, dx)
			       ? CUDNN_STATUS_SUCCESS
			       : CUDNN_STATUS_BAD_PARAM;
	}
	if (x == NULL || y == NULL || dy != NULL || dx != NULL || (b != NULL) != (inputs >= 2) ||
		(t != NULL) != (inputs == 3))
		return CUDNN_STATUS_BAD_PARAM;
	return sg_shape_broadcasts(x, y) && is_missing_or_fits(b, y) && is_missing_or_fits(t, y)
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}

static inline float sigmoid(float x)
{
	return 1 / (1 + sg_exp_f32(-x));
}

static inline float softplus(float x, float beta)
{
	return beta * x > 20 ? x : log1pf(expf(beta * x)) / beta;
}

static inline float gelu(float x)
{
	return 0.5f * x * (1 + erff(x * 0.70710678f));
}

static inline float gelu_slope(float x)
{
	return 0.5f * (1 + erff(x * 0.70710678f)) + x * 0.39894228f * expf(-0.5f * x * x);
}

static inline float gelu_approximation(float x)
{
	return 0.5f * x * (1 + sg_tanh_f32(GELU_SLOPE * (x + GELU_CUBIC * x * x * x)));
}

static inline float gelu_approximation_slope(float x)
{
	float t = sg_tanh_f32(GELU_SLOPE * (x + GELU_CUBIC * x * x * x));

	return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * GELU_SLOPE * (1 + 3 * GELU_CUBIC * x * x);
}

static inline float swish_slope(float x, float beta)
{
	float s = sigmoid(beta * x);

	return s + beta * x * s * (1 - s);
}

/* Operands: x, b (gradients: dy), t, y (gradients: dx); for one input b and t are x again. */
static void row_pointwise(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const struct sg_step *by = context;
	const float alpha1 = by->by.pointwise.alpha1, alpha2 = by->by.pointwise.alpha2;
	const float lower = by->by.pointwise.lower, upper = by->by.pointwise.upper,
		    slope = by->by.pointwise.slope;
	const float elu = by->by.pointwise.elu, beta = by->by.pointwise.swish;
	const float *xs = at[0], *bs = at[1], *ts = at[2];
	float *ys = at[3];
	bool are_packed = step[0] == 1 && step[1] == 1 && step[3] == 1;

#define LOOP(from_x, from_b, from_t, to, expression) \
	for (int64_t i = 0; i < n; i++) { \
		const float x = alpha1 * xs[from_x], b = alpha2 * bs[from_b], t = ts[from_t]; \
\
		(void)b; \
		(void)t; \
		ys[to] = (expression); \
	}
#define MODE(mode, expression) \
	case CUDNN_POINTWISE_##mode: \
		if (are_packed) \
			LOOP(i, i, i *step[2], i, expression) \
		else \
			LOOP(i *step[0], i *step[1], i *step[2], i *step[3], expression) \
		break

	switch (by->by.pointwise.mode) {
		MODE(ADD, x + b);
		MODE(ADD_SQUARE, x + b * b);
		MODE(DIV, x / b);
		MODE(MAX, x > b ? x : b);
		MODE(MIN, x < b ? x : b);
		MODE(MOD, fmodf(x, b));
		MODE(MUL, x * b);
		MODE(POW, powf(x, b));
		MODE(SUB, x - b);
		MODE(ATAN2, atan2f(x, b));
		MODE(ABS, fabsf(x));
		MODE(CEIL, ceilf(x));
		MODE(COS, cosf(x));
		MODE(EXP, sg_exp_f32(x));
		MODE(FLOOR, floorf(x));
		MODE(LOG, logf(x));
		MODE(NEG, -x);
		MODE(RSQRT, 1 / sqrtf(x));
		MODE(SIN, sinf(x));
		MODE(SQRT, sqrtf(x));
		MODE(TAN, tanf(x));
		MODE(ERF, erff(x));
		MODE(RECIPROCAL, 1 / x);
		MODE(RELU_FWD, x < lower ? lower + slope * (x - lower) : x < upper ? x : upper);
		MODE(TANH_FWD, sg_tanh_f32(x));
		MODE(SIGMOID_FWD, sigmoid(x));
		MODE(ELU_FWD, x > 0 ? x : elu * sg_expm1_f32(x));
		MODE(GELU_FWD, gelu(x));
		MODE(SOFTPLUS_FWD, softplus(x, by->by.pointwise.softplus));
		MODE(SWISH_FWD, x * sigmoid(beta * x));
		MODE(GELU_APPROX_TANH_FWD, gelu_approximation(x));
		MODE(RELU_BWD, b * (x > lower ? (x < upper ? 1.0f : 0.0f) : slope));
		MODE(TANH_BWD, b * (1 - sg_tanh_f32(x) * sg_tanh_f32(x)));
		MODE(SIGMOID_BWD, b * sigmoid(x) * (1 - sigmoid(x)));
		MODE(ELU_BWD, b * (x > 0 ? 1 : elu * sg_exp_f32(x)));
		MODE(GELU_BWD, b * gelu_slope(x));
		MODE(SOFTPLUS_BWD, b * sigmoid(by->by.pointwise.softplus * x));
		MODE(SWISH_BWD, b * swish_slope(x, beta));
		MODE(GELU_APPROX_TANH_BWD, b * gelu_approximation_slope(x));
		MODE(CMP_EQ, x == b ? 1 : 0);
		MODE(CMP_NEQ, x != b ? 1 : 0);
		MODE(CMP_GT, x > b ? 1 : 0);
		MODE(CMP_GE, x >= b ? 1 : 0);
		MODE(CMP_LT, x < b ? 1 : 0);
		MODE(CMP_LE, x <= b ? 1 : 0);
		MODE(LOGICAL_AND, x != 0 && b != 0 ? 1 : 0);
		MODE(LOGICAL_OR, x != 0 || b != 0 ? 1 : 0);
		MODE(LOGICAL_NOT, x == 0 ? 1 : 0);
		MODE(BINARY_SELECT, t != 0 ? x : b);
	default: /* IDENTITY, and GEN_INDEX, whose x is the index */
		MODE(IDENTITY, x);
	}
#undef MODE
}

/* As row_pointwise, where a gradient has y in the place of x. */
static void row_gradient_from_y(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	const struct sg_step *by = context;
	const float *ys = at[0], *dys = at[1];
	float *dxs = at[3];

	for (int64_t i = 0; i < n; i++) {
		float y = ys[i * step[0]];
		float slope;

		switch (by->by.pointwise.mode) {
		case CUDNN_POINTWISE_TANH_BWD:
			slope = 1 - y * y;
			break;
		case CUDNN_POINTWISE_SIGMOID_BWD:
			slope = y * (1 - y);
			break;
		case CUDNN_POINTWISE_ELU_BWD:
			slope = y > 0 ? 1 : y + by->by.pointwise.elu;
			break;
		default:
			slope = y > by->by.pointwise.lower ? (y < by->by.pointwise.upper ? 1 : 0)
							   : by->by.pointwise.slope;
			break;
		}
		dxs[i * step[3]] = by->by.pointwise.alpha2 * dys[i * step[1]] * slope;
	}
}

static void walk(
	const struct sg_step *step, const struct sg_shape *const *shape, void *const *data, sg_row *row)
{
	struct sg_loop loop;

	sg_loop_init(&loop, shape[3], 4, shape);
	sg_loop_run(&loop, data, row, step);
}

static int run_forward(const struct sg_step *step, const struct sg_operands *operands)
{
	bool takes_b = operands->data[SG_POINTWISE_OP_B] != NULL;
	bool takes_t = operands->data[SG_POINTWISE_OP_T] != NULL;
	int b = takes_b ? SG_POINTWISE_OP_B : SG_POINTWISE_OP_X;
	int t = takes_t ? SG_POINTWISE_OP_T : SG_POINTWISE_OP_X;
	const struct sg_shape *const shape[] = {operands->shape[SG_POINTWISE_OP_X], operands->shape[b],
		operands->shape[t], operands->shape[SG_POINTWISE_OP_Y]};

	walk(step, shape,
		(void *const[]){operands->data[SG_POINTWISE_OP_X], operands->data[b], operands->data[t],
			operands->data[SG_POINTWISE_OP_Y]},
		row_pointwise);
	return 0;
}

static int run_gradient(const struct sg_step *step, const struct sg_operands *operands)
{
	bool has_x = operands->data[SG_POINTWISE_OP_X] != NULL;
	int x = has_x ? SG_POINTWISE_OP_X : SG_POINTWISE_OP_Y;
	const struct sg_shape *const shape[] = {operands->shape[x], operands->shape[SG_POINTWISE_OP_DY],
		operands->shape[x], operands->shape[SG_POINTWISE_OP_DX]};

	walk(step, shape,
		(void *const[]){operands->data[x], operands->data[SG_POINTWISE_OP_DY], operands->data[x],
			operands->data[SG_POINTWISE_OP_DX]},
		has_x ? row_pointwise : row_gradient_from_y);
	return 0;
}

/* y = the place of each element along the axis: a line of indices, repeated along the other dimensions. */
static int run_index(const struct sg_step *step, const struct sg_operands *operands)
{
	const struct sg_shape *y = operands->shape[SG_POINTWISE_OP_Y];
	struct sg_shape line = {.type = CUDNN_DATA_FLOAT, .ndims = y->ndims};
	const struct sg_shape *const shape[] = {&line, &line, &line, y};
	float *index = operands->scratch;

	for (int d = 0; d < y->ndims; d++) {
		line.dim[d] = d == step->by.pointwise.axis ? y->dim[d] : 1;
		line.stride[d] = 1;
	}
	for (int i = 0; i < y->dim[step->by.pointwise.axis]; i++)
		index[i] = (float)i;
	walk(step, shape, (void *const[]){index, index, index, operands->data[SG_POINTWISE_OP_Y]},
		row_pointwise);
	return 0;
}

static float real_or(const struct sg_body *body, int role, float otherwise)
{
	return body->value[role].count > 0 ? (float)sg_body_real(body, role) : otherwise;
}

cudnnStatus_t sg_pointwise_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	const struct sg_body *pointwise = sg_body_at(op, SG_POINTWISE_OP_DESC, 0);
	int64_t mode = sg_body_int(pointwise, SG_POINTWISE_MODE);
	int64_t axis = sg_body_int(pointwise, SG_POINTWISE_AXIS);

	step->run = is_gradient(mode) ? run_gradient : run_forward;
	step->cost = sg_build_elements(
		build, step, is_gradient(mode) ? SG_POINTWISE_OP_DX : SG_POINTWISE_OP_Y, SG_FLOPS_ONE);
	step->kind = mode == CUDNN_POINTWISE_EXP ? SG_STEP_EXPONENTIAL : SG_STEP_POINTWISE;
	step->by.pointwise.mode = (cudnnPointwiseMode_t)mode;
	step->by.pointwise.axis = (int)axis;
	step->by.pointwise.lower = real_or(pointwise, SG_POINTWISE_LOWER, 0);
	step->by.pointwise.upper = real_or(pointwise, SG_POINTWISE_UPPER, FLT_MAX);
	step->by.pointwise.slope = (float)sg_body_real(pointwise, SG_POINTWISE_SLOPE);
	step->by.pointwise.elu = (float)sg_body_real(pointwise, SG_POINTWISE_ELU);
	step->by.pointwise.softplus = (float)sg_body_real(pointwise, SG_POINTWISE_SOFTPLUS);
	step->by.pointwise.swish = (float)sg_body_real(pointwise, SG_POINTWISE_SWISH);
	step->by.pointwise.alpha1 = (float)sg_body_real(op, SG_POINTWISE_OP_ALPHA1);
	step->by.pointwise.alpha2 = (float)sg_body_real(op, SG_POINTWISE_OP_ALPHA2);
	if (is_gradient(mode) && step->tensor[SG_POINTWISE_OP_X] < 0 && !knows_slope_from_y(mode))
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (mode == CUDNN_POINTWISE_GEN_INDEX) {
		const struct sg_shape *y = sg_build_shape(build, step, SG_POINTWISE_OP_Y);

		if (axis < 0 || axis >= y->ndims)
			return CUDNN_STATUS_BAD_PARAM;
		step->run = run_index;
		step->scratch_bytes = (size_t)y->dim[axis] * sizeof(float);
	}
	return CUDNN_STATUS_SUCCESS;
}
