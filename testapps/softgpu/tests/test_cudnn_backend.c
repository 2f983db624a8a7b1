/*
 * Checks the backend API of the stand-in cuDNN: convolutions as PyTorch builds them, alone and fused, against
 * direct loops in double precision; stored types; capture; the rules for descriptors and what the calls
 * answer when they are broken.
 */
#include "test_cudnn_backend.h"

#include "core/half.h"

struct conv_case {
	const char *name;
	int n, c, k, groups, size[2], filter[2], pad[2], stride[2], dilation[2];
	enum layout x, w, y;
	cudnnConvolutionMode_t mode;
	double alpha, beta;
};

#define CROSS CUDNN_CROSS_CORRELATION

static const struct conv_case conv_cases[] = {
	{"lenet", 4, 6, 16, 1, {14, 14}, {5, 5}, {0, 0}, {1, 1}, {1, 1}, PACKED, PACKED, PACKED, CROSS, 1, 0},
	{"channels last", 2, 5, 6, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, CHANNELS_LAST, CHANNELS_LAST,
		CHANNELS_LAST, CROSS, 1, 0},
	{"strides, dilation", 2, 3, 4, 1, {12, 11}, {3, 2}, {2, 1}, {2, 3}, {2, 1}, PACKED, PACKED, PACKED,
		CROSS, 1, 0},
	{"groups", 2, 6, 9, 3, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, PACKED, PACKED, PACKED, CROSS, 1, 0},
	{"depthwise, channels last", 2, 8, 8, 8, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, CHANNELS_LAST,
		PACKED, CHANNELS_LAST, CROSS, 1, 0},
	{"gaps, blended", 2, 3, 4, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, GAPS, PACKED, GAPS, CROSS, 1.5,
		0.5},
	{"turned round", 2, 3, 4, 1, {8, 9}, {3, 4}, {1, 1}, {1, 1}, {1, 1}, PACKED, PACKED, PACKED,
		CUDNN_CONVOLUTION, 1, 0},
};

/* x, w, y or their gradients; which one is written depends on the kind. */
struct conv {
	const struct conv_case *spec;
	struct tensor t[3];
};

enum kind { FORWARD, DATA, FILTER };
static const int written[] = {2, 0, 1};

static struct conv make_conv(const struct conv_case *s)
{
	struct conv conv = {.spec = s};
	int out[2];

	for (int d = 0; d < 2; d++)
		out[d] = (s->size[d] + 2 * s->pad[d] - (s->filter[d] - 1) * s->dilation[d] - 1) /
				 s->stride[d] +
			 1;
	conv.t[0] = make_4d(CUDNN_DATA_FLOAT, s->x, s->n, s->c, s->size[0], s->size[1]);
	conv.t[1] = make_4d(CUDNN_DATA_FLOAT, s->w, s->k, s->c / s->groups, s->filter[0], s->filter[1]);
	conv.t[2] = make_4d(CUDNN_DATA_FLOAT, s->y, s->n, s->k, out[0], out[1]);
	return conv;
}

static void drop_conv(struct conv *conv)
{
	for (int i = 0; i < 3; i++)
		drop_tensor(&conv->t[i]);
}

static double *at4(const struct tensor *t, int a, int b, int c, int d)
{
	return &t->value[a * t->stride[0] + b * t->stride[1] + c * t->stride[2] + d * t->stride[3]];
}

