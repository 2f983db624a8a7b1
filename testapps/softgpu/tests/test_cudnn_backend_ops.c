/*
 * Checks the operations of the stand-in cuDNN's backend API other than convolutions and normalisations:
 * pointwise modes against closed forms, their gradients against differences of these, and products,
 * reductions, reshapes and pooling against direct loops in double precision.
 */
#include "test_cudnn_backend.h"

/* ---- pointwise ---- */

static double gelu(double x)
{
	return 0.5 * x * erfc(-x / sqrt(2));
}

static double gelu_approximation(double x)
{
	return x / (1 + exp(-2 * sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

/* What a mode is of x, b and t; NAN for modes that are not in the list. */
static double closed_form(int mode, double x, double b, double t)
{
	switch (mode) {
	case CUDNN_POINTWISE_ADD:
		return x + b;
	case CUDNN_POINTWISE_ADD_SQUARE:
		return x + b * b;
	case CUDNN_POINTWISE_DIV:
		return x / b;
	case CUDNN_POINTWISE_MAX:
		return fmax(x, b);
	case CUDNN_POINTWISE_MIN:
		return fmin(x, b);
	case CUDNN_POINTWISE_MOD:
		return fmod(x, b);
	case CUDNN_POINTWISE_MUL:
		return x * b;
	case CUDNN_POINTWISE_POW:
		return pow(x, b);
	case CUDNN_POINTWISE_SUB:
		return x - b;
	case CUDNN_POINTWISE_ABS:
		return fabs(x);
	case CUDNN_POINTWISE_CEIL:
		return ceil(x);
	case CUDNN_POINTWISE_COS:
		return cos(x);
	case CUDNN_POINTWISE_EXP:
		return exp(x);
	case CUDNN_POINTWISE_FLOOR:
		return floor(x);
	case CUDNN_POINTWISE_LOG:
		return log(x);
	case CUDNN_POINTWISE_NEG:
		return -x;
	case CUDNN_POINTWISE_RSQRT:
		return 1 / sqrt(x);
	case CUDNN_POINTWISE_SIN:
		return sin(x);
	case CUDNN_POINTWISE_SQRT:
		return sqrt(x);
	case CUDNN_POINTWISE_TAN:
		return tan(x);
	case CUDNN_POINTWISE_ERF:
		return erf(x);
	case CUDNN_POINTWISE_IDENTITY:
		return x;
	case CUDNN_POINTWISE_RECIPROCAL:
		return 1 / x;
	case CUDNN_POINTWISE_RELU_FWD:
		return fmax(x, 0);
	case CUDNN_POINTWISE_TANH_FWD:
		return tanh(x);
	case CUDNN_POINTWISE_SIGMOID_FWD:
		return 1 / (1 + exp(-x));
	case CUDNN_POINTWISE_ELU_FWD:
		return x > 0 ? x : exp(x) - 1;
	case CUDNN_POINTWISE_GELU_FWD:
		return gelu(x);
	case CUDNN_POINTWISE_SOFTPLUS_FWD:
		return log(1 + exp(x));
	case CUDNN_POINTWISE_SWISH_FWD:
		return x / (1 + exp(-x));
	case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
		return gelu_approximation(x);
	case CUDNN_POINTWISE_CMP_EQ:
		return x == b;
	case CUDNN_POINTWISE_CMP_NEQ:
		return x != b;
	case CUDNN_POINTWISE_CMP_GT:
		return x > b;
	case CUDNN_POINTWISE_CMP_GE:
		return x >= b;
	case CUDNN_POINTWISE_CMP_LT:
		return x < b;
	case CUDNN_POINTWISE_CMP_LE:
		return x <= b;
	case CUDNN_POINTWISE_LOGICAL_AND:
		return x != 0 && b != 0;
	case CUDNN_POINTWISE_LOGICAL_OR:
		return x != 0 || b != 0;
	case CUDNN_POINTWISE_LOGICAL_NOT:
		return x == 0;
	case CUDNN_POINTWISE_BINARY_SELECT:
		return t != 0 ? x : b;
	default:
		return NAN;
	}
}

static int inputs_of(int mode)
{
	if (mode == CUDNN_POINTWISE_BINARY_SELECT)
		return 3;
	if (mode <= CUDNN_POINTWISE_SUB)
		return mode == CUDNN_POINTWISE_SQRT ? 1 : 2;
	if (mode >= CUDNN_POINTWISE_CMP_EQ && mode != CUDNN_POINTWISE_LOGICAL_NOT)
		return 2;
	return 1;
}

/* Every mode there is; b is one number per channel, t a mask, and y may have other strides than x. */
static void test_pointwise(int mode, enum layout y_layout)
{
	bool positive = mode == CUDNN_POINTWISE_LOG || mode == CUDNN_POINTWISE_SQRT ||
			mode == CUDNN_POINTWISE_RSQRT || mode == CUDNN_POINTWISE_POW;
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor b = make_4d(CUDNN_DATA_FLOAT, PACKED, 1, 3, 1, 1);
	struct tensor t = make_4d(CUDNN_DATA_FLOAT, CHANNELS_LAST, 2, 3, 4, 5);
	struct tensor y = make_4d(CUDNN_DATA_FLOAT, y_layout, 2, 3, 4, 5);
	int inputs = inputs_of(mode);
	double alpha1 = inputs == 2 && mode < CUDNN_POINTWISE_CMP_EQ ? 1.5 : 1;
	char name[32];
	descriptor op;

	snprintf(name, sizeof(name), "pointwise mode %d", mode);
	case_name = name;
	for (size_t i = 0; i < x.span; i++) {
		double value = (positive ? fabs(x.value[i]) : x.value[i] * 3) + (positive ? 0.1 : 0);

		/* Some zeros for the logic, some equals for the comparisons. */
		x.value[i] =
			(double)(float)(i % 7 == 0 && !positive ? (i % 2 ? 0 : b.value[i / 20 % 3]) : value);
		t.value[i] = i % 3 == 0;
	}
	if (mode == CUDNN_POINTWISE_RECIPROCAL || mode == CUDNN_POINTWISE_TAN)
		for (size_t i = 0; i < x.span; i++)
			x.value[i] = x.value[i] < 0 ? -1.2 + x.value[i] / 30 : 0.5 + x.value[i] / 30;
	upload(&x);
	upload(&t);
	for (size_t i = 0; i < x.span; i++)
		x.value[i] = (double)(float)x.value[i];
	begin_graph();
	op = pointwise_op(finalized(pointwise((cudnnPointwiseMode_t)mode)), graph_tensor('x', &x),
		inputs > 1 ? graph_tensor('b', &b) : NULL, inputs > 2 ? graph_tensor('t', &t) : NULL,
		graph_tensor('y', &y));
	set_float(op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, (float)alpha1);
	add_op(op);
	run_graph();
	for (int64_t i = 0; i < count_of(&y); i++)
		*element(&y, i) = closed_form(
			mode, alpha1 * *element(&x, i), b.value[offset_in(&b, &y, i)], *element(&t, i));
	COMPARE(&y, 3e-6);
	drop_tensor(&x);
	drop_tensor(&b);
	drop_tensor(&t);
	drop_tensor(&y);
}

/* dx = dy * f'(x), from x or, where the library can, from y = f(x). */
static void test_gradient(int forward, int mode, bool from_y)
{
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor y = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor dy = make_4d(CUDNN_DATA_FLOAT, CHANNELS_LAST, 2, 3, 4, 5);
	struct tensor dx = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	char name[48];
	descriptor op;

	snprintf(name, sizeof(name), "gradient mode %d%s", mode, from_y ? " from y" : "");
	case_name = name;
	for (size_t i = 0; i < y.span; i++)
		y.value[i] = closed_form(forward, x.value[i], 0, 0);
	upload(&y);
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
		finalized(pointwise((cudnnPointwiseMode_t)mode)));
	if (from_y)
		set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph_tensor('y', &y));
	else
		set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, graph_tensor('g', &dy));
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, graph_tensor('d', &dx));
	add_op(op);
	run_graph();
	for (int64_t i = 0; i < count_of(&x); i++) {
		double at = *element(&x, i);
		double slope =
			(closed_form(forward, at + 1e-6, 0, 0) - closed_form(forward, at - 1e-6, 0, 0)) /
			2e-6;

		*element(&dx, i) = *element(&dy, i) * slope;
	}
	COMPARE(&dx, 3e-6);
	drop_tensor(&x);
	drop_tensor(&y);
	drop_tensor(&dy);
	drop_tensor(&dx);
}

