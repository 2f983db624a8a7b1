/*
 * Checks what the legacy calls of cuDNN say they cost, against sizes and closed forms written out here (for
 * convolutions also against counting each multiplication), and that the searches for an algorithm answer the
 * model clock's time without running anything.
 */
#include <math.h>
#include <cudnn.h>

#include "test_cost.h"

#define OK(call) \
	do { \
		if ((call) != CUDNN_STATUS_SUCCESS) { \
			cost_failures++; \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #call); \
		} \
	} while (0)
#define EXPECT(condition) OK((condition) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR)

static cudnnHandle_t handle;
static const float one = 1, zero = 0;
static const double wide_one = 1, wide_zero = 0;

static cudnnTensorDescriptor_t tensor(cudnnDataType_t type, int ndims, const int *dim)
{
	cudnnTensorDescriptor_t made = NULL;
	int stride[8], step = 1;

	for (int d = ndims - 1; d >= 0; d--) {
		stride[d] = step;
		step *= dim[d];
	}
	OK(cudnnCreateTensorDescriptor(&made));
	OK(cudnnSetTensorNdDescriptor(made, type, ndims, dim, stride));
	return made;
}

static cudnnTensorDescriptor_t tensor_4d(cudnnDataType_t type, int n, int c, int h, int w)
{
	return tensor(type, 4, (const int[]){n, c, h, w});
}

static void *room(void)
{
	return memory(64 * 1024);
}

/* ---- convolutions ---- */

struct convolution {
	int nspatial;
	int x[5], w[5], y[5]; /* w: k, c / groups, spatial */
	int pad[3], stride[3], dilation[3], groups;
	cudnnMathType_t math;
	enum sg_cost_kind kind;
	enum sg_cost_type type;
	double flops;
};

static const struct convolution convolutions[] = {
	{2, {2, 3, 8, 8}, {4, 3, 3, 3}, {2, 4, 8, 8}, {1, 1}, {1, 1}, {1, 1}, 1, CUDNN_DEFAULT_MATH,
		SG_COST_CONVOLUTION, SG_COST_TF32, 2.0 * 2 * 4 * 64 * 3 * 9},
	{2, {1, 3, 9, 11}, {6, 3, 5, 3}, {1, 6, 5, 5}, {2, 0}, {2, 2}, {1, 1}, 1, CUDNN_FMA_MATH,
		SG_COST_CONVOLUTION, SG_COST_F32, 2.0 * 6 * 25 * 3 * 15},
	{2, {2, 4, 10, 10}, {6, 2, 3, 3}, {2, 6, 6, 6}, {0, 0}, {1, 1}, {2, 2}, 2, CUDNN_TENSOR_OP_MATH,
		SG_COST_CONVOLUTION, SG_COST_TF32, 2.0 * 2 * 6 * 36 * 2 * 9},
	{2, {2, 8, 6, 6}, {8, 1, 3, 3}, {2, 8, 6, 6}, {1, 1}, {1, 1}, {1, 1}, 8, CUDNN_DEFAULT_MATH,
		SG_COST_DEPTHWISE, SG_COST_F32, 2.0 * 2 * 8 * 36 * 9},
	/* One channel in one group is not depthwise; two filters per channel are. */
	{2, {2, 1, 6, 6}, {8, 1, 3, 3}, {2, 8, 4, 4}, {0, 0}, {1, 1}, {1, 1}, 1, CUDNN_DEFAULT_MATH,
		SG_COST_CONVOLUTION, SG_COST_TF32, 2.0 * 2 * 8 * 16 * 9},
	{2, {2, 4, 6, 6}, {8, 1, 1, 1}, {2, 8, 3, 3}, {0, 0}, {2, 2}, {1, 1}, 4, CUDNN_FMA_MATH,
		SG_COST_DEPTHWISE, SG_COST_F32, 2.0 * 2 * 8 * 9},
	{3, {2, 3, 6, 7, 8}, {4, 3, 3, 1, 3}, {2, 4, 3, 7, 6}, {1, 0, 0}, {2, 1, 1}, {1, 1, 1}, 1,
		CUDNN_DEFAULT_MATH, SG_COST_CONVOLUTION, SG_COST_TF32, 2.0 * 2 * 4 * 126 * 3 * 9},
	{3, {1, 4, 5, 5, 5}, {4, 2, 2, 2, 2}, {1, 4, 3, 3, 3}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}, 2,
		CUDNN_DEFAULT_MATH, SG_COST_CONVOLUTION, SG_COST_TF32, 2.0 * 4 * 27 * 2 * 8},
};