/* The written tensor's values as they should become: all three kinds are sums of products y += x * w. */
static void expect_conv(struct conv *conv, enum kind kind)
{
	const struct conv_case *s = conv->spec;
	const struct tensor *x = &conv->t[0], *w = &conv->t[1], *y = &conv->t[2];
	struct tensor *to = &conv->t[written[kind]];
	struct tensor sum = *to;

	sum.value = calloc(sum.span, sizeof(double));
	if (sum.value == NULL)
		abort();
	for (int64_t i = 0; i < count_of(y) * count_of(w) / s->k; i++) {
		int64_t rest = i;
		int fw = (int)(rest % s->filter[1]), fh = (int)((rest /= s->filter[1]) % s->filter[0]);
		int c = (int)((rest /= s->filter[0]) % w->dim[1]),
		    ow = (int)((rest /= w->dim[1]) % y->dim[3]);
		int oh = (int)((rest /= y->dim[3]) % y->dim[2]), k = (int)((rest /= y->dim[2]) % s->k);
		int n = (int)(rest / s->k);
		int h = oh * s->stride[0] - s->pad[0] + fh * s->dilation[0];
		int v = ow * s->stride[1] - s->pad[1] + fw * s->dilation[1];
		int xc = k / (s->k / s->groups) * w->dim[1] + c;
		int wh = s->mode == CROSS ? fh : s->filter[0] - 1 - fh;
		int ww = s->mode == CROSS ? fw : s->filter[1] - 1 - fw;

		if (h < 0 || v < 0 || h >= s->size[0] || v >= s->size[1])
			continue;
		if (kind == FORWARD)
			*at4(&sum, n, k, oh, ow) += *at4(x, n, xc, h, v) * *at4(w, k, c, wh, ww);
		else if (kind == DATA)
			*at4(&sum, n, xc, h, v) += *at4(y, n, k, oh, ow) * *at4(w, k, c, wh, ww);
		else
			*at4(&sum, k, c, wh, ww) += *at4(y, n, k, oh, ow) * *at4(x, n, xc, h, v);
	}
	for (int64_t i = 0; i < count_of(to); i++)
		*element(to, i) = s->alpha * *element(&sum, i) + s->beta * *element(to, i);
	free(sum.value);
}

static descriptor convolution(const struct conv_case *s)
{
	descriptor d = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	int64_t pad[] = {s->pad[0], s->pad[1]}, stride[] = {s->stride[0], s->stride[1]};
	int64_t dilation[] = {s->dilation[0], s->dilation[1]};

	set_enum(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	set_enum(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, (int)s->mode);
	set_int(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, pad);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 2, pad);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2, stride);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, dilation);
	return d;
}