/* Leaky and clipped relu with its settings, and the place along an axis. */
static void test_pointwise_settings(void)
{
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor y = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor index = make_4d(CUDNN_DATA_FLOAT, CHANNELS_LAST, 2, 3, 4, 5);
	descriptor relu, place, xd;

	case_name = "relu's settings, index";
	begin_graph();
	relu = pointwise(CUDNN_POINTWISE_RELU_FWD);
	set_double(relu, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0.125);
	set_float(relu, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 0.5f);
	set_double(relu, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0.25);
	place = pointwise(CUDNN_POINTWISE_GEN_INDEX);
	set_int(place, CUDNN_ATTR_POINTWISE_AXIS, 2);
	xd = graph_tensor('x', &x);
	add_op(pointwise_op(finalized(relu), xd, NULL, NULL, graph_tensor('y', &y)));
	add_op(pointwise_op(finalized(place), xd, NULL, NULL, graph_tensor('i', &index)));
	run_graph();
	for (int64_t i = 0; i < count_of(&x); i++) {
		double at = *element(&x, i);

		*element(&y, i) = at < 0.125 ? 0.125 + 0.25 * (at - 0.125) : fmin(at, 0.5);
		*element(&index, i) = (double)(i / 5 % 4);
	}
	COMPARE(&y, 1e-6);
	COMPARE(&index, 0);
	drop_tensor(&x);
	drop_tensor(&y);
	drop_tensor(&index);
}