static double product(const int *dim, int count)
{
	double all = 1;

	for (int d = 0; d < count; d++)
		all *= dim[d];
	return all;
}

/* Each output element, each channel of its group, each place of the filter: a multiplication and an addition.
 */
static double count_flops(const struct convolution *c)
{
	double flops = 0;
	int64_t outputs = (int64_t)product(c->y, c->nspatial + 2);
	int64_t places = (int64_t)product(c->w + 2, c->nspatial);

	for (int64_t i = 0; i < outputs; i++) {
		for (int channel = 0; channel < c->x[1] / c->groups; channel++) {
			for (int64_t place = 0; place < places; place++)
				flops += 2;
		}
	}
	return flops;
}

struct described {
	cudnnTensorDescriptor_t x, y;
	cudnnFilterDescriptor_t w;
	cudnnConvolutionDescriptor_t conv;
};

static struct described describe(const struct convolution *c)
{
	struct described d;
	int dim[5];

	d.x = tensor(CUDNN_DATA_FLOAT, c->nspatial + 2, c->x);
	d.y = tensor(CUDNN_DATA_FLOAT, c->nspatial + 2, c->y);
	OK(cudnnCreateFilterDescriptor(&d.w));
	OK(cudnnSetFilterNdDescriptor(d.w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, c->nspatial + 2, c->w));
	OK(cudnnCreateConvolutionDescriptor(&d.conv));
	OK(cudnnSetConvolutionNdDescriptor(d.conv, c->nspatial, c->pad, c->stride, c->dilation,
		CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
	OK(cudnnSetConvolutionGroupCount(d.conv, c->groups));
	OK(cudnnSetConvolutionMathType(d.conv, c->math));
	OK(cudnnGetConvolutionNdForwardOutputDim(d.conv, d.x, d.w, c->nspatial + 2, dim));
	EXPECT(memcmp(dim, c->y, (size_t)(c->nspatial + 2) * sizeof(*dim)) == 0);
	return d;
}

static void drop(struct described *d)
{
	OK(cudnnDestroyTensorDescriptor(d->x));
	OK(cudnnDestroyTensorDescriptor(d->y));
	OK(cudnnDestroyFilterDescriptor(d->w));
	OK(cudnnDestroyConvolutionDescriptor(d->conv));
}

/* The three passes, each without and with what is there added. */
static void test_passes(const struct convolution *c)
{
	struct described d = describe(c);
	double x = 4 * product(c->x, c->nspatial + 2), w = 4 * product(c->w, c->nspatial + 2);
	double y = 4 * product(c->y, c->nspatial + 2);

	EXPECT(c->flops == count_flops(c));
	for (int adds = 0; adds < 2; adds++) {
		const float *beta = adds ? &one : &zero;

		OK(cudnnConvolutionForward(handle, &one, d.x, room(), d.w, room(), d.conv,
			CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, beta, d.y, room()));
		expect_cost(__FILE__, __LINE__, c->kind, c->type, c->flops, x + w + y + adds * y);
		OK(cudnnConvolutionBackwardData(handle, &one, d.w, room(), d.y, room(), d.conv,
			CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, NULL, 0, beta, d.x, room()));
		expect_cost(__FILE__, __LINE__, c->kind, c->type, c->flops, x + w + y + adds * x);
		OK(cudnnConvolutionBackwardFilter(handle, &one, d.x, room(), d.y, room(), d.conv,
			CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, NULL, 0, beta, d.w, room()));
		expect_cost(__FILE__, __LINE__, c->kind, c->type, c->flops, x + w + y + adds * w);
	}
	drop(&d);
}

static void test_fused(void)
{
	const struct convolution *c = &convolutions[0];
	struct described d = describe(c);
	cudnnTensorDescriptor_t bias = tensor_4d(CUDNN_DATA_FLOAT, 1, 4, 1, 1);
	cudnnActivationDescriptor_t relu = NULL;
	double x = 4 * 2 * 3 * 64, w = 4 * 4 * 3 * 9, y = 4 * 2 * 4 * 64;

	OK(cudnnCreateActivationDescriptor(&relu));
	OK(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
	for (int adds = 0; adds < 2; adds++) {
		OK(cudnnConvolutionBiasActivationForward(handle, &one, d.x, room(), d.w, room(), d.conv,
			CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, adds ? &one : &zero, d.y, room(),
			bias, room(), relu, d.y, room()));
		EXPECT_COST(CONVOLUTION, TF32, c->flops, x + w + y + 4 * 4 + adds * y);
	}
	OK(cudnnConvolutionBackwardBias(handle, &one, d.y, room(), &zero, bias, room()));
	EXPECT_COST(VECTOR, F32, 2 * 4 * 64, y + 4 * 4);
	OK(cudnnDestroyActivationDescriptor(relu));
	OK(cudnnDestroyTensorDescriptor(bias));
	drop(&d);
}

/* 1000 for device 0, flops, twice the bytes: see test_cost.h. */
static void test_searches(void)
{
	const struct convolution *c = &convolutions[0];
	struct described d = describe(c);
	double bytes = 4 * (2 * 3 * 64 + 4 * 3 * 9 + 2 * 4 * 64);
	float ms = (float)(1000 + c->flops + 2 * bytes) * 1e-6f;
	cudnnConvolutionFwdAlgoPerf_t forward[8];
	cudnnConvolutionBwdDataAlgoPerf_t data[8];
	cudnnConvolutionBwdFilterAlgoPerf_t filter[8];
	int count[9] = {0};
	size_t workspace = 0;

	seen_count = 0;
	OK(cudnnGetConvolutionForwardAlgorithm_v7(handle, d.x, d.w, d.conv, d.y, 1, &count[0], forward));
	EXPECT(count[0] == 1 && fabsf(forward[0].time - ms) <= ms * 1e-6f);
	OK(cudnnFindConvolutionForwardAlgorithm(handle, d.x, d.w, d.conv, d.y, 8, &count[1], forward));
	for (int i = 0; i < count[1]; i++)
		EXPECT(forward[i].status == CUDNN_STATUS_SUCCESS ? fabsf(forward[i].time - ms) <= ms * 1e-6f
								 : forward[i].time == -1);
	OK(cudnnFindConvolutionForwardAlgorithmEx(
		handle, d.x, room(), d.w, room(), d.conv, d.y, room(), 1, &count[2], forward, room(), 65536));
	EXPECT(count[2] == 1 && fabsf(forward[0].time - ms) <= ms * 1e-6f);
	OK(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, d.w, d.y, d.conv, d.x, 1, &count[3], data));
	EXPECT(count[3] == 1 && fabsf(data[0].time - ms) <= ms * 1e-6f);
	OK(cudnnFindConvolutionBackwardDataAlgorithm(handle, d.w, d.y, d.conv, d.x, 1, &count[4], data));
	EXPECT(count[4] == 1 && fabsf(data[0].time - ms) <= ms * 1e-6f);
	OK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
		handle, d.x, d.y, d.conv, d.w, 1, &count[5], filter));
	EXPECT(count[5] == 1 && fabsf(filter[0].time - ms) <= ms * 1e-6f);
	OK(cudnnFindConvolutionBackwardFilterAlgorithm(handle, d.x, d.y, d.conv, d.w, 1, &count[6], filter));
	EXPECT(count[6] == 1 && fabsf(filter[0].time - ms) <= ms * 1e-6f);
	EXPECT(seen_count == 0);
	/* The workspace that was asked for is enough, whether or not anything is computed. */
	OK(cudnnGetConvolutionForwardWorkspaceSize(
		handle, d.x, d.w, d.conv, d.y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &workspace));
	EXPECT(workspace > 0);
	OK(cudnnConvolutionForward(handle, &one, d.x, room(), d.w, room(), d.conv,
		CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, memory(workspace), workspace, &zero, d.y,
		room()));
	EXPECT_COST(CONVOLUTION, TF32, c->flops, bytes);
	drop(&d);
}

