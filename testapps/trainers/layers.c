/* The layers' library calls: see layers.h. A kind's create, forward and backward stand together. */
#include "layers.h"

#include "check.h"
#include "graph.h"
#include "product.h"

static const float zero = 0, one = 1, minus_one = -1;

static cudnnTensorDescriptor_t tensor(int n, int c, int h, int w)
{
	cudnnTensorDescriptor_t desc;

	CHECK(cudnnCreateTensorDescriptor(&desc));
	CHECK(cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, h, w));
	return desc;
}

/* Convolution. */

static void need_workspace(struct nn *nn, size_t size)
{
	if (size > nn->workspace_size)
		nn->workspace_size = size;
}

/* Of the library's proposals, best first, the first that gives the same result every time. */
static void choose_forward(struct nn *nn, struct nn_layer *l)
{
	cudnnConvolutionFwdAlgoPerf_t found[16];
	int count = 0;
	size_t size = 0;

	CHECK(cudnnGetConvolutionForwardAlgorithm_v7(
		nn->cudnn, l->in_desc, l->weight_desc, l->conv, l->out_desc, 16, &count, found));
	for (int i = 0; i < count; i++) {
		if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].determinism != CUDNN_DETERMINISTIC ||
			cudnnGetConvolutionForwardWorkspaceSize(nn->cudnn, l->in_desc, l->weight_desc,
				l->conv, l->out_desc, found[i].algo, &size) != CUDNN_STATUS_SUCCESS)
			continue;
		l->forward_algo = found[i].algo;
		need_workspace(nn, size);
		return;
	}
	errx(1, "%s: cuDNN has no deterministic forward algorithm", l->name);
}

static void choose_backward_data(struct nn *nn, struct nn_layer *l)
{
	cudnnConvolutionBwdDataAlgoPerf_t found[16];
	int count = 0;
	size_t size = 0;

	CHECK(cudnnGetConvolutionBackwardDataAlgorithm_v7(
		nn->cudnn, l->weight_desc, l->out_desc, l->conv, l->in_desc, 16, &count, found));
	for (int i = 0; i < count; i++) {
		if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].determinism != CUDNN_DETERMINISTIC ||
			cudnnGetConvolutionBackwardDataWorkspaceSize(nn->cudnn, l->weight_desc, l->out_desc,
				l->conv, l->in_desc, found[i].algo, &size) != CUDNN_STATUS_SUCCESS)
			continue;
		l->backward_data_algo = found[i].algo;
		need_workspace(nn, size);
		return;
	}
	errx(1, "%s: cuDNN has no deterministic backward data algorithm", l->name);
}

static void choose_backward_filter(struct nn *nn, struct nn_layer *l)
{
	cudnnConvolutionBwdFilterAlgoPerf_t found[16];
	int count = 0;
	size_t size = 0;

	CHECK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
		nn->cudnn, l->in_desc, l->out_desc, l->conv, l->weight_desc, 16, &count, found));
	for (int i = 0; i < count; i++) {
		if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].determinism != CUDNN_DETERMINISTIC ||
			cudnnGetConvolutionBackwardFilterWorkspaceSize(nn->cudnn, l->in_desc, l->out_desc,
				l->conv, l->weight_desc, found[i].algo, &size) != CUDNN_STATUS_SUCCESS)
			continue;
		l->backward_filter_algo = found[i].algo;
		need_workspace(nn, size);
		return;
	}
	errx(1, "%s: cuDNN has no deterministic backward filter algorithm", l->name);
}