/* What is added times zero need not be there: TensorFlow's convolutions pass NULL for it. Times one it must. */
static void test_absent_summand(void)
{
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor z = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor y = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	void *there = z.device;

	case_name = "a summand times zero";
	for (int alpha2 = 0; alpha2 < 2; alpha2++) {
		descriptor op;

		begin_graph();
		z.device = alpha2 == 0 ? NULL : there;
		op = pointwise_op(finalized(pointwise(CUDNN_POINTWISE_ADD)), graph_tensor('x', &x),
			graph_tensor('z', &z), NULL, graph_tensor('y', &y));
		set_float(op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 2);
		set_float(op, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, (float)alpha2);
		add_op(op);
		run_graph();
		for (int64_t i = 0; i < count_of(&x); i++)
			*element(&y, i) = 2 * *element(&x, i) + alpha2 * *element(&z, i);
		COMPARE(&y, 1e-6);
	}
	z.device = there;
	drop_tensor(&x);
	drop_tensor(&z);
	drop_tensor(&y);
}

/* ---- products, reductions, reshapes ---- */

/* c = gelu(a * b + bias), a batch in which one of b is used for several of a, and b and c lie transposed. */
static void test_matmul(bool is_transposed, enum layout c_layout)
{
	struct tensor a = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, (const int[]){2, 4, 5, 7});
	struct tensor b = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, (const int[]){2, 2, 7, 6});
	struct tensor c = make_tensor(CUDNN_DATA_FLOAT, c_layout, 4, (const int[]){2, 4, 5, 6});
	struct tensor bias = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, (const int[]){1, 1, 1, 6});
	descriptor op, how, product, sum, out;

	case_name = "matmul, bias, gelu";
	if (is_transposed) {
		b.stride[2] = 1;
		b.stride[3] = 7;
	}
	if (is_transposed && c_layout == PACKED) {
		c.stride[2] = 1;
		c.stride[3] = 5;
	}
	begin_graph();
	product = virtual_like('p', &c);
	sum = virtual_like('s', &c);
	how = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
	set_enum(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	op = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
	out = graph_tensor('c', &c);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, finalized(how));
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, graph_tensor('a', &a));
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, graph_tensor('b', &b));
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, is_transposed ? out : product);
	add_op(op);
	if (!is_transposed) {
		add_pointwise(CUDNN_POINTWISE_ADD, product, graph_tensor('d', &bias), sum);
		add_pointwise(CUDNN_POINTWISE_GELU_FWD, sum, NULL, out);
	}
	run_graph();
	for (int64_t i = 0; i < count_of(&c); i++) {
		int64_t column = i % 6, row = i / 6 % 5, head = i / 30 % 4, n = i / 120;
		double value = 0;

		for (int64_t k = 0; k < 7; k++)
			value += *element(&a, ((n * 4 + head) * 5 + row) * 7 + k) *
				 *element(&b, ((n * 2 + head / 2) * 7 + k) * 6 + column);
		*element(&c, i) = is_transposed ? value : gelu(value + bias.value[column]);
	}
	COMPARE(&c, 1e-5);
	drop_tensor(&a);
	drop_tensor(&b);
	drop_tensor(&c);
	drop_tensor(&bias);
}