/* ---- what is bound by memory ---- */

enum { COUNT = 2 * 6 * 8 * 8, SMALL = 2 * 6 * 4 * 4 };

static void test_pooling(void)
{
	cudnnTensorDescriptor_t x = tensor_4d(CUDNN_DATA_FLOAT, 2, 6, 8, 8);
	cudnnTensorDescriptor_t y = tensor_4d(CUDNN_DATA_FLOAT, 2, 6, 4, 4);
	cudnnPoolingDescriptor_t pooling = NULL;

	OK(cudnnCreatePoolingDescriptor(&pooling));
	OK(cudnnSetPooling2dDescriptor(
		pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 3, 2, 1, 0, 2, 2));
	OK(cudnnPoolingForward(handle, pooling, &one, x, room(), &zero, y, room()));
	EXPECT_COST(VECTOR, F32, SMALL * 6, 4 * (COUNT + SMALL));
	OK(cudnnPoolingBackward(handle, pooling, &one, y, room(), y, room(), x, room(), &one, x, room()));
	EXPECT_COST(VECTOR, F32, SMALL * 6, 4 * (3 * COUNT + 2 * SMALL));
	OK(cudnnDestroyPoolingDescriptor(pooling));
	OK(cudnnDestroyTensorDescriptor(x));
	OK(cudnnDestroyTensorDescriptor(y));
}