/* t: the descriptors of x, w, y. */
static descriptor conv_op(enum kind kind, const struct conv_case *s, const descriptor *t)
{
	static const cudnnBackendDescriptorType_t types[] = {
		CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
		CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
		CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR};
	static const cudnnBackendAttributeName_t names[][6] = {
		{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
			CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
			CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
			CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
			CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
		{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
		{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
			CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
	};
	descriptor op = make(types[kind]);

	for (int i = 0; i < 3; i++)
		set_part(op, names[kind][i], t[i]);
	set_part(op, names[kind][3], finalized(convolution(s)));
	set_float(op, names[kind][4], (float)s->alpha);
	set_double(op, names[kind][5], s->beta);
	return op;
}

static void test_conv(const struct conv_case *s)
{
	case_name = s->name;
	for (int kind = FORWARD; kind <= FILTER; kind++) {
		struct conv conv = make_conv(s);
		descriptor t[3];

		begin_graph();
		for (int i = 0; i < 3; i++)
			t[i] = graph_tensor('x' + i, &conv.t[i]);
		add_op(conv_op((enum kind)kind, s, t));
		run_graph();
		expect_conv(&conv, (enum kind)kind);
		COMPARE(&conv.t[written[kind]], 2e-5);
		drop_conv(&conv);
	}
}

/* y = relu(conv(x, w) + z + bias), the operations not in their order: only the first and last tensors are in
 * memory. */
static void test_fused(const struct conv_case *s)
{
	struct conv conv = make_conv(s);
	struct tensor z = make_tensor(CUDNN_DATA_FLOAT, s->y, 4, conv.t[2].dim);
	struct tensor bias = make_4d(CUDNN_DATA_FLOAT, PACKED, 1, s->k, 1, 1);
	descriptor t[3], sum[2], y;

	case_name = "convolution, addition, bias, relu";
	begin_graph();
	t[0] = graph_tensor('x', &conv.t[0]);
	t[1] = graph_tensor('w', &conv.t[1]);
	t[2] = virtual_like('c', &conv.t[2]);
	sum[0] = virtual_like('s', &conv.t[2]);
	sum[1] = virtual_like('t', &conv.t[2]);
	y = graph_tensor('y', &conv.t[2]);
	add_pointwise(CUDNN_POINTWISE_RELU_FWD, sum[1], NULL, y);
	add_pointwise(CUDNN_POINTWISE_ADD, t[2], graph_tensor('z', &z), sum[0]);
	add_pointwise(CUDNN_POINTWISE_ADD, sum[0], graph_tensor('b', &bias), sum[1]);
	add_op(conv_op(FORWARD, s, t));
	run_graph();
	expect_conv(&conv, FORWARD);
	for (int64_t i = 0; i < count_of(&z); i++) {
		double *value = element(&conv.t[2], i);

		*value += *element(&z, i) + bias.value[offset_in(&bias, &z, i)];
		*value = *value > 0 ? *value : 0;
	}
	COMPARE(&conv.t[2], 2e-5);
	drop_tensor(&z);
	drop_tensor(&bias);
	drop_conv(&conv);
}

/* x and y stored in 16 bits: y is the rounded result of the rounded x. */
static void test_stored(cudnnDataType_t type, double beta)
{
	struct conv_case blended = conv_cases[1];
	struct conv conv = make_conv(&blended);
	size_t count = conv.t[0].span, y_count = conv.t[2].span;
	uint16_t *x = malloc(count * sizeof(*x)), *y = malloc(y_count * sizeof(*y));
	void *device[2] = {NULL, NULL};
	descriptor t[3];
	double worst = 0;

	case_name = "16-bit storage";
	if (x == NULL || y == NULL)
		abort();
	blended.beta = beta;
	for (size_t i = 0; i < y_count; i++) {
		float value = 1 + (float)(i % 7) / 8;

		y[i] = type == CUDNN_DATA_HALF ? sg_half_from_float(value) : sg_bfloat_from_float(value);
		conv.t[2].value[i] = (double)value;
	}
	for (size_t i = 0; i < count; i++) {
		float value = (float)conv.t[0].value[i];

		x[i] = type == CUDNN_DATA_HALF ? sg_half_from_float(value) : sg_bfloat_from_float(value);
		conv.t[0].value[i] = (double)(type == CUDNN_DATA_HALF ? sg_float_from_half(x[i])
								      : sg_float_from_bfloat(x[i]));
	}
	CUDA(cudaMalloc(&device[0], count * sizeof(*x)));
	CUDA(cudaMalloc(&device[1], y_count * sizeof(*y)));
	CUDA(cudaMemcpy(device[1], y, y_count * sizeof(*y), cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(device[0], x, count * sizeof(*x), cudaMemcpyHostToDevice));
	begin_graph();
	t[0] = finalized(open_tensor('x', type, 4, conv.t[0].dim, conv.t[0].stride));
	t[1] = graph_tensor('w', &conv.t[1]);
	t[2] = finalized(open_tensor('y', type, 4, conv.t[2].dim, conv.t[2].stride));
	bind('x', device[0]);
	bind('y', device[1]);
	add_op(conv_op(FORWARD, conv.spec, t));
	run_graph();
	CUDA(cudaMemcpy(y, device[1], y_count * sizeof(*y), cudaMemcpyDeviceToHost));
	expect_conv(&conv, FORWARD);
	for (size_t i = 0; i < y_count; i++) {
		double got = (double)(type == CUDNN_DATA_HALF ? sg_float_from_half(y[i])
							      : sg_float_from_bfloat(y[i]));
		double off = fabs(got - conv.t[2].value[i]) / (1 + fabs(conv.t[2].value[i]));

		worst = off > worst ? off : worst;
	}
	EXPECT(worst > 0 && worst < (type == CUDNN_DATA_HALF ? 0x1p-11 : 0x1p-8));
	CUDA(cudaFree(device[0]));
	CUDA(cudaFree(device[1]));
	free(x);
	free(y);
	drop_conv(&conv);
}

/* A captured execution is replayed after its descriptors have gone, and sees what is in memory by then. */
static void test_capture(void)
{
	struct conv conv = make_conv(&conv_cases[0]);
	descriptor t[3], plan, pack;
	cudaGraph_t captured = NULL;
	cudaGraphExec_t ready = NULL;
	int64_t bytes = 0;

	case_name = "capture";
	begin_graph();
	for (int i = 0; i < 3; i++)
		t[i] = graph_tensor('x' + i, &conv.t[i]);
	add_op(conv_op(FORWARD, conv.spec, t));
	plan = make_plan(
		finalized(make_heuristics(finalized(make_graph()), CUDNN_HEUR_MODE_INSTANT)), 0, &bytes);
	pack = finalized(make_pack(NULL));
	CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	OK(cudnnBackendExecute(handle, plan, pack));
	CUDA(cudaStreamEndCapture(stream, &captured));
	destroy_all();
	CUDA(cudaGraphInstantiate(&ready, captured, 0));
	for (int turn = 0; turn < 2; turn++) {
		conv.t[0].value[3] += 0.5;
		upload(&conv.t[0]);
		CUDA(cudaGraphLaunch(ready, stream));
		CUDA(cudaStreamSynchronize(stream));
		expect_conv(&conv, FORWARD);
		COMPARE(&conv.t[2], 2e-5);
	}
	CUDA(cudaGraphExecDestroy(ready));
	CUDA(cudaGraphDestroy(captured));
	drop_conv(&conv);
}

/* ---- descriptors ---- */

#define NULL_POINTER 2002
#define MISALIGNED 2003
#define NOT_FINALIZED 2004
#define ATTRIBUTE_TYPE 2010
#define DESCRIPTOR_TYPE 2012
#define EXPECT_CODE(code, call) EXPECT((int)(call) == (int)(code))
#define SET(...) cudnnBackendSetAttribute(__VA_ARGS__)
#define GET(...) cudnnBackendGetAttribute(__VA_ARGS__)

static void test_tensor_rules(void)
{
	static const int dim[] = {2, 3, 4, 5}, stride[] = {60, 20, 5, 1};
	descriptor t, other = NULL;
	int64_t one = 1, zero = 0, three = 3, got[8] = {0}, count = -1;
	float number = 1;
	bool is_virtual = true;

	case_name = "tensor descriptors";
	begin_graph();
	EXPECT_CODE(NULL_POINTER, cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, NULL));
	EXPECT_CODE(CUDNN_STATUS_NOT_SUPPORTED,
		cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)99, &other));
	EXPECT_CODE(NULL_POINTER, cudnnBackendDestroyDescriptor(NULL));
	EXPECT_CODE(NULL_POINTER, cudnnBackendFinalize(NULL));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendInitialize(NULL));
	EXPECT_CODE(NULL_POINTER, SET(NULL, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &one));
	t = open_tensor(7, CUDNN_DATA_FLOAT, 4, dim, stride);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, SET(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, NULL));
	EXPECT_CODE(ATTRIBUTE_TYPE, SET(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1, &number));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, SET(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 2, got));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, SET(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, -1, got));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, SET(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 9, got));
	EXPECT_CODE(
		CUDNN_STATUS_BAD_PARAM, SET(t, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, got));
	EXPECT_CODE(CUDNN_STATUS_NOT_INITIALIZED,
		GET(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count, got));
	OK(cudnnBackendFinalize(t));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(t));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, SET(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &one));

	/* What was set, how much there is of it, and what holds where nothing was set. */
	OK(GET(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0, &count, NULL));
	EXPECT(count == 4);
	OK(GET(t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 2, &count, got));
	EXPECT(count == 2 && got[0] == 60 && got[1] == 20 && got[2] == 0);
	OK(GET(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 8, &count, got));
	EXPECT(count == 4 && got[3] == 5);
	OK(GET(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &count, &is_virtual));
	EXPECT(count == 1 && !is_virtual);
	EXPECT_CODE(ATTRIBUTE_TYPE, GET(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 8, &count, got));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM,
		GET(t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, -1, &count, got));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM,
		GET(t, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 1, &count, got));

	/* What must be there to finalise, and fit together. */
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(make(CUDNN_BACKEND_TENSOR_DESCRIPTOR)));
	t = open_tensor(7, CUDNN_DATA_FLOAT, 4, dim, stride);
	set_ints(t, CUDNN_ATTR_TENSOR_STRIDES, 3, got);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(t));
	t = open_tensor(7, CUDNN_DATA_FLOAT, 4, dim, stride);
	set_ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS, 1, &zero);
	set_ints(t, CUDNN_ATTR_TENSOR_STRIDES, 1, &one);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(t));
	t = open_tensor(7, CUDNN_DATA_FLOAT, 4, dim, stride);
	set_ints(t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &three);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(t));
	t = open_tensor(7, (cudnnDataType_t)77, 4, dim, stride);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(t));
	destroy_all();
}