static void test_reduction(cudnnReduceTensorOp_t op, const int *y_dim, enum layout layout)
{
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, layout, 3, 4, 5, 2);
	struct tensor y = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, y_dim);
	int64_t share = count_of(&x) / count_of(&y);
	double *result = malloc((size_t)count_of(&y) * sizeof(*result));
	descriptor how, reduce;
	char name[32];

	snprintf(name, sizeof(name), "reduction %d", (int)op);
	case_name = name;
	if (result == NULL)
		abort();
	x.value[0] = 0;
	upload(&x);
	begin_graph();
	how = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
	set_enum(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, (int)op);
	set_enum(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	reduce = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
	set_part(reduce, CUDNN_ATTR_OPERATION_REDUCTION_DESC, finalized(how));
	set_part(reduce, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, graph_tensor('x', &x));
	set_part(reduce, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, graph_tensor('y', &y));
	add_op(reduce);
	run_graph();
	for (int64_t i = 0; i < count_of(&y); i++)
		result[i] = op == CUDNN_REDUCE_TENSOR_MUL || op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ? 1
			    : op == CUDNN_REDUCE_TENSOR_MIN                                         ? INFINITY
			    : op == CUDNN_REDUCE_TENSOR_MAX ? -INFINITY
							    : 0;
	for (int64_t i = 0; i < count_of(&x); i++) {
		double value = *element(&x, i), *to = &result[offset_in(&y, &x, i)];

		switch (op) {
		case CUDNN_REDUCE_TENSOR_MUL:
			*to *= value;
			break;
		case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
			*to *= value == 0 ? 1 : value;
			break;
		case CUDNN_REDUCE_TENSOR_MIN:
			*to = fmin(*to, value);
			break;
		case CUDNN_REDUCE_TENSOR_MAX:
			*to = fmax(*to, value);
			break;
		case CUDNN_REDUCE_TENSOR_AMAX:
			*to = fmax(*to, fabs(value));
			break;
		case CUDNN_REDUCE_TENSOR_AVG:
			*to += value / (double)share;
			break;
		case CUDNN_REDUCE_TENSOR_NORM1:
			*to += fabs(value);
			break;
		case CUDNN_REDUCE_TENSOR_NORM2:
			*to = sqrt(*to * *to + value * value);
			break;
		default:
			*to += value;
			break;
		}
	}
	for (int64_t i = 0; i < count_of(&y); i++)
		y.value[i] = result[i];
	COMPARE(&y, 1e-5);
	free(result);
	drop_tensor(&x);
	drop_tensor(&y);
}

static void test_reshape(void)
{
	struct tensor x = make_tensor(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, (const int[]){2, 3, 4, 5});
	struct tensor y = make_tensor(CUDNN_DATA_FLOAT, PACKED, 3, (const int[]){6, 2, 10});
	descriptor op;

	case_name = "reshape";
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, graph_tensor('y', &y));
	add_op(op);
	run_graph();
	for (int64_t i = 0; i < count_of(&x); i++)
		*element(&y, i) = *element(&x, i);
	COMPARE(&y, 0);
	drop_tensor(&x);
	drop_tensor(&y);
}

/* ---- pooling ---- */