static void test_normalization(void)
{
	cudnnTensorDescriptor_t x = tensor_4d(CUDNN_DATA_FLOAT, 2, 6, 8, 8);
	cudnnTensorDescriptor_t params = tensor_4d(CUDNN_DATA_FLOAT, 1, 6, 1, 1);
	cudnnLRNDescriptor_t lrn = NULL;

	/* Scale, bias, the saved two; the running two are read and written. */
	OK(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x, room(), x,
		room(), params, room(), room(), 0.5, room(), room(), 1e-5, room(), room()));
	EXPECT_COST(VECTOR, F32, 5 * COUNT, 4 * (2 * COUNT + 8 * 6));
	/* a block for each channel */
	EXPECT(seen.blocks == 6 && seen.block_threads > 0 && seen.pace != NULL);
	OK(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x, room(), x,
		room(), params, room(), room(), 0.5, NULL, NULL, 1e-5, NULL, NULL));
	EXPECT_COST(VECTOR, F32, 5 * COUNT, 4 * (2 * COUNT + 2 * 6));
	OK(cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_SPATIAL, &one, &one, x, room(), x,
		room(), params, room(), room(), room(), room(), 1e-5));
	EXPECT_COST(VECTOR, F32, 2 * COUNT, 4 * (3 * COUNT + 4 * 6));
	EXPECT(seen.blocks == 0 && seen.pace == NULL);
	OK(cudnnBatchNormalizationBackward(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero, x,
		room(), x, room(), x, room(), params, room(), room(), room(), 1e-5, room(), room()));
	EXPECT_COST(VECTOR, F32, 7 * COUNT, 4 * (3 * COUNT + 5 * 6));
	EXPECT(seen.blocks == 6 && seen.pace != NULL && seen.pace->thread < 1);
	/* channels last: all blocks */
	OK(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 2, 6, 8, 8));
	OK(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x, room(), x,
		room(), params, room(), room(), 0.5, NULL, NULL, 1e-5, NULL, NULL));
	EXPECT_COST(VECTOR, F32, 5 * COUNT, 4 * (2 * COUNT + 2 * 6));
	EXPECT(seen.blocks == 0 && seen.pace != NULL);
	OK(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 6, 8, 8));
	OK(cudnnCreateLRNDescriptor(&lrn));
	OK(cudnnSetLRNDescriptor(lrn, 5, 1e-4, 0.75, 2));
	OK(cudnnLRNCrossChannelForward(
		handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, x, room(), &zero, x, room()));
	EXPECT_COST(VECTOR, F32, 9 * COUNT, 4 * 2 * COUNT);
	OK(cudnnLRNCrossChannelBackward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, x, room(), x, room(),
		x, room(), &zero, x, room()));
	EXPECT_COST(VECTOR, F32, 18 * COUNT, 4 * 4 * COUNT);
	OK(cudnnDestroyLRNDescriptor(lrn));
	OK(cudnnDestroyTensorDescriptor(x));
	OK(cudnnDestroyTensorDescriptor(params));
}