static void test_operation_rules(void)
{
	struct conv conv = make_conv(&conv_cases[0]);
	const int wrong_dim[] = {4, 16, 10, 11}, wrong_stride[] = {1760, 110, 11, 1};
	int64_t minus = -1, two[] = {1, 1}, count = 0;
	descriptor t[3], op, c, other, again;

	case_name = "operation descriptors";
	begin_graph();
	for (int i = 0; i < 3; i++)
		t[i] = graph_tensor('x' + i, &conv.t[i]);
	c = convolution(conv.spec);
	op = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
	EXPECT_CODE(NOT_FINALIZED, SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
					   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c));
	set_ints(c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 1, &minus);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(c));
	set_ints(c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, (const int64_t[]){-1, 0});
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(c));
	set_ints(c, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, (const int64_t[]){0, 0});
	set_ints(c, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, (const int64_t[]){0, 1});
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(c));
	set_ints(c, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, two);
	OK(cudnnBackendFinalize(c));
	EXPECT_CODE(DESCRIPTOR_TYPE, SET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
					     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &t[0]));
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, c);
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, t[0]);
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, t[1]);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(op));
	other = finalized(open_tensor('o', CUDNN_DATA_FLOAT, 4, wrong_dim, wrong_stride));
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, other);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(op));
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, t[2]);
	OK(cudnnBackendFinalize(op));

	/* What was put in can be got out, and outlives the descriptor that brought it. */
	again = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	OK(GET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
		&again));
	OK(GET(again, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count, &minus));
	EXPECT(minus == 'y');
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, GET(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
						    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &c));

	/* A mode's inputs are those it has, no more and no fewer. */
	op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, finalized(pointwise(CUDNN_POINTWISE_ADD)));
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, t[2]);
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, t[2]);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(op));
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, t[0]);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(op));
	set_part(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, t[2]);
	OK(cudnnBackendFinalize(op));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(pointwise((cudnnPointwiseMode_t)-3)));
	destroy_all();
	drop_conv(&conv);
}