static descriptor resample(cudnnResampleMode_t mode)
{
	static const int64_t window[] = {3, 2}, stride[] = {2, 1}, pad[] = {1, 0};
	static const cudnnFraction_t fraction[] = {{6, 2}, {2, 1}};
	descriptor d = make(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);

	set_enum(d, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, (int)mode);
	set_enum(d, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	set_enum(d, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE,
		mode == CUDNN_RESAMPLE_MAXPOOL ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD);
	set_int(d, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 2);
	set_ints(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 2, window);
	OK(cudnnBackendSetAttribute(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_TYPE_FRACTION, 2, fraction));
	set_ints(d, CUDNN_ATTR_RESAMPLE_STRIDES, 2, stride);
	set_ints(d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 2, pad);
	set_ints(d, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 2, pad);
	return d;
}

/* Windows of 3 x 2, a stride of 2 x 1, one line of padding above and below. dx: NULL, or what dy makes of it.
 */
static void pool(cudnnResampleMode_t mode, const struct tensor *x, const struct tensor *y, double *dx)
{
	for (int64_t i = 0; i < count_of(y); i++) {
		int ow = (int)(i % y->dim[3]), oh = (int)(i / y->dim[3] % y->dim[2]);
		int64_t image = i / y->dim[3] / y->dim[2], best = -1;
		double sum = 0, largest = -INFINITY;
		int inside = 0;

		for (int tap = 0; tap < 6; tap++) {
			int h = oh * 2 - 1 + tap / 2, w = ow + tap % 2;
			int64_t at = (image * x->dim[2] + h) * x->dim[3] + w;

			if (h < 0 || h >= x->dim[2])
				continue;
			inside++;
			sum += *element(x, at);
			best = *element(x, at) > largest ? at : best;
			largest = fmax(largest, *element(x, at));
		}
		inside = mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING ? 6 : inside;
		if (dx == NULL)
			*element(y, i) = mode == CUDNN_RESAMPLE_MAXPOOL ? largest : sum / inside;
		else if (mode == CUDNN_RESAMPLE_MAXPOOL)
			dx[best] += *element(y, i);
		for (int tap = 0; dx != NULL && mode != CUDNN_RESAMPLE_MAXPOOL && tap < 6; tap++) {
			int h = oh * 2 - 1 + tap / 2, w = ow + tap % 2;

			if (h >= 0 && h < x->dim[2])
				dx[(image * x->dim[2] + h) * x->dim[3] + w] += *element(y, i) / inside;
		}
	}
}

static void test_resample(cudnnResampleMode_t mode, enum layout layout)
{
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, layout, 2, 3, 6, 5),
		      y = make_4d(CUDNN_DATA_FLOAT, layout, 2, 3, 3, 4);
	struct tensor dx = make_4d(CUDNN_DATA_FLOAT, layout, 2, 3, 6, 5);
	struct tensor dy = make_4d(CUDNN_DATA_FLOAT, layout, 2, 3, 3, 4);
	double *gradient = calloc((size_t)count_of(&x), sizeof(*gradient));
	descriptor op;

	case_name = "pooling";
	if (gradient == NULL)
		abort();
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, finalized(resample(mode)));
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, graph_tensor('y', &y));
	add_op(op);
	run_graph();
	pool(mode, &x, &y, NULL);
	COMPARE(&y, 1e-6);
	case_name = "pooling's gradient";
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, finalized(resample(mode)));
	if (mode == CUDNN_RESAMPLE_MAXPOOL)
		set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, graph_tensor('g', &dy));
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, graph_tensor('d', &dx));
	add_op(op);
	run_graph();
	pool(mode, &x, &dy, gradient);
	for (int64_t i = 0; i < count_of(&dx); i++)
		*element(&dx, i) = gradient[i];
	COMPARE(&dx, 1e-6);
	free(gradient);
	drop_tensor(&x);
	drop_tensor(&y);
	drop_tensor(&dx);
	drop_tensor(&dy);
}

int main(void)
{
	static const int reduced[][4] = {{1, 4, 1, 1}, {3, 1, 1, 1}, {1, 1, 1, 1}, {3, 4, 1, 2}};

	begin_tests();
	for (int mode = 0; mode <= CUDNN_POINTWISE_BINARY_SELECT; mode++) {
		if (!isnan(closed_form(mode, 0.5, 0.25, 1))) {
			test_pointwise(mode, PACKED);
			test_pointwise(mode, GAPS);
		}
	}
	for (int i = 0; i < 8; i++) {
		test_gradient(CUDNN_POINTWISE_RELU_FWD + i, CUDNN_POINTWISE_RELU_BWD + i, false);
		if (i < 4)
			test_gradient(CUDNN_POINTWISE_RELU_FWD + i, CUDNN_POINTWISE_RELU_BWD + i, true);
	}
	test_pointwise_settings();
	test_absent_summand();
	test_matmul(false, PACKED);
	test_matmul(true, PACKED);
	test_matmul(true, GAPS);
	for (int op = CUDNN_REDUCE_TENSOR_ADD; op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS; op++) {
		for (int i = 0; i < 4; i++)
			test_reduction((cudnnReduceTensorOp_t)op, reduced[i], i % 2 ? CHANNELS_LAST : PACKED);
	}
	test_reshape();
	for (int i = 0; i < 3; i++) {
		static const cudnnResampleMode_t modes[] = {CUDNN_RESAMPLE_MAXPOOL,
			CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING, CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING};

		test_resample(modes[i], PACKED);
		test_resample(modes[i], CHANNELS_LAST);
	}
	return end_tests();
}