static void test_activation(void)
{
	cudnnTensorDescriptor_t x = tensor_4d(CUDNN_DATA_FLOAT, 2, 6, 8, 8);
	cudnnTensorDescriptor_t wide = tensor_4d(CUDNN_DATA_DOUBLE, 2, 6, 8, 8);
	cudnnActivationDescriptor_t tanh_ = NULL;

	OK(cudnnCreateActivationDescriptor(&tanh_));
	OK(cudnnSetActivationDescriptor(tanh_, CUDNN_ACTIVATION_TANH, CUDNN_NOT_PROPAGATE_NAN, 0));
	OK(cudnnActivationForward(handle, tanh_, &one, x, room(), &zero, x, room()));
	EXPECT_COST(VECTOR, F32, COUNT, 4 * 2 * COUNT);
	OK(cudnnActivationForward(handle, tanh_, &wide_one, wide, room(), &wide_one, wide, room()));
	EXPECT_COST(VECTOR, F64, COUNT, 8 * 3 * COUNT);
	OK(cudnnActivationBackward(handle, tanh_, &one, x, room(), x, room(), x, room(), &zero, x, room()));
	EXPECT_COST(VECTOR, F32, COUNT, 4 * 4 * COUNT);
	OK(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x, room(),
		&zero, x, room()));
	EXPECT_COST(VECTOR, F32, 5 * COUNT, 4 * 2 * COUNT);
	OK(cudnnSoftmaxBackward(handle, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE, &wide_one, wide,
		room(), wide, room(), &wide_zero, wide, room()));
	EXPECT_COST(VECTOR, F64, 4 * COUNT, 8 * 3 * COUNT);
	OK(cudnnDestroyActivationDescriptor(tanh_));
	OK(cudnnDestroyTensorDescriptor(x));
	OK(cudnnDestroyTensorDescriptor(wide));
}