static void test_graph_rules(void)
{
	struct conv conv = make_conv(&conv_cases[0]);
	const struct tensor *y = &conv.t[2];
	descriptor from_nowhere, d, fp8, t[2];
	int64_t count = -1;

	case_name = "operation graphs";
	begin_graph();
	EXPECT_CODE(
		CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)));
	from_nowhere = virtual_like('v', y);
	add_pointwise(CUDNN_POINTWISE_RELU_FWD, from_nowhere, NULL, graph_tensor('y', y));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(make_graph()));
	destroy_all();

	/* In a cycle. */
	begin_graph();
	t[0] = virtual_like('v', y);
	t[1] = virtual_like('w', y);
	add_pointwise(CUDNN_POINTWISE_RELU_FWD, t[0], NULL, t[1]);
	add_pointwise(CUDNN_POINTWISE_RELU_FWD, t[1], NULL, t[0]);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(make_graph()));
	destroy_all();

	/* Two of one id that differ, and one written twice. */
	begin_graph();
	t[0] = graph_tensor('x', y);
	add_pointwise(CUDNN_POINTWISE_RELU_FWD, t[0], NULL, graph_tensor('y', y));
	add_op(pointwise_op(
		finalized(pointwise(CUDNN_POINTWISE_EXP)), t[0], NULL, NULL, graph_tensor('y', y)));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(make_graph()));
	destroy_all();

	/* A type that no engine has: the graph is well made, but there is nobody to compute it. */
	begin_graph();
	fp8 = finalized(open_tensor('f', (cudnnDataType_t)12, 4, y->dim, y->stride));
	add_pointwise(CUDNN_POINTWISE_IDENTITY, fp8, NULL, graph_tensor('y', y));
	d = finalized(make_graph());
	OK(GET(d, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, NULL, &count));
	EXPECT(count == 0);
	EXPECT(cudnnBackendFinalize(make_heuristics(d, CUDNN_HEUR_MODE_A)) / 1000 == 3);
	destroy_all();
	drop_conv(&conv);
}