/* With as much of the bias and relu in one plan as the library can do. */
static void conv_create_plans(struct nn *nn, struct nn_layer *l)
{
	size_t *size = &nn->workspace_size;

	if (l->activation == NN_RELU)
		l->forward_plan = graph_plan_create(nn->cudnn, GRAPH_FORWARD_BIAS_RELU, l, size);
	l->does_bias = l->does_relu = l->forward_plan != NULL;
	if (!l->forward_plan) {
		l->forward_plan = graph_plan_create(nn->cudnn, GRAPH_FORWARD_BIAS, l, size);
		l->does_bias = l->forward_plan != NULL;
	}
	if (!l->forward_plan)
		l->forward_plan = graph_plan_create(nn->cudnn, GRAPH_FORWARD, l, size);
	l->backward_data_plan = graph_plan_create(nn->cudnn, GRAPH_BACKWARD_DATA, l, size);
	l->backward_filter_plan = graph_plan_create(nn->cudnn, GRAPH_BACKWARD_FILTER, l, size);
	if (!l->forward_plan || !l->backward_data_plan || !l->backward_filter_plan)
		errx(1, "%s: cuDNN has no deterministic plan", l->name);
}

static void conv_create(struct nn *nn, struct nn_layer *l)
{
	if (nn->api == NN_GRAPH) {
		conv_create_plans(nn, l);
		return;
	}
	CHECK(cudnnCreateFilterDescriptor(&l->weight_desc));
	CHECK(cudnnSetFilter4dDescriptor(l->weight_desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, l->out.c,
		l->in.c, l->kernel, l->kernel));
	CHECK(cudnnCreateConvolutionDescriptor(&l->conv));
	CHECK(cudnnSetConvolution2dDescriptor(l->conv, l->pad, l->pad, l->stride, l->stride, 1, 1,
		CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
	CHECK(cudnnSetConvolutionMathType(l->conv, CUDNN_FMA_MATH));
	choose_forward(nn, l);
	choose_backward_data(nn, l);
	choose_backward_filter(nn, l);
}

static void conv_forward(struct nn *nn, struct nn_layer *l, const float *x)
{
	if (nn->api == NN_GRAPH)
		graph_plan_run(nn->cudnn, l->forward_plan,
			&(struct graph_memory){x, l->param, l->z, l->param + l->bias_at}, nn->workspace);
	else
		CHECK(cudnnConvolutionForward(nn->cudnn, &one, l->in_desc, x, l->weight_desc, l->param,
			l->conv, l->forward_algo, nn->workspace, nn->workspace_size, &zero, l->out_desc,
			l->z));
}

static void conv_backward(struct nn *nn, struct nn_layer *l, const float *x, float *dx)
{
	CHECK(cudnnConvolutionBackwardBias(
		nn->cudnn, &one, l->out_desc, l->dy, &zero, l->bias_desc, l->grad + l->bias_at));
	if (nn->api == NN_GRAPH) {
		graph_plan_run(nn->cudnn, l->backward_filter_plan,
			&(struct graph_memory){x, l->grad, l->dy, NULL}, nn->workspace);
		if (dx)
			graph_plan_run(nn->cudnn, l->backward_data_plan,
				&(struct graph_memory){dx, l->param, l->dy, NULL}, nn->workspace);
		return;
	}
	CHECK(cudnnConvolutionBackwardFilter(nn->cudnn, &one, l->in_desc, x, l->out_desc, l->dy, l->conv,
		l->backward_filter_algo, nn->workspace, nn->workspace_size, &zero, l->weight_desc, l->grad));
	if (dx)
		CHECK(cudnnConvolutionBackwardData(nn->cudnn, &one, l->weight_desc, l->param, l->out_desc,
			l->dy, l->conv, l->backward_data_algo, nn->workspace, nn->workspace_size, &zero,
			l->in_desc, dx));
}

/*
 * Dense layer. To cuBLAS, which counts along columns, a batch x width array is a width x batch matrix, and
 * the weights (outputs x inputs) an inputs x outputs one.
 */

static void dense_create(struct nn *nn, struct nn_layer *l)
{
	const int in = (int)nn_sample(l->in), out = l->out.c, n = l->in.n;
	const struct product_shape forward = {CUBLAS_OP_T, CUBLAS_OP_N, out, n, in};
	const struct product_shape weights = {CUBLAS_OP_N, CUBLAS_OP_T, in, out, n};
	const struct product_shape data = {CUBLAS_OP_N, CUBLAS_OP_N, in, n, out};

	if (nn->api != NN_GRAPH)
		return;
	l->does_bias = 1;
	l->does_relu = l->activation == NN_RELU;
	l->forward_product = product_create(nn->lt, &forward,
		l->does_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS, l->param + l->bias_at,
		&nn->workspace_size);
	l->backward_weights_product = product_create(
		nn->lt, &weights, CUBLASLT_EPILOGUE_BGRADB, l->grad + l->bias_at, &nn->workspace_size);
	l->backward_data_product =
		product_create(nn->lt, &data, CUBLASLT_EPILOGUE_DEFAULT, NULL, &nn->workspace_size);
}

static void dense_forward(struct nn *nn, struct nn_layer *l, const float *x)
{
	int in = (int)nn_sample(l->in), out = l->out.c;

	if (nn->api == NN_GRAPH)
		product_run(nn->lt, l->forward_product, l->param, x, l->z, nn->workspace, nn->workspace_size,
			nn->stream);
	else
		CHECK(cublasSgemm(nn->cublas, CUBLAS_OP_T, CUBLAS_OP_N, out, l->in.n, in, &one, l->param, in,
			x, in, &zero, l->z, out));
}

static void dense_backward(struct nn *nn, struct nn_layer *l, const float *x, float *dx)
{
	int in = (int)nn_sample(l->in), out = l->out.c;

	if (nn->api == NN_GRAPH) {
		product_run(nn->lt, l->backward_weights_product, x, l->dy, l->grad, nn->workspace,
			nn->workspace_size, nn->stream);
		if (dx)
			product_run(nn->lt, l->backward_data_product, l->param, l->dy, dx, nn->workspace,
				nn->workspace_size, nn->stream);
		return;
	}
	CHECK(cublasSgemv(nn->cublas, CUBLAS_OP_N, out, l->in.n, &one, l->dy, out, nn->ones, 1, &zero,
		l->grad + l->bias_at, 1));
	CHECK(cublasSgemm(nn->cublas, CUBLAS_OP_N, CUBLAS_OP_T, in, out, l->in.n, &one, x, in, l->dy, out,
		&zero, l->grad, in));
	if (dx)
		CHECK(cublasSgemm(nn->cublas, CUBLAS_OP_N, CUBLAS_OP_N, in, l->in.n, out, &one, l->param, in,
			l->dy, out, &zero, dx, in));
}

/* Biases and activation, which follow both. */

static void activation_create(struct nn_layer *l)
{
	static const cudnnActivationMode_t modes[] = {
		[NN_RELU] = CUDNN_ACTIVATION_RELU,
		[NN_TANH] = CUDNN_ACTIVATION_TANH,
		[NN_SIGMOID] = CUDNN_ACTIVATION_SIGMOID,
	};

	l->bias_desc = tensor(1, l->out.c, 1, 1);
	if (l->activation == NN_LINEAR)
		return;
	CHECK(cudnnCreateActivationDescriptor(&l->act));
	CHECK(cudnnSetActivationDescriptor(l->act, modes[l->activation], CUDNN_NOT_PROPAGATE_NAN, 0));
}

static void activation_forward(struct nn *nn, struct nn_layer *l)
{
	if (!l->does_bias)
		CHECK(cudnnAddTensor(
			nn->cudnn, &one, l->bias_desc, l->param + l->bias_at, &one, l->out_desc, l->z));
	if (l->act && !l->does_relu)
		CHECK(cudnnActivationForward(
			nn->cudnn, l->act, &one, l->out_desc, l->z, &zero, l->out_desc, l->y));
}

/* In place: dy becomes the gradient with respect to z. */
static void activation_backward(struct nn *nn, struct nn_layer *l)
{
	if (l->act)
		CHECK(cudnnActivationBackward(nn->cudnn, l->act, &one, l->out_desc, l->y, l->out_desc, l->dy,
			l->out_desc, l->z, &zero, l->out_desc, l->dy));
}

/* Pooling. */

static void pool_create(struct nn_layer *l)
{
	CHECK(cudnnCreatePoolingDescriptor(&l->pool));
	CHECK(cudnnSetPooling2dDescriptor(l->pool, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, l->kernel,
		l->kernel, 0, 0, l->stride, l->stride));
}

static void pool_forward(struct nn *nn, struct nn_layer *l, const float *x)
{
	CHECK(cudnnPoolingForward(nn->cudnn, l->pool, &one, l->in_desc, x, &zero, l->out_desc, l->y));
}

static void pool_backward(struct nn *nn, struct nn_layer *l, const float *x, float *dx)
{
	CHECK(cudnnPoolingBackward(nn->cudnn, l->pool, &one, l->out_desc, l->y, l->out_desc, l->dy,
		l->in_desc, x, &zero, l->in_desc, dx));
}

/* Dropout: outside training everything passes. */

static void dropout_create(struct nn *nn, struct nn_layer *l, uint64_t seed)
{
	size_t states_size = 0;

	CHECK(cudnnDropoutGetStatesSize(nn->cudnn, &states_size));
	CHECK(cudaMalloc(&l->drop_states, states_size));
	CHECK(cudnnDropoutGetReserveSpaceSize(l->in_desc, &l->drop_reserve_size));
	CHECK(cudaMalloc(&l->drop_reserve, l->drop_reserve_size));
	CHECK(cudnnCreateDropoutDescriptor(&l->drop));
	CHECK(cudnnSetDropoutDescriptor(
		l->drop, nn->cudnn, (float)l->dropout, l->drop_states, states_size, seed));
}

static void dropout_forward(struct nn *nn, struct nn_layer *l, const float *x)
{
	if (nn->training)
		CHECK(cudnnDropoutForward(nn->cudnn, l->drop, l->in_desc, x, l->out_desc, l->y,
			l->drop_reserve, l->drop_reserve_size));
	else
		CHECK(cudaMemcpyAsync(
			l->y, x, nn_numel(l->out) * sizeof(float), cudaMemcpyDeviceToDevice, nn->stream));
}

static void dropout_backward(struct nn *nn, struct nn_layer *l, float *dx)
{
	if (nn->training)
		CHECK(cudnnDropoutBackward(nn->cudnn, l->drop, l->out_desc, l->dy, l->in_desc, dx,
			l->drop_reserve, l->drop_reserve_size));
	else
		CHECK(cudaMemcpyAsync(
			dx, l->dy, nn_numel(l->out) * sizeof(float), cudaMemcpyDeviceToDevice, nn->stream));
}

/*
 * Losses. y of the softmax is the logarithm of the probabilities, so that the cross-entropy -sum(target * y)
 * / batch has the gradient -target / batch, and the library's backward call takes the scale. y of the squared
 * difference is the difference.
 */

static void softmax_forward(struct nn *nn, struct nn_layer *l, const float *x)
{
	CHECK(cudnnSoftmaxForward(nn->cudnn, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_CHANNEL, &one, l->in_desc,
		x, &zero, l->out_desc, l->y));
}

static void softmax_backward(struct nn *nn, struct nn_layer *l, float *dx)
{
	float scale = -1.0f / (float)nn->batch;

	CHECK(cudnnSoftmaxBackward(nn->cudnn, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_CHANNEL, &scale,
		l->out_desc, l->y, l->out_desc, nn->target, &zero, l->in_desc, dx));
}

static void mse_create(struct nn_layer *l)
{
	CHECK(cudnnCreateOpTensorDescriptor(&l->add));
	CHECK(cudnnSetOpTensorDescriptor(
		l->add, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN));
}

static void mse_forward(struct nn *nn, struct nn_layer *l, const float *x)
{
	CHECK(cudnnOpTensor(nn->cudnn, l->add, &one, l->in_desc, x, &minus_one, l->in_desc, nn->target, &zero,
		l->out_desc, l->y));
}

static void mse_backward(struct nn *nn, struct nn_layer *l, float *dx)
{
	float scale = 2.0f / ((float)nn->batch * (float)nn_sample(l->out));

	CHECK(cudnnTransformTensor(nn->cudnn, &scale, l->out_desc, l->y, &zero, l->in_desc, dx));
}

void layers_create(struct nn *nn, struct nn_layer *l, uint64_t seed)
{
	l->in_desc = tensor(l->in.n, l->in.c, l->in.h, l->in.w);
	l->out_desc = tensor(l->out.n, l->out.c, l->out.h, l->out.w);
	if (l->kind == NN_CONV)
		conv_create(nn, l);
	if (l->kind == NN_DENSE)
		dense_create(nn, l);
	if (l->param_count)
		activation_create(l);
	if (l->kind == NN_POOL)
		pool_create(l);
	if (l->kind == NN_DROPOUT)
		dropout_create(nn, l, seed);
	if (l->kind == NN_MSE)
		mse_create(l);
}

void layers_destroy(struct nn_layer *l)
{
	CHECK(cudnnDestroyTensorDescriptor(l->in_desc));
	CHECK(cudnnDestroyTensorDescriptor(l->out_desc));
	if (l->bias_desc)
		CHECK(cudnnDestroyTensorDescriptor(l->bias_desc));
	if (l->weight_desc)
		CHECK(cudnnDestroyFilterDescriptor(l->weight_desc));
	if (l->conv)
		CHECK(cudnnDestroyConvolutionDescriptor(l->conv));
	if (l->act)
		CHECK(cudnnDestroyActivationDescriptor(l->act));
	if (l->pool)
		CHECK(cudnnDestroyPoolingDescriptor(l->pool));
	if (l->drop)
		CHECK(cudnnDestroyDropoutDescriptor(l->drop));
	if (l->add)
		CHECK(cudnnDestroyOpTensorDescriptor(l->add));
	graph_plan_destroy(l->forward_plan);
	graph_plan_destroy(l->backward_data_plan);
	graph_plan_destroy(l->backward_filter_plan);
	product_destroy(l->forward_product);
	product_destroy(l->backward_data_product);
	product_destroy(l->backward_weights_product);
	CHECK(cudaFree(l->drop_states));
	CHECK(cudaFree(l->drop_reserve));
}

void layers_forward(struct nn *nn, struct nn_layer *l, const float *x)
{
	switch (l->kind) {
	case NN_CONV:
		conv_forward(nn, l, x);
		activation_forward(nn, l);
		break;
	case NN_DENSE:
		dense_forward(nn, l, x);
		activation_forward(nn, l);
		break;
	case NN_POOL:
		pool_forward(nn, l, x);
		break;
	case NN_DROPOUT:
		dropout_forward(nn, l, x);
		break;
	case NN_SOFTMAX:
		softmax_forward(nn, l, x);
		break;
	case NN_MSE:
		mse_forward(nn, l, x);
		break;
	}
}

void layers_backward(struct nn *nn, struct nn_layer *l, const float *x, float *dx)
{
	switch (l->kind) {
	case NN_CONV:
		activation_backward(nn, l);
		conv_backward(nn, l, x, dx);
		break;
	case NN_DENSE:
		activation_backward(nn, l);
		dense_backward(nn, l, x, dx);
		break;
	case NN_POOL:
		pool_backward(nn, l, x, dx);
		break;
	case NN_DROPOUT:
		dropout_backward(nn, l, dx);
		break;
	case NN_SOFTMAX:
		softmax_backward(nn, l, dx);
		break;
	case NN_MSE:
		mse_backward(nn, l, dx);
		break;
	}
}