static void test_elements(void)
{
	cudnnTensorDescriptor_t x = tensor_4d(CUDNN_DATA_FLOAT, 2, 6, 8, 8);
	cudnnTensorDescriptor_t bias = tensor_4d(CUDNN_DATA_FLOAT, 1, 6, 1, 1);
	cudnnOpTensorDescriptor_t op = NULL;
	cudnnReduceTensorDescriptor_t reduce = NULL;

	OK(cudnnAddTensor(handle, &one, bias, room(), &one, x, room()));
	EXPECT_COST(VECTOR, F32, COUNT, 4 * (6 + 2 * COUNT));
	OK(cudnnTransformTensor(handle, &one, x, room(), &zero, x, room()));
	EXPECT_COST(VECTOR, F32, 0, 4 * 2 * COUNT);
	OK(cudnnScaleTensor(handle, x, room(), &one));
	EXPECT_COST(VECTOR, F32, COUNT, 4 * 2 * COUNT);
	OK(cudnnSetTensor(handle, x, room(), &one));
	EXPECT_COST(VECTOR, F32, 0, 4 * COUNT);
	OK(cudnnCreateOpTensorDescriptor(&op));
	OK(cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_MUL, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN));
	OK(cudnnOpTensor(handle, op, &one, x, room(), &one, bias, room(), &zero, x, room()));
	EXPECT_COST(VECTOR, F32, COUNT, 4 * (2 * COUNT + 6));
	OK(cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_SQRT, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN));
	OK(cudnnOpTensor(handle, op, &one, x, room(), NULL, NULL, NULL, &one, x, room()));
	EXPECT_COST(VECTOR, F32, COUNT, 4 * 3 * COUNT);
	OK(cudnnCreateReduceTensorDescriptor(&reduce));
	OK(cudnnSetReduceTensorDescriptor(reduce, CUDNN_REDUCE_TENSOR_MAX, CUDNN_DATA_FLOAT,
		CUDNN_NOT_PROPAGATE_NAN, CUDNN_REDUCE_TENSOR_FLATTENED_INDICES, CUDNN_32BIT_INDICES));
	OK(cudnnReduceTensor(handle, reduce, room(), 4096, NULL, 0, &one, x, room(), &zero, bias, room()));
	EXPECT_COST(VECTOR, F32, COUNT, 4 * (COUNT + 6 + 6));
	OK(cudnnDestroyReduceTensorDescriptor(reduce));
	OK(cudnnDestroyOpTensorDescriptor(op));
	OK(cudnnDestroyTensorDescriptor(x));
	OK(cudnnDestroyTensorDescriptor(bias));
}

static void test_dropout(void)
{
	cudnnTensorDescriptor_t x = tensor_4d(CUDNN_DATA_FLOAT, 2, 6, 8, 8);
	cudnnDropoutDescriptor_t dropout = NULL;
	size_t states_bytes = 0;
	void *states = NULL;

	OK(cudnnDropoutGetStatesSize(handle, &states_bytes));
	OK(cudaMalloc(&states, states_bytes) == cudaSuccess ? CUDNN_STATUS_SUCCESS
							    : CUDNN_STATUS_ALLOC_FAILED);
	OK(cudnnCreateDropoutDescriptor(&dropout));
	OK(cudnnSetDropoutDescriptor(dropout, handle, 0.5f, states, states_bytes, 1));
	EXPECT_COST(VECTOR, F32, 0, (double)states_bytes);
	OK(cudnnDropoutForward(handle, dropout, x, room(), x, room(), room(), COUNT));
	EXPECT_COST(VECTOR, F32, COUNT, (4 + 4 + 1) * COUNT);
	OK(cudnnDropoutBackward(handle, dropout, x, room(), x, room(), room(), COUNT));
	EXPECT_COST(VECTOR, F32, COUNT, (4 + 4 + 1) * COUNT);
	EXPECT(cudaDeviceSynchronize() == cudaSuccess && cudaFree(states) == cudaSuccess);
	OK(cudnnDestroyDropoutDescriptor(dropout));
	OK(cudnnDestroyTensorDescriptor(x));
}

/* ---- recurrent networks ---- */

enum { STEPS = 4, BATCH = 3, INPUT = 5, HIDDEN = 7, ROWS = 4 + 2 + 1 };