static void test_execution_rules(void)
{
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5),
		      y = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	descriptor ops, engine, config, plan, owned, pack, got, t[2];
	int64_t bytes = 0, count = 0, index = -1;
	int notes[10];

	case_name = "execution";
	begin_graph();
	t[0] = graph_tensor('x', &x);
	t[1] = graph_tensor('y', &y);
	add_pointwise(CUDNN_POINTWISE_NEG, t[0], NULL, t[1]);
	ops = finalized(make_graph());
	OK(GET(ops, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, &count, &index));
	EXPECT(index == 2);

	/* An engine by its number, without heuristics. */
	engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	set_part(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, ops);
	set_int(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 2);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(engine));
	set_int(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 1);
	OK(cudnnBackendFinalize(engine));
	OK(GET(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 10, &count, notes));
	EXPECT(count == 0);
	config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(config));
	set_part(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
	OK(cudnnBackendFinalize(config));
	plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(plan));
	set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM,
		SET(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes));
	pack = make_pack(NULL);
	EXPECT_CODE(NOT_FINALIZED, cudnnBackendExecute(handle, plan, pack));
	OK(cudnnBackendFinalize(plan));
	EXPECT_CODE(NOT_FINALIZED, cudnnBackendExecute(handle, plan, pack));
	OK(cudnnBackendFinalize(pack));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendExecute(NULL, plan, pack));
	EXPECT_CODE(NULL_POINTER, cudnnBackendExecute(handle, NULL, pack));
	EXPECT_CODE(DESCRIPTOR_TYPE, cudnnBackendExecute(handle, pack, pack));
	EXPECT_CODE(NULL_POINTER, cudnnBackendExecute(handle, plan, pack)); /* no workspace */

	/* The plan's parts can be asked for down to the number of the engine. */
	got = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	OK(GET(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
		&got));
	engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	OK(GET(got, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine));
	OK(GET(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &index));
	EXPECT(index == 1);

	owned = make_plan(finalized(make_heuristics(ops, CUDNN_HEUR_MODE_FALLBACK)), 0, &bytes);
	EXPECT(bytes == 0);
	graph.bound_count = 1;
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendExecute(handle, owned, finalized(make_pack(NULL))));
	bind('y', NULL);
	EXPECT_CODE(NULL_POINTER, cudnnBackendExecute(handle, owned, finalized(make_pack(NULL))));
	graph.pointer[1] = (char *)y.device + 2;
	EXPECT_CODE(MISALIGNED, cudnnBackendExecute(handle, owned, finalized(make_pack(NULL))));
	pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	set_ints(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 2, graph.uid);
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(pack));
	EXPECT_CODE(CUDNN_STATUS_BAD_PARAM, cudnnBackendPopulateCudaGraph(handle, owned, pack, NULL));
	EXPECT_CODE(CUDNN_STATUS_NOT_SUPPORTED,
		cudnnBackendPopulateCudaGraph(handle, owned, pack, (cudaGraph_t)&x));
	EXPECT_CODE(CUDNN_STATUS_NOT_SUPPORTED,
		cudnnBackendUpdateCudaGraph(handle, owned, pack, (cudaGraph_t)&x));
	EXPECT(strcmp(cudnnGetErrorString((cudnnStatus_t)MISALIGNED),
		       "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER") == 0);
	CUDA(cudaStreamSynchronize(stream));
	destroy_all();
	drop_tensor(&x);
	drop_tensor(&y);
}

/* A plan as text makes another plan after all descriptors of the first have gone; in no other process. */
static void test_text(void)
{
	static const char foreign[] = "{\"softgpu\": {\"process\": 0, \"plan\": 0}}";
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	struct tensor y = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 4, 5);
	char text[256];
	int64_t count = 0, bytes = 0;
	descriptor plan;

	case_name = "a plan as text";
	begin_graph();
	add_pointwise(CUDNN_POINTWISE_NEG, graph_tensor('x', &x), NULL, graph_tensor('y', &y));
	plan = make_plan(finalized(make_heuristics(finalized(make_graph()), CUDNN_HEUR_MODE_A)), 0, &bytes);
	OK(cudnnBackendGetAttribute(
		plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &count, NULL));
	EXPECT(count > 0 && count < (int64_t)sizeof(text));
	OK(cudnnBackendGetAttribute(
		plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, count, &count, text));
	destroy_all();
	plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	OK(cudnnBackendSetAttribute(
		plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, count, text));
	OK(cudnnBackendExecute(handle, finalized(plan), finalized(make_pack(NULL))));
	CUDA(cudaStreamSynchronize(stream));
	for (int64_t i = 0; i < count_of(&x); i++)
		*element(&y, i) = -*element(&x, i);
	COMPARE(&y, 0);
	plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnBackendFinalize(plan));
	OK(cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
		(int64_t)sizeof(foreign) - 1, foreign));
	EXPECT_STATUS(CUDNN_STATUS_NOT_SUPPORTED, cudnnBackendFinalize(plan));
	destroy_all();
	drop_tensor(&x);
	drop_tensor(&y);
}

int main(void)
{
	begin_tests();
	for (size_t i = 0; i < sizeof(conv_cases) / sizeof(conv_cases[0]); i++)
		test_conv(&conv_cases[i]);
	test_fused(&conv_cases[0]);
	test_fused(&conv_cases[1]);
	for (int beta = 0; beta <= 1; beta++) {
		test_stored(CUDNN_DATA_HALF, beta);
		test_stored(CUDNN_DATA_BFLOAT16, beta);
	}
	test_capture();
	test_tensor_rules();
	test_operation_rules();
	test_graph_rules();
	test_execution_rules();
	test_text();
	return end_tests();
}