/* Two layers of LSTM: four gates, the second layer's input is the first one's output. */
static void test_recurrent(cudnnMathType_t math, enum sg_cost_type type)
{
	static const int lengths[BATCH] = {4, 2, 1};
	const double flops = 2.0 * ROWS * 4 * HIDDEN * (INPUT + HIDDEN + HIDDEN + HIDDEN);
	/* Two biases per gate. */
	const double weights = 4 * (4.0 * HIDDEN * (INPUT + HIDDEN + HIDDEN + HIDDEN) + 2 * 2 * 4 * HIDDEN);
	const double x = 4.0 * ROWS * INPUT, y = 4.0 * ROWS * HIDDEN, state = 4.0 * 2 * BATCH * HIDDEN;
	cudnnTensorDescriptor_t h = tensor(CUDNN_DATA_FLOAT, 3, (const int[]){2, BATCH, HIDDEN});
	cudnnRNNDataDescriptor_t x_desc = NULL, y_desc = NULL;
	cudnnRNNDescriptor_t rnn = NULL;
	size_t weight_bytes = 0, work = 0, reserve = 0;

	OK(cudnnCreateRNNDescriptor(&rnn));
	OK(cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
		CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, math, INPUT,
		HIDDEN, HIDDEN, 2, NULL, 1 /* padded sequences */));
	OK(cudnnCreateRNNDataDescriptor(&x_desc));
	OK(cudnnCreateRNNDataDescriptor(&y_desc));
	OK(cudnnSetRNNDataDescriptor(x_desc, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
		STEPS, BATCH, INPUT, lengths, NULL));
	OK(cudnnSetRNNDataDescriptor(y_desc, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
		STEPS, BATCH, HIDDEN, lengths, NULL));
	OK(cudnnGetRNNWeightSpaceSize(handle, rnn, &weight_bytes));
	EXPECT((double)weight_bytes == weights);
	OK(cudnnGetRNNTempSpaceSizes(handle, rnn, CUDNN_FWD_MODE_TRAINING, x_desc, &work, &reserve));
	OK(cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, NULL, x_desc, room(), y_desc, room(), h,
		NULL, room(), h, NULL, room(), weight_bytes, room(), work, memory(work), reserve,
		memory(reserve)));
	expect_cost(__FILE__, __LINE__, SG_COST_PRODUCT, type, flops, x + y + weights + 2 * state);
	OK(cudnnRNNBackwardData_v8(handle, rnn, NULL, y_desc, room(), room(), x_desc, room(), h, NULL, NULL,
		NULL, h, NULL, NULL, room(), weight_bytes, room(), work, memory(work), reserve,
		memory(reserve)));
	expect_cost(__FILE__, __LINE__, SG_COST_PRODUCT, type, flops, x + 2 * y + weights + state);
	OK(cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_MODE_ADD, NULL, x_desc, room(), h, NULL,
		y_desc, room(), weight_bytes, room(), work, memory(work), reserve, memory(reserve)));
	expect_cost(__FILE__, __LINE__, SG_COST_PRODUCT, type, flops, x + y + 2 * weights);
	OK(cudnnDestroyRNNDataDescriptor(x_desc));
	OK(cudnnDestroyRNNDataDescriptor(y_desc));
	OK(cudnnDestroyRNNDescriptor(rnn));
	OK(cudnnDestroyTensorDescriptor(h));
}

int main(int argc, char **argv)
{
	computes = argc > 1 && strcmp(argv[1], "compute") == 0;
	arena_begin();
	OK(cudnnCreate(&handle));
	for (size_t i = 0; i < sizeof(convolutions) / sizeof(convolutions[0]); i++)
		test_passes(&convolutions[i]);
	test_fused();
	test_searches();
	test_pooling();
	test_normalization();
	test_activation();
	test_elements();
	test_dropout();
	test_recurrent(CUDNN_DEFAULT_MATH, SG_COST_TF32);
	test_recurrent(CUDNN_FMA_MATH, SG_COST_F32);
	expect_loaded("libdnnl");
	OK(cudnnDestroy(handle));
	arena_end();
	return cost_failures != 0;
}
